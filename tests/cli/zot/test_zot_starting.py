"""While an extension starts, or is stopped again: what a person sees and may do meanwhile."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.program import configured, none_left, open_fifo, open_terminal
from tests.cli.zot.zot_folders import extension, installed

NOWHERE = "http://127.0.0.1:9/v1"
CTRL_C = "\x03"
# Says nothing, and ends only once it is let.
SLOW = """
import os, sys
open("started", "w").write("x")
sys.stdin.read()
open("asked", "w").write("x")
os.read(os.open("let", os.O_RDWR), 1)
"""


def slow(folder: Path, program: str = SLOW) -> Path:
    """An installed extension that starts slowly; its folder."""
    directory = extension(installed(folder), "slow", exec=sys.executable, args=["slow.py", str(folder)])
    (directory / "slow.py").write_text(program)
    return directory


@pytest.mark.parametrize("words", ["doctor", "ext doctor", "tools list", "chat"])
async def test_ctrl_c_pressed_again_and_again_while_an_extension_starts_ends_in_one_line(
    tmp_path: Path, words: str
) -> None:
    directory = slow(tmp_path)
    async with (
        open_fifo(directory / "started") as started,
        open_fifo(directory / "asked") as asked,
        open_fifo(directory / "let") as let,
        open_terminal(configured(tmp_path, NOWHERE), *words.split()) as screen,
    ):
        await started.rings()
        await screen.type(CTRL_C)
        await asked.rings()
        await screen.type(CTRL_C)
        await screen.sees("hookgate: stopping what was started")
        await screen.type(CTRL_C)
        await let.ring()
        assert await screen.ends() == 130
        await screen.sees("hookgate: interrupted")
    assert "Traceback" not in screen.shown
    await none_left(tmp_path)
