"""A terminal without control sequences, as a person sees it."""

from __future__ import annotations

from pathlib import Path
from shutil import which

import pytest

from tests.cli.program import configured, open_shell

SIZE = (24, 80)


@pytest.mark.skipif(which("bash") is None, reason="no bash on PATH")
async def test_after_fg_the_prompt_stands_there_again(tmp_path: Path) -> None:
    configured(tmp_path, "http://127.0.0.1:9/v1")
    async with open_shell(tmp_path, SIZE) as screen:
        await screen.stands(SIZE, lambda rows: rows[-1:] == ["$"])
        await screen.type("TERM=dumb hookgate chat\r")
        await screen.stands(SIZE, lambda rows: rows[-1] == ">")
        await screen.type("\x1a")
        await screen.stands(SIZE, lambda rows: rows[-1] == "$")
        await screen.type("fg\r")
        await screen.stands(SIZE, lambda rows: rows[-1] == ">")
        await screen.type("/quit\r")
        await screen.stands(SIZE, lambda rows: rows[-1] == "$")
        await screen.type("exit\r")
        await screen.ends()
