"""docs/people.md keeps its word: in the file of a gateway that does not run, the commands print what it shows."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import trio

from hookgate.config import parse
from hookgate.loop.doors.doors import STRANGER
from hookgate.loop.doors.guests import CODE_S
from hookgate.protocol.approval import Voter
from hookgate.store.journal import open_journal
from tests.docs.page import read_page
from tests.docs.test_journal_page import output
from tests.preloaded import put_hookgate

PAGE = read_page(Path(__file__).parents[2] / "docs" / "people.md")
HEAD = """
[store]
journal = "journal.db"
[people.ann]
ids = ["telegram:7", "web:ann"]
roles = ["operator", "approver"]
"""


async def test_the_commands_print_what_the_page_shows(tmp_path: Path) -> None:
    (tmp_path / "hookgate.toml").write_text(HEAD)
    async with open_journal(tmp_path / "journal.db") as journal:
        assert await journal.people.offer(Voter("telegram", "66"), "7KQM4XWD", CODE_S)
    (tmp_path / "bin").mkdir()
    put_hookgate(tmp_path / "bin")
    with trio.fail_after(120):
        for part in PAGE.marked("run"):
            for block in re.split(r"^\$ ", part.text, flags=re.MULTILINE)[1:]:
                command, _, shown = block.partition("\n")
                assert undated(await output(tmp_path, command)) == undated(shown), command


def test_its_configuration_is_taken_and_its_words_are_said() -> None:
    [section] = [part for part in PAGE.parts if part.language == "toml"]
    assert tomllib.loads(section.text)["people"].keys() == parse(section.text, Path("hookgate.toml")).people.keys()
    text = " ".join(PAGE.text.replace("\n>", "\n").split())
    assert f"{STRANGER} Show them this code: 7KQM-4XWD. It is good for one hour, and once." in text


def undated(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "(then)", text)
