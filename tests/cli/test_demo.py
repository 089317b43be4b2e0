"""`hookgate demo` as a process: everything it promises happens, in order, and nothing stays behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.program import PROMPT, open_terminal, run
from tests.processes import below, gone

KEY = "sk-demo"
STORY = (
    r"weather  added the tool weather",
    r"before_tool +weather \[weather\] +respond",
    r"In Lisbon it is ",
    r"before_tool +guard \[bash\] +deny_tool",
    r"bash: Tool execution denied by hook: 'rm -rf releases' is not allowed here",
    r"after_tool +redact \[read\] +modify",
    r"API_KEY=\[redacted\]",
    r"approve_tool +approve \[bash\] +refuse",
    r"approve_tool +approve \[bash\] +approve",
    r"5 tool calls reached the gate: 2 denied, 1 answered by hooks, 2 executed. The observer wrote \d\d+ events\.",
)


async def test_the_demo_shows_an_injected_tool_a_denial_a_redaction_and_an_approval(tmp_path: Path) -> None:
    ended = await run(tmp_path, "demo")
    assert (ended.returncode, ended.stderr) == (0, b"")
    shown, place = ended.stdout.decode(), 0
    for part in STORY:
        found = re.compile(part).search(shown, place)
        assert found, f"{part!r} does not come after:\n{shown[:place]}"
        place = found.end()
    assert KEY not in shown
    assert files_below(tmp_path) == []


def files_below(folder: Path) -> list[Path]:
    """What is left there; folders that hookgate keeps its state in may stay."""
    return [path for path in folder.rglob("*") if not path.is_dir()]


@pytest.mark.parametrize("way", ["\x04", "/quit\r"])
async def test_the_interactive_demo_answers_what_is_typed(tmp_path: Path, way: str) -> None:
    async with open_terminal(tmp_path, "demo", "--interactive", anew=True) as screen:
        await screen.line("weather in Oslo")
        await screen.sees("In Oslo it is ")
        await screen.line("show me the settings")
        await screen.sees("API_KEY=[redacted]")
        await screen.sees(PROMPT)
        started = [it.pid for it in below(screen.process.pid)]
        assert started
        await screen.type(way)
        await screen.sees("The observer wrote")
        assert await screen.ends() == 0
    assert KEY not in screen.shown
    await gone(*started)


async def test_its_own_lines_go_on_with_a_word_where_the_terminal_ends(tmp_path: Path) -> None:
    async with open_terminal(tmp_path, "demo", "--interactive", size=(24, 80)) as screen:
        await screen.sees(PROMPT)
        await screen.type("\x04")
        await screen.sees(" events.")
        assert await screen.ends() == 0
    before, _, rest = screen.shown.partition(PROMPT)
    closing = rest.partition("--- the end ---")[2]
    rows = [row for row in (before + closing).splitlines() if row.strip()]
    assert len(rows) >= 7
    assert [row for row in rows if len(row) >= 80] == []
