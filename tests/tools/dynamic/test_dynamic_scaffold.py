"""The file that a body becomes: what stays inside, what does not compile, and where."""

from __future__ import annotations

import ast
import asyncio
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.tools.dynamic.draft import Draft
from hookgate.tools.dynamic.scaffold import body_of, program_text
from hookgate.tools.errors import ToolError


def draft(body: str, description: str = "A tool.", **more: Any) -> Draft:
    return Draft("tool_x", description, body, more.pop("parameters", {"type": "object"}), **more)


def ran(body: str, **args: Any) -> Any:
    """What the body returns, run from the whole file but without its process."""
    names: dict[str, Any] = {"__name__": "no_main"}
    exec(compile(program_text(draft(body)), "tool.py", "exec"), names)
    # A loop of its own: trio's tests have none running.
    return asyncio.run(names["run"](args))


@pytest.mark.parametrize(
    ("body", "returned"),
    [
        ("return 1", 1),
        ("    return 1", 1),
        ("\treturn 1", 1),
        ("\n\n    x = 1\n    return x", 1),
        ("# a word\nif True:\n\treturn 1", 1),
        ("if args:\r\n    return 2\r\nreturn 1", 1),
        ('x = """a\nb\n  c"""\nreturn x', "a\nb\n  c"),
        ("x = (1,\n2)\nreturn x[1]", 2),
        ("x = '''\nreturn 3\n'''\nreturn x", "\nreturn 3\n"),
        ("x = 'a\\\nb'\nreturn x", "ab"),
        ("'''only a docstring'''", None),
        ("def f():\n    yield 1\nreturn list(f())", [1]),
        ("import asyncio\nawait asyncio.sleep(0)\nreturn 1", 1),
        ("return '@SPEC@ @BODY@ {x} %s'", "@SPEC@ @BODY@ {x} %s"),
    ],
)
def test_a_body_means_what_it_says_however_it_is_indented(body: str, returned: Any) -> None:
    assert ran(body.replace("\r\n", "\n")) == returned


@pytest.mark.parametrize(
    "body",
    [
        "    return 1\nimport os",
        "    \fimport os\n\fprint(1)",
        "return 1\n\x0cimport os",
        "pass\n\ndef outcome(args):\n    return {}\n\nasync def run(args):\n    pass",
        "    pass\nasync def run(args):\n    return 2",
        "    pass\nSPEC = {}",
        '    x = """\n"""\nimport os\n"""\n    """',
        "    return 1\nif True:\n    import os",
        "yield 1",
        "return 1\nx = yield",
        'x = """',
        "x = (",
        "return 1\\",
        "x = 1 +",
        "x = '\0'",
        "from os import *",
        "nonlocal x",
        "from __future__ import annotations",
        "return 1\n  return 2",
        "",
        "\n\n",
        "# nothing",
        "(" * 5000,
        "x = " + "-" * 30000 + "1",
        "return " + "+".join(["1"] * 30000),
        "\ud800",
    ],
)
def test_a_body_never_breaks_out_of_its_function(body: str) -> None:
    refuse_or_keep_inside(body)


def refuse_or_keep_inside(body: str) -> None:
    try:
        text = program_text(draft(body))
    except ToolError:
        return
    plain = ast.parse(program_text(draft("pass")))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    assert [type(it) for it in tree.body] == [type(it) for it in plain.body]


@given(st.text(alphabet="ab =()[]{}'\"#\\\n\t\f:,.;\r0@", max_size=60))
def test_no_text_breaks_out(body: str) -> None:
    refuse_or_keep_inside(body)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("x = 1\nreturn x +", "body, line 2: invalid syntax"),
        ("\n\nx = = 1", "body, line 3: invalid syntax"),
        ("    x = 1\n    y = (", "body, line 2: '\\('"),
        ("x = 1\n    return x", "body, line 2: unexpected indent"),
        ("x = 1\nnonlocal x", "body, line 2: "),
        ('x = 1\ny = """', "body, line 2: unterminated"),
        ("    return 1\nimport os", "stay inside"),
        ("yield 1", "return its result, not yield"),
    ],
)
def test_a_mistake_is_told_with_its_line_in_the_body(body: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        program_text(draft(body))


@pytest.mark.parametrize("words", ['"""', "'", "\\", '"); import os; ("', "{x} %s @BODY@", "é\u2028\U0001f600", "\n"])
def test_description_and_schema_are_data_and_come_back_as_they_were(words: str) -> None:
    parameters = {"type": "object", "properties": {words: {"description": words, "default": True}}}
    text = program_text(draft("return 1", words, parameters=parameters))
    names: dict[str, Any] = {"__name__": "no_main"}
    exec(compile(text, "tool.py", "exec"), names)
    assert names["SPEC"]["description"] == words
    assert names["SPEC"]["parameters"] == parameters


@pytest.mark.parametrize("body", ["return 1", "x = 1\n\nreturn x", "    a = 1\n    return a"])
def test_the_body_can_be_taken_out_again(body: str) -> None:
    found = body_of(program_text(draft(body)))
    assert [line.strip() for line in found.splitlines()] == [line.strip() for line in body.splitlines()]


def test_an_odd_escape_is_python_and_warns_nobody() -> None:
    assert "'\\d'" in program_text(draft("return '\\d'"))


def test_the_same_wish_gives_the_same_file() -> None:
    assert program_text(draft("return 1")) == program_text(draft("return 1"))
