"""`hookgate tools` as a program, wherever its group stands; and a configuration without any model."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import trio

from tests.cli.program import DEADLINE_S, environment
from tests.preloaded.running import run_preloaded


def set_up(folder: Path, more: str = "") -> Path:
    """A hookgate.toml that names no model, and a store beside it."""
    store = f'[store]\npath = "{folder}/store.db"\n'
    (folder / "hookgate.toml").write_text(f"[control]\nenabled = false\n{store}{more}")
    return folder


async def tools(folder: Path, *arguments: str, stdin: bytes = b"") -> CompletedProcess[str]:
    """`hookgate tools ARGUMENTS` in the folder, to its end."""
    with trio.fail_after(DEADLINE_S):
        ended = await run_preloaded(("tools", *arguments), folder, environment(folder), stdin)
    return CompletedProcess(ended.args, ended.returncode, ended.stdout.decode(), ended.stderr.decode())
