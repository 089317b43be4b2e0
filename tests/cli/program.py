"""hookgate as a program: started with pipes or on a terminal, watched, signalled, looked for afterwards."""

from __future__ import annotations

import os
import pty
import re
import signal
import sys
import termios
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which
from subprocess import PIPE, STDOUT, CompletedProcess

import trio

from tests.cli.window import Window
from tests.model_server import Answer, ModelServer, open_model_server
from tests.preloaded import preloaded
from tests.preloaded.running import run_preloaded
from tests.processes import none_left as none_left
from tests.processes import processes_of as processes_of

DEADLINE_S = 30.0
PROMPT = "> "
HOOKGATE = (sys.executable, "-m", "hookgate")
PLUGINS = Path(__file__).parents[2] / "plugins" / "python"
# A new session whose controlling terminal is stdin: what a shell's child has, so that Ctrl-C is a signal.
_ON_TERMINAL = (
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)
_ESCAPE = re.compile(r"\x1b\[([0-9]*)C|\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>D78]|\x1b\][^\x07]*\x07|[\r\x08]")


def configured(folder: Path, url: str, more: str = "") -> Path:
    """A hookgate.toml whose model is at `url` and whose workspace is its own folder. Without the shell policy: it is
    not what is tested here."""
    (folder / "hookgate.toml").write_text(
        f'[agent]\nmodel = "p/m"\nretry_first_ms = 1\n[providers.p]\nkind = "openai"\nbase_url = "{url}"\n'
        f'[control]\nenabled = false\n[guards]\nshell = "off"\n{more}'
    )
    return folder


def hook(folder: Path, name: str, rest: str) -> str:
    """A section that runs a copy of an example plugin: the copy's path marks the process as this test's."""
    for file in (PLUGINS / f"{name}.py", PLUGINS / "hookgate_plugin.py"):
        (folder / file.name).write_text(file.read_text())
    return f'[hooks.processes.{name}]\ncommand = ["{sys.executable}", "{folder / name}.py"]\n{rest}\n'


def environment(folder: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    terminal = {"TERM": "xterm", "COLUMNS": "200", "LINES": "50"}
    return {**kept, **terminal, "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}


def unwarned(shown: str) -> str:
    """Without the line about the walls of shell commands, which a chat writes as soon as it has tried them."""
    return re.sub(r"(?:> \n)?! [^\n]*hell commands [^\n]*\n", "", shown)


async def run(
    folder: Path, *arguments: str, stdin: bytes = b"", home: Path | None = None, **variables: str
) -> CompletedProcess[bytes]:
    """To the end, within the deadline. `home` None: the folder is this too. `variables`: set besides."""
    with trio.fail_after(DEADLINE_S):
        return await run_preloaded(arguments, folder, {**environment(home or folder), **variables}, stdin)


def _blanks(found: re.Match[str]) -> str:
    """Blanks at the end of a row are passed over, not written."""
    return " " * int(found[1] or 1) if found[0].endswith("C") else ""


@dataclass
class Screen:
    """What a person sees, without control sequences; `type` is what they do. `process` is hookgate itself."""

    process: trio.Process
    _send: trio.abc.SendStream
    _receive: trio.abc.ReceiveStream
    shown: str = ""
    terminal: int = -1
    widths: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Those that the terminal has had since it was opened, and what had been written by then, in bytes."""
    _raw: bytearray = field(default_factory=bytearray)
    _read: int = 0
    _grown: trio.Event = field(default_factory=trio.Event)

    async def type(self, text: str) -> None:
        await self._send.send_all(text.encode())

    async def line(self, text: str) -> None:
        """Wait for the prompt, then type this and Enter."""
        await self.sees(PROMPT)
        await self.type(text + ("\n" if self.terminal < 0 else "\r"))

    async def sees(self, text: str) -> None:
        """Until this has been shown since the last thing that was waited for."""
        with trio.move_on_after(DEADLINE_S):
            while (found := self.shown.find(text, self._read)) < 0:
                self._grown = trio.Event()
                await self._grown.wait()
            self._read = found + len(text)
            return
        raise AssertionError(f"{text!r} was not shown; there is only:\n{self.shown[self._read :]}")

    async def stands(self, size: tuple[int, int], holds: Callable[[list[str]], bool]) -> list[str]:
        """The rows of a terminal of this size, as soon as this holds of them."""
        with trio.move_on_after(DEADLINE_S):
            while not holds(rows := self.window(*size)):
                self._grown = trio.Event()
                await self._grown.wait()
            return rows
        raise AssertionError("\n".join(["this stands there:", *self.window(*size)]))

    async def hang_up(self) -> None:
        """Close the terminal under it."""
        await self._send.aclose()

    def resize(self, rows: int, columns: int) -> None:
        self.widths.append((len(self._raw), columns))
        termios.tcsetwinsize(self.terminal, (rows, columns))

    def folded(self, rows: int, columns: int) -> list[str]:
        """What a terminal shows that began in this size, and folds its lines anew where its width changes."""
        window, read = Window(rows, columns), 0
        for begin, width in self.widths:
            window.write(self._raw[read:begin].decode("utf-8", "replace"))
            window.fold(width)
            read = begin
        window.write(self._raw[read:].decode("utf-8", "replace"))
        return window.shown

    def window(self, rows: int, columns: int) -> list[str]:
        """The rows that a terminal of this size shows at this moment."""
        window = Window(rows, columns)
        window.write(self.raw)
        return window.shown

    async def ends(self) -> int:
        """The exit status."""
        with trio.fail_after(DEADLINE_S):
            return await self.process.wait()

    @property
    def raw(self) -> str:
        """With control sequences."""
        return self._raw.decode("utf-8", "replace")

    @property
    def marks_pastes(self) -> bool:
        """Whether the terminal has been asked to."""
        return self.raw.rpartition("\x1b[?2004")[2].startswith("h")

    async def run_reader(self) -> None:
        while data := await self._more():
            self._raw += data
            # All of it again: a sequence may have been cut in two.
            self.shown = _ESCAPE.sub(_blanks, self.raw)
            self._grown.set()

    async def _more(self) -> bytes:
        try:
            return await self._receive.receive_some(65536)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            # A terminal whose last user has gone says so with EIO.
            return b""


@asynccontextmanager
async def open_terminal(
    folder: Path,
    *arguments: str,
    size: tuple[int, int] = (50, 200),
    anew: bool = False,
    program: Sequence[str] = HOOKGATE,
    variables: Mapping[str, str] | None = None,
) -> AsyncGenerator[Screen]:
    """hookgate on a terminal of its own, of so many rows and columns; killed in the end if it still runs. `anew`: no
    preloaded one, so that all that it starts descends from `process`; `program`: this one, then.
    `variables`: of its environment, besides."""
    words = (sys.executable, "-c", _ON_TERMINAL, *program) if anew else preloaded()
    async with _on_terminal([*words, *arguments], folder, size, variables or {}) as screen:
        yield screen


@asynccontextmanager
async def open_shell(folder: Path, size: tuple[int, int]) -> AsyncGenerator[Screen]:
    """An interactive bash on a terminal of its own; `hookgate` is this one."""
    start = f'alias hookgate="{" ".join(HOOKGATE)}"; PS1="$ "; PROMPT_COMMAND='
    (folder / "start").write_text(start)
    words = (sys.executable, "-c", _ON_TERMINAL, which("bash") or "bash", "--rcfile", str(folder / "start"), "-i")
    async with _on_terminal(words, folder, size, {}) as screen:
        yield screen


@asynccontextmanager
async def _on_terminal(
    words: Sequence[str], folder: Path, size: tuple[int, int], variables: Mapping[str, str]
) -> AsyncGenerator[Screen]:
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, size)
    environment_ = environment(folder) | dict(variables)
    process = await trio.lowlevel.open_process(
        list(words), stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, env=environment_
    )
    os.close(theirs)
    stream = trio.lowlevel.FdStream(ours)
    async with stream, _watched(process, Screen(process, stream, stream, terminal=ours)) as screen:
        yield screen


@asynccontextmanager
async def open_chat(folder: Path, *answers: Answer, more: str = "") -> AsyncGenerator[tuple[ModelServer, Screen]]:
    """A chat on a terminal with a model that gives these answers, and `more` in its configuration."""
    async with (
        open_model_server(*answers) as server,
        open_terminal(configured(folder, server.base_url, more), "chat") as screen,
    ):
        yield server, screen


async def leaves(screen: Screen, folder: Path) -> None:
    await screen.line("/quit")
    assert await screen.ends() == 0
    await none_left(folder)
    assert "Traceback" not in screen.shown


@asynccontextmanager
async def open_pipes(folder: Path, *arguments: str, home: Path | None = None) -> AsyncGenerator[Screen]:
    """hookgate between pipes, stdout and stderr in one."""
    command: Sequence[str] = [*preloaded(), *arguments]
    variables: Mapping[str, str] = environment(home or folder)
    process = await trio.lowlevel.open_process(
        list(command), stdin=PIPE, stdout=PIPE, stderr=STDOUT, cwd=folder, env=dict(variables)
    )
    assert process.stdin
    assert process.stdout
    async with (
        process.stdin,
        process.stdout,
        _watched(process, Screen(process, process.stdin, process.stdout)) as screen,
    ):
        yield screen


@asynccontextmanager
async def _watched(process: trio.Process, screen: Screen) -> AsyncGenerator[Screen]:
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(screen.run_reader)
            yield screen
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            await process.wait()


@dataclass
class Fifo:
    """How a shell command tells the test that it runs: `echo up > up`."""

    _stream: trio.lowlevel.FdStream

    async def rings(self) -> None:
        with trio.fail_after(DEADLINE_S):
            assert await self._stream.receive_some(16)

    async def ring(self) -> None:
        await self._stream.send_all(b"x")


@asynccontextmanager
async def open_fifo(path: Path) -> AsyncGenerator[Fifo]:
    os.mkfifo(path)
    # Open for writing too, or its end would be read before anyone has written.
    async with trio.lowlevel.FdStream(os.open(path, os.O_RDWR | os.O_NONBLOCK)) as stream:
        yield Fifo(stream)
