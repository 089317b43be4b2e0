"""SKILL.md as it is written: heads that are read, heads that are refused, and the list that a model chooses from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hookgate.skills.front_matter import BadHead, split
from hookgate.skills.skill import (
    MAX_BYTES,
    MAX_HEAD_BYTES,
    BadSkill,
    Skill,
    beside,
    parse_skill,
    read_head,
    read_skill,
)
from hookgate.skills.tool import INTRODUCTION, listing, shown, skill_spec
from hookgate.tools.schema.spec import MAX_DESCRIPTION_BYTES, check_spec

HERE = Path("skills/deploy")


def described(head: str) -> str:
    entries, _body = split(f"---\nother: 1\n{head}\nafter: x\n---\nBody.")
    return entries["description"].text()


VALUES = [
    ("description: How it is released.", "How it is released."),
    ("description:    spaces   ", "spaces"),
    ("description: use when: never", "use when: never"),
    ("description: see http://x/#a # a comment", "see http://x/#a"),
    ("description: 'it''s # no comment' # one", "it's # no comment"),
    (r'description: "a \"b\"\n\u00e9"', 'a "b"\né'),
    ('description: "over\n  two lines"', "over two lines"),
    ("description: over\n  two\n  lines # said", "over two lines"),
    ("description: >\n  one\n  line\n\n  next", "one line\nnext"),
    ("description: >-\n  one\n  line", "one line"),
    ("description: |\n  one\n    two\n\n  three", "one\n  two\n\nthree"),
    ("description: |2+ # why\n  one", "one"),
    ("description:\n  below", "below"),
    ("description: ~", ""),
    ("description:", ""),
    ("description: 7", "7"),
]


@pytest.mark.parametrize(("head", "text"), VALUES)
def test_a_value_is_read(head: str, text: str) -> None:
    assert described(head) == text


@pytest.mark.parametrize("head", [head for head, _text in VALUES if "when: never" not in head])
def test_a_yaml_reader_reads_the_same(head: str) -> None:
    read = yaml.safe_load(f"other: 1\n{head}\nafter: x\n")["description"]
    assert ("" if read is None else str(read)).strip("\n") == described(head)


@pytest.mark.parametrize(
    ("head", "why"),
    [
        ("description: [a, b]", "line 3: description is no plain text: put it in quotes"),
        ("description: {a: b}", "is no plain text"),
        ("description: *other", "is no plain text"),
        ("description: 'open", "its quotes do not end where the value does"),
        ('description: "a" b', "its quotes do not end where the value does"),
        (r'description: "\q"', "holds a backslash that means nothing there"),
        ("description:\n- a\n- b", "must be a text"),
        ("description:\n  a: b", "must be a text"),
        ("no key here", "line 3: it must be KEY: VALUE"),
    ],
)
def test_what_is_no_text_is_refused_with_its_place(head: str, why: str) -> None:
    with pytest.raises(BadHead) as caught:
        described(head)
    assert why in str(caught.value)


@given(st.text(alphabet="ab:-#'\"\\|> \n\t[u{é", max_size=60))
def test_whatever_stands_there_is_read_or_refused(head: str) -> None:
    try:
        skill = parse_skill(f"---\ndescription: {head}\n---\nBody.", HERE)
    except BadSkill:
        return
    check_spec(skill_spec([skill]))


def test_other_keys_may_hold_anything() -> None:
    lines = ["tools: [a]", "more:", "  - b: c", "- d", "# a comment", "name: x", "description: y"]
    text = "\r\n".join(["\ufeff---", *lines, "---", "", "  B", ""])
    assert parse_skill(text, HERE) == Skill("x", "y", "  B", HERE)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it does not begin with a line of three dashes"),
        ("name: x\n---\n", "it does not begin with a line of three dashes"),
        ("---\nname: x\ndescription: y\n", "no line of three dashes ends its head"),
        ("---\nname: x\n---\nB", "description is required"),
        ("---\nname: a/b\ndescription: y\n---\nB", "name 'a/b' must not hold a slash"),
        ('---\nname: "a\\u0007"\ndescription: y\n---\nB', "a control character"),
        ("---\nname: .x\ndescription: y\n---\nB", "name '.x' must not begin with a dot"),
        (f"---\nname: {'x' * 201}\ndescription: y\n---\nB", "must not be longer than 200 bytes"),
    ],
)
def test_a_text_that_is_no_skill_is_refused(text: str, why: str) -> None:
    with pytest.raises(BadSkill) as caught:
        parse_skill(text, HERE)
    assert why in str(caught.value)


def test_without_a_name_it_is_called_as_its_folder() -> None:
    assert parse_skill("---\ndescription: y\n---\nB", HERE).name == "deploy"


def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    file, outside = tmp_path / "s" / "SKILL.md", tmp_path / "secret"
    outside.write_text("---\nname: s\ndescription: y\n---\nkey")
    file.parent.mkdir()
    whys = {
        "has more than": lambda: file.write_bytes(b"x" * (MAX_BYTES + 1)),
        "its head has more than 16384 bytes": lambda: file.write_bytes(b"---\n" + b"k: v\n" * 4000 + b"---\n"),
        "is not UTF-8": lambda: file.write_bytes(b"---\nname: \xff\n"),
        "leads out of the folder": lambda: file.symlink_to(outside),
        "is not a regular file": lambda: os.mkfifo(file),
        "No such file": lambda: None,
    }
    for why, make in whys.items():
        make()
        with pytest.raises(BadSkill) as caught:
            read_head(file.parent)
        assert why in str(caught.value)
        file.unlink(missing_ok=True)


def test_the_body_is_read_with_the_whole_skill_alone(tmp_path: Path) -> None:
    body = "é" * MAX_HEAD_BYTES
    (tmp_path / "SKILL.md").write_text(f"---\nname: x\ndescription: y\n---\n{body}\n")
    assert read_head(tmp_path) == Skill("x", "y", "", tmp_path)
    assert read_skill(tmp_path) == Skill("x", "y", body, tmp_path)


def test_what_lies_beside_it_is_listed(tmp_path: Path) -> None:
    for name in ("SKILL.md", "b.sh", ".hidden", "a\nb"):
        (tmp_path / name).write_text("")
    (tmp_path / "parts").mkdir()
    assert beside(Skill("x", "y", "B", tmp_path)) == ("b.sh", "parts/")


# --- what a model reads -------------------------------------------------------------------------------------


def test_the_result_has_the_known_form() -> None:
    assert shown(Skill("n", "What it is.", "Do this.", HERE)) == "# Skill: n\n\nWhat it is.\n\n---\n\nDo this."


@pytest.mark.parametrize(("count", "length"), [(1, 10), (1, 9000), (10, 300), (60, 1000), (200, 50)])
def test_the_list_fits_a_tools_description_and_names_as_many_as_it_can(count: int, length: int) -> None:
    skills = [Skill(f"skill-{number}", "é" * length, "B", HERE) for number in range(count)]
    spec = skill_spec(skills)
    check_spec(spec)
    lines = spec.description.split("\n")
    assert lines[0] == INTRODUCTION
    named = [line for line in lines[1:] if line.startswith("- skill-")]
    if len(named) < count:
        assert lines[-1].startswith(f"and {count - len(named)} more")
        assert len(spec.description.encode()) > MAX_DESCRIPTION_BYTES - 100
    else:
        assert lines[-1].startswith(f"- skill-{count - 1}")


def test_a_description_of_several_lines_is_one_in_the_list() -> None:
    assert listing([Skill("n", "one\n\ttwo\x1b[1m", "B", HERE)]).endswith("\n- n: one two [1m")
