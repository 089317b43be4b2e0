"""A question whose window changes its size while it is being answered: it stands, and so does what is typed there."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from hookgate.channels.terminal.dialogue import LOOK_S
from tests.cli.program import configured, open_terminal
from tests.cli.terminal.test_chat_questions import ASKED, COLUMNS, FAKE, ROWS, RULE, asked, asks, bash
from tests.model_server import open_model_server, says
from tests.processes import until


async def test_a_window_that_shrinks_shows_the_question_anew(tmp_path: Path) -> None:
    command = "touch made #".ljust(36) + FAKE
    async with asked(tmp_path, command) as screen:
        await screen.sees(ASKED)
        screen.resize(ROWS, 30)
        await screen.sees("  command:")
        await screen.sees("sha256")
        await screen.sees("allow?")
        rows = await screen.stands((ROWS, 30), asks)
        assert rows.count("  command:") == 1 or rows[-1].startswith("  ")
        assert not [row for row in rows[rows.index("  command:") :] if row.startswith("? ")]
        await screen.type("y\r")
    assert (tmp_path / "made").exists()


async def test_a_window_that_is_made_lower_leaves_the_question_and_what_is_typed_there_as_they_are(
    tmp_path: Path,
) -> None:
    async with asked(tmp_path, "touch made") as screen:
        await screen.sees(ASKED)
        await screen.type("y")
        await screen.stands((ROWS, COLUMNS), lambda rows: rows[-1].endswith(f"{ASKED} y"))
        screen.resize(ROWS - 1, COLUMNS)
        # The line is drawn for that as well, and is the answer's still.
        await looked_at()
        await screen.type("e")
        await screen.stands((ROWS - 1, COLUMNS), lambda rows: rows[-1].endswith(f"{ASKED} ye"))
        await screen.type("s\r")
    assert (tmp_path / "made").exists()
    assert screen.shown.count("? Run bash?") == 1


async def looked_at() -> None:
    """As often as a window is before it is known to rest."""
    await trio.sleep(3 * LOOK_S)


# Without bubblewrap a line about that stands among the rows.
@pytest.mark.needs("bwrap")
async def test_in_a_narrower_window_a_question_stands_once_with_what_is_typed_there(tmp_path: Path) -> None:
    async with (
        open_model_server(bash(f"touch made #{'x' * 150}"), says("Done.")) as server,
        open_terminal(configured(tmp_path, server.base_url, RULE), "chat", size=(30, 60)) as screen,
    ):

        def stands(columns: int) -> bool:
            rows = screen.folded(30, 60)
            # Blanks at the end of a row are not shown.
            typed = "".join(rows).replace(" ", "").endswith("[n]o:nbecauseitiswro")
            return typed and f": {'x' * (columns - 3)}" in rows

        await screen.line("go")
        await screen.sees(ASKED)
        await screen.type("n because it is wro")
        await screen.stands((30, 60), lambda rows: rows[-1].endswith("because it is wro"))
        screen.resize(30, 34)
        await until(lambda: stands(34))
        rows = screen.folded(30, 60)
        assert sum(row.startswith("? Run bash?") for row in rows) == 1
        assert "".join(rows).replace(" ", "").count("[n]o:") == 1
        assert "> go" in rows
        await screen.type("ng\r")
        await screen.sees("denied by approval:")
        await screen.sees("Done.")
        await screen.line("/quit")
        assert await screen.ends() == 0
    assert "the user said no: it is wrong" in server.requests[1].body["messages"][-1]["content"]
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("words", [("chat",), ("chat", "--once", "go")])
async def test_where_the_terminal_itself_edits_the_line_enter_is_no_answer_once_that_is_gone(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    async with (
        open_model_server(bash("touch made"), says("Done.")) as server,
        open_terminal(
            configured(tmp_path, server.base_url, RULE), *words, size=(30, 60), variables={"TERM": "dumb"}
        ) as screen,
    ):
        if len(words) == 1:
            await screen.sees("> ")
            await screen.type("go\n")
        await screen.sees(ASKED)
        await screen.type("y")
        await screen.sees("y")
        screen.resize(30, 30)
        await screen.sees("? Run bash?")
        await screen.sees("[n]o:")
        await screen.type("\n")
        await screen.sees("What was typed before the")
        await screen.sees("[n]o:")
        await screen.type("y\n")
        await screen.sees("Done.")
        if len(words) == 1:
            await screen.sees("> ")
            await screen.type("/quit\n")
        assert await screen.ends() == 0
    assert (tmp_path / "made").exists()
