"""What a glob means, as the expression that decides it."""

from __future__ import annotations

import pytest

from hookgate.tools.search.query import BadPattern
from hookgate.tools.search.regex import compiled, escaped, fixed_folders, matchable, of_glob


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("a", ["a"], ["b", "aa", "x/a"]),
        ("*", ["a", "a b", "ä", "two\nlines"], ["a/b"]),
        ("a*c", ["ac", "abc"], ["a/c", "abcd"]),
        ("a**c", ["ac", "abbc"], ["a/c"]),
        ("**/a", ["a", "x/a", "x/y/a"], ["xa", "x/aa"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "ab"]),
        ("**", ["a", "a/b"], []),
        ("a?c", ["abc", "aäc"], ["ac", "a/c"]),
        ("[a-c]", ["a", "c"], ["d", "-"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[!]a]", ["b"], ["]", "a", "/"]),
        ("[a^&-]", ["^", "&", "-"], ["b"]),
        ("[^a]", ["b"], ["a"]),
        ("{a,b}c", ["ac", "bc"], ["c", "abc"]),
        ("{a,{b,c}d}", ["a", "bd", "cd"], ["ad", "b"]),
        ("a,b}", ["a,b}"], ["a"]),
        (r"\*", ["*"], ["a", r"\*"]),
        (r"\{a\}", ["{a}"], ["a"]),
        ("a.b+(c)|d", ["a.b+(c)|d"], ["axb", "d"]),
    ],
)
def test_globs(glob: str, yes: list[str], no: list[str]) -> None:
    test = compiled(of_glob(glob))
    assert [path for path in yes if not test(path)] == []
    assert [path for path in no if test(path)] == []


def test_a_glob_may_begin_in_any_folder() -> None:
    test = compiled(of_glob("*.py", anywhere=True))
    assert test("a.py")
    assert test("x/y/a.py")
    assert not test("x/a.pyc")


@pytest.mark.parametrize("glob", ["[", "a[b", "{", "{a,{b}", "[z-a]"])
def test_what_is_not_closed_is_refused(glob: str) -> None:
    with pytest.raises(BadPattern):
        compiled(of_glob(glob))


def test_escaped_text_matches_itself() -> None:
    text = "".join(chr(code) for code in range(32, 127)) + "äß\n\t"
    assert compiled(escaped(text))(text)
    assert not compiled(f"^{escaped('a.b')}$")("axb")


def test_bytes_of_a_name_that_are_no_text_count_as_characters() -> None:
    assert compiled(of_glob("a?"))(matchable("a\udce9"))
    assert matchable("plain") == "plain"


@pytest.mark.parametrize(
    ("glob", "folders"),
    [("a/b/*.py", "a/b/"), ("*.py", ""), ("a/**/b/c", "a/"), ("a/b", "a/"), ("{a,b}/c", ""), (r"a\[/b", "")],
)
def test_the_folders_that_every_path_begins_with(glob: str, folders: str) -> None:
    assert fixed_folders(glob) == folders
