"""docs/keys.md keeps its word: in the file of a gateway that does not run, the commands print what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import trio

from hookgate.config import parse
from tests.docs.page import read_page
from tests.docs.test_journal_page import output
from tests.docs.test_people_page import undated
from tests.preloaded import put_hookgate

PAGE = read_page(Path(__file__).parents[2] / "docs" / "keys.md")
SHOWN = re.compile(r"hg_[\w-]{43}")


async def test_the_commands_print_what_the_page_shows_and_no_key_is_in_the_file(tmp_path: Path) -> None:
    (tmp_path / "hookgate.toml").write_text('[store]\njournal = "journal.db"\n')
    (tmp_path / "bin").mkdir()
    put_hookgate(tmp_path / "bin")
    made: list[str] = []
    with trio.fail_after(120):
        [part] = PAGE.marked("run")
        for block in re.split(r"^\$ ", part.text, flags=re.MULTILINE)[1:]:
            command, _, shown = block.partition("\n")
            printed = await output(tmp_path, command)
            made.extend(SHOWN.findall(printed))
            assert undated(SHOWN.sub("hg_...", printed)) == undated(shown), command
    assert len(made) == 2
    assert not any(key.encode() in stored(tmp_path) for key in made)


def stored(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.glob("journal.db*"))


def test_its_configuration_is_taken() -> None:
    [section] = [part for part in PAGE.parts if part.language == "toml"]
    assert parse(section.text, Path("hookgate.toml")).people["ann"].roles == ("operator",)
