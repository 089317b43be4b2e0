"""What a start loads: a person waits for all of it, so what only a turn, a hook or an extension needs comes later."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hookgate.processes.guardian import under_guardian

DEADLINE_S = 60.0
CONFIG = """
[agent]
model = "local/model"
[providers.local]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
"""
LOADED = re.compile(r"^import time: +\d+ \| +\d+ \| +(\S+)$", re.MULTILINE)
LIBRARIES = {
    *(
        "httpx",
        "httpx_sse",
        "jsonrpcserver",
        "jsonschema_rs",
        "mcp",
        "prompt_toolkit",
        "sqlite3",
        "starlette",
        "tree_sitter",
    ),
    *("rich.console", "markdown_it", "pygments"),
}
LATER = {
    "hookgate.embedding",
    "hookgate.guards.shell.policy",
    "hookgate.hooks.children.process",
    "hookgate.hooks.zot.extension",
    "hookgate.loop.turn",
    "hookgate.protocol.zot.events",
    "hookgate.protocol.zot.frames",
    "hookgate.protocol.zot.host",
    "hookgate.providers.endpoint.http",
    "hookgate.tools.dynamic",
    "hookgate.tools.extract",
    "hookgate.tools.web.fetch",
    "hookgate.tools.mcp",
    "hookgate.tools.files.observe",
    "hookgate.tools.repair",
}


def loaded(folder: Path, *arguments: str) -> set[str]:
    """Every module that the command imports, from its start to its end; its stdin has ended before it begins."""
    command = [sys.executable, "-X", "importtime", "-m", "hookgate", *arguments]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment | {"PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return set(LOADED.findall(done.stderr))


def test_a_chat_that_is_left_at_its_prompt_has_loaded_nothing_of_a_turn(tmp_path: Path) -> None:
    (tmp_path / "hookgate.toml").write_text(CONFIG)
    modules = loaded(tmp_path, "chat")
    assert "hookgate.cli.terminal.chat" in modules
    assert not modules & (LIBRARIES | LATER)


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("hooks", "--help")])
def test_a_command_that_needs_no_part_loads_click_and_the_guardian_alone(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    modules = loaded(tmp_path, *arguments)
    assert "click" in modules
    assert not modules & (LIBRARIES | {"orjson", "pydantic", "structlog", "trio"})
    parts = {name for name in modules if name.startswith("hookgate.")}
    few = ("hookgate.cli", "hookgate.processes", "hookgate.program", "hookgate.protocol.dataclasses")
    assert all(name.startswith(few) or name == "hookgate.protocol" for name in parts), parts


INTERRUPTED = """
from hookgate.cli.main import hookgate
@hookgate.command()
def begins(): raise KeyboardInterrupt
hookgate(["begins"])
"""


def test_ctrl_c_before_a_command_has_begun_ends_quietly() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")


def test_a_program_with_threads_is_not_forked() -> None:
    """Only the thread that forks lives on in the child: what the others held stays held for ever."""
    stop = threading.Event()
    other = threading.Thread(target=stop.wait, args=(DEADLINE_S,))
    other.start()
    try:
        with pytest.raises(RuntimeError, match="before there are other threads"), under_guardian():
            pass
    finally:
        stop.set()
        other.join()
