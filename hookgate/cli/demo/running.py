"""The demo at a terminal, and the stage that it stands on."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import trio

from hookgate import config as configuration
from hookgate.assembly.app import Runtime, open_runtime
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.assembly.logs.sinks import trace
from hookgate.assembly.settings import Ports, Settings
from hookgate.channels.terminal.channel import Terminal
from hookgate.channels.terminal.screen import Plain
from hookgate.cli.printing import say, write
from hookgate.cli.terminal.chat import converse
from hookgate.cli.terminal.keyboard import open_keyboard
from hookgate.cli.terminal.person.seating import seated
from hookgate.cli.terminal.talk import CHAT
from hookgate.config import ConfigError
from hookgate.extensions.sdk import plugins_folder
from hookgate.loop.agent import Tally
from hookgate.program.starting import begun
from hookgate.protocol.chat import Inbound

HERE = Path(__file__).parent
EVENTS = "events.jsonl"
SAYINGS = (
    ("a plugin's own tool", "What is the weather in Lisbon?"),
    ("a guard that denies", "Please clean up the old releases."),
    ("a secret that is redacted", "Show me the settings."),
    ("an approval gate that refuses, then allows", "Deploy the new version."),
)
SETTINGS = "HOST=demo.internal\nAPI_KEY=sk-demo-0123456789abcdefghij\nWORKERS=4\n"
DEPLOY = '#!/bin/sh\n[ "$1" = --dry-run ] && echo "would copy 3 files" || echo "copied 3 files"\n'


async def run_demo(*, interactive: bool) -> int:
    """The exit status: 0 when every call is accounted for."""
    with stage() as folder:
        settings = demo_settings(folder, "demo.toml")
        set_up_logs(settings.config.log)
        say(_introduction(settings, interactive))
        tally = await (_run_typed(settings) if interactive else _run(settings, Terminal(Plain(write), None), _play))
        return _summary(tally, folder / EVENTS)


async def _run_typed(settings: Settings) -> Tally:
    async with open_keyboard() as keyboard:
        terminal = seated(keyboard)
        return await _run(settings, terminal, lambda runtime: converse(runtime, terminal, keyboard))


async def _run(settings: Settings, terminal: Terminal, act: Callable[[Runtime], Awaitable[None]]) -> Tally:
    """Where the calls went, once the hooks have stopped and the observer's last line is on disk."""
    ports = Ports((terminal,), inside=(trace(terminal.between),))
    async with open_runtime(settings, ports) as runtime:
        begun()
        await act(runtime)
    return runtime.agent.tally


@contextmanager
def stage() -> Generator[Path]:
    """The server that the scripted model looks after; it becomes the working directory."""
    before = Path.cwd()
    # Of an editor that is still open somebody may just have written there.
    with tempfile.TemporaryDirectory(prefix="hookgate-demo-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        work = folder / "server"
        (work / "releases").mkdir(parents=True)
        (work / "settings.env").write_text(SETTINGS)
        (work / "deploy.sh").write_text(DEPLOY)
        (work / "deploy.sh").chmod(0o755)
        os.chdir(work)
        try:
            yield folder
        finally:
            os.chdir(before)


def demo_settings(folder: Path, *files: str) -> Settings:
    """The demo's configuration, of these files that ship with it: a hookgate.toml in that folder, which every command
    can be given. Raises ConfigError."""
    plugins = plugins_folder()
    if plugins is None:
        raise ConfigError("the example plugins are not installed")
    binary, python = plugins / "go" / "bin" / "redact", sys.executable
    redact = [str(binary)] if binary.exists() else [python, f"{plugins}/python/redact.py"]
    filled = {"python": python, "plugins": plugins, "redact": redact, "events": folder / EVENTS}
    file = folder / configuration.FILE_NAME
    file.write_text("".join((HERE / part).read_text() for part in files).format(**filled))
    shutil.copy(HERE / "script.json", folder)
    return Settings(configuration.load(file)[0], folder, file)


async def _play(runtime: Runtime) -> None:
    for number, (what, saying) in enumerate(SAYINGS, start=1):
        say(f"\n--- {number}. {what} ---\nuser:  {saying}")
        await runtime.gateway.receive(Inbound(CHAT, saying))
        with trio.fail_after(30):
            await runtime.gateway.idle(CHAT.session_key)


def _introduction(settings: Settings, interactive: bool) -> str:
    python = "the Python one; `make demo` builds the Go one where there is a Go"
    built = python if sys.executable in settings.config.hooks.processes["redact"].command else "the Go one"
    lines = [
        "hookgate demo: the model is a SCRIPT that ships with hookgate (no network, no key).",
        f"The hooks are real processes: weather, guard, approve, redact ({built}), audit_log.",
        "Lines that begin with | show what each hook decided and how long it took.",
    ]
    if interactive:
        lines.append("Try: weather in Oslo; clean up the releases; show me the settings; deploy it; run: COMMAND")
    return "\n".join(lines)


def _summary(tally: Tally, events: Path) -> int:
    lines = events.read_text().count("\n") if events.exists() else 0
    say(
        f"\n--- the end ---\n{tally.calls} tool calls reached the gate: {tally.denied} denied, "
        f"{tally.answered} answered by hooks, {tally.executed} executed. The observer wrote {lines} events."
    )
    return 0 if tally.balanced and lines else 1
