"""Kills a gateway under load, starts it again, and so on: what its people do meanwhile. Knows no promise.

In a power cut what was not synced is lost: the next gateway gets the disk as a library that it runs with has kept it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from hookgate.store.journal import open_journal
from tests.crash.books import Books, Said

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("gateway_program.py")
PATIENCE_S = 120.0
CHATS = 4
KINDS = ("say", "append", "append", "careful", "careful", "never", "spam")
CONFIG = """\
[agent]
model = "test/model"
name = "default"
workspace = "work"
[gateway]
max_turns = 4
[providers.test]
kind = "scripted"
script = "none.json"
[log]
level = "error"
[control]
enabled = false
[tools]
enabled = ["append", "careful"]
[hooks.processes.guard]
command = ["{python}", "-S", "-E", "guard.py"]
intercept = ["on_message", "before_tool", "before_send"]
on_failure = "deny"
[[approvals]]
name = "careful"
tools = ["careful"]
ttl_s = 3600
"""
GUARD = """\
import json, sys
def said(stage, params):
    text = params.get("message", {}).get("text", "")
    if stage == "hook.hello":
        return {"stages": params["stages"]}
    if stage == "hook.on_message" and text.startswith("spam"):
        return {"action": "drop", "tell": "dropped " + text.split()[1]}
    if stage == "hook.before_tool" and str(params["arguments"].get("line", "")).startswith("never"):
        return {"action": "deny_tool", "reason": "never"}
    if stage == "hook.before_send":
        return {"action": "modify", "message": {"text": text + " (seen)"}}
    return {"action": "continue"}
for line in sys.stdin:
    call = json.loads(line)
    if "id" in call:
        print(json.dumps({"id": call["id"], "result": said(call["method"], call["params"])}), flush=True)
"""
"""A hook process: it keeps spam out, lets no tool do what is never to be done, and marks what it has seen go out."""


@dataclass
class Scene:
    """One folder with its gateway's disk, and the people who use it through all its deaths. `shim`: power is cut."""

    folder: Path
    chance: random.Random
    shim: Path | None = None
    books: Books = field(default_factory=Books)
    points: int = 0
    _number: int = 0

    def __post_init__(self) -> None:
        (self.folder / "disk").mkdir()
        (self.folder / "work").mkdir()
        (self.folder / "guard.py").write_text(GUARD)
        (self.folder / "hookgate.toml").write_text(CONFIG.replace("{python}", sys.executable))

    async def life(self, messages: int, death: Death) -> bool:
        """One run of the gateway, to its death or until nothing is left to do. Whether it was killed."""
        environment = {**os.environ, "HOME": str(self.folder), "PYTHONPATH": str(ROOT), **death.environment}
        if self.shim is not None:
            # The library knows no renames, by which a journal gets its name.
            async with open_journal(self.folder / "disk" / "journal.db"):
                pass
            shutil.copytree(self.folder / "disk", self.folder / "shadow")
            environment |= {"LD_PRELOAD": str(self.shim), "POWER_SHADOW": str(self.folder / "shadow")}
        program = [sys.executable, str(PROGRAM), str(self.folder)]
        process = await trio.lowlevel.open_process(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=self.folder, env=environment
        )
        try:
            with trio.fail_after(PATIENCE_S):
                await People(self, process, death).live(self._new(messages))
                await process.wait()
        finally:
            process.kill()
            await process.wait()
        killed = process.returncode == -9
        if not killed and process.returncode:
            raise AssertionError(f"the gateway ended with status {process.returncode}")
        self.points += killed
        if self.shim is not None:
            self._power(killed)
        return killed

    def _power(self, killed: bool) -> None:
        shadow, disk = self.folder / "shadow", self.folder / "disk"
        if killed:
            for name in ("syncs", "half"):
                (shadow / name).unlink(missing_ok=True)
            shutil.rmtree(disk)
            shadow.rename(disk)
        else:
            shutil.rmtree(shadow)

    def _new(self, messages: int) -> list[Said]:
        """What nobody has acknowledged is said once more, and then something new."""
        again = [it for it in self.books.said.values() if not it.id]
        for _ in range(messages):
            self._number += 1
            said = Said(str(self.chance.randrange(CHATS)), self.chance.choice(KINDS), str(self._number))
            self.books.said[said.key] = said
            again.append(said)
        return again


@dataclass(frozen=True)
class Death:
    """How it comes: after so many seconds of work, or by itself at a call of the journal; neither: never."""

    after_s: float | None = None
    call: int | None = None
    after: bool = False

    @property
    def environment(self) -> dict[str, str]:
        return {} if self.call is None else {"CRASH_CALL": str(self.call), "CRASH_AFTER": "1" * self.after}


@dataclass
class People:
    """Those who write, read and press the buttons during one life."""

    scene: Scene
    process: trio.Process
    death: Death
    _writing: trio.Lock = field(default_factory=trio.Lock)
    _ready: trio.Event = field(default_factory=trio.Event)
    _acknowledged: trio.Event = field(default_factory=trio.Event)
    _idle: trio.Event = field(default_factory=trio.Event)

    async def live(self, messages: Sequence[Said]) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read, nursery)
            await self._ready.wait()
            if self.death.after_s is not None:
                nursery.start_soon(self._kill, self.death.after_s)
            # Buttons of an earlier life: pressed again, whatever became of them.
            for request in self.scene.books.requests:
                await self._press(request)
            for said in messages:
                await self._write(say=said.text, chat=said.chat, key=said.key)
            self._look()
            nursery.start_soon(self._leave)

    async def _kill(self, after_s: float) -> None:
        await trio.sleep(after_s)
        self.process.kill()

    async def _leave(self) -> None:
        """Once all is acknowledged and nothing runs, its input ends."""
        await self._acknowledged.wait()
        await self._write(idle=[str(chat) for chat in range(CHATS)])
        await self._idle.wait()
        assert self.process.stdin is not None
        await self.process.stdin.aclose()

    async def _write(self, **members: Any) -> None:
        assert self.process.stdin is not None
        async with self._writing:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await self.process.stdin.send_all(json.dumps(members).encode() + b"\n")

    async def _read(self, nursery: trio.Nursery) -> None:
        """A dead gateway's last line may be cut: nobody has read it."""
        assert self.process.stdout is not None
        rest = b""
        while data := await self.process.stdout.receive_some():
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._take(json.loads(line), nursery)
        self._ready.set()
        self._idle.set()
        nursery.cancel_scope.cancel()

    def _take(self, seen: dict[str, Any], nursery: trio.Nursery) -> None:
        books = self.scene.books
        match seen:
            case {"ready": _}:
                self._ready.set()
            case {"idle": _}:
                self._idle.set()
            case {"accepted": key, "id": message}:
                books.said[key].id = message
                self._look()
            case {"asked": request, "line": line}:
                books.requests[request] = line
                nursery.start_soon(self._press, request)
            case {"sent": text, "row": row}:
                books.sent.setdefault(text, set()).add(row)
            case _:
                pass

    def _look(self) -> None:
        if all(said.id for said in self.scene.books.said.values()):
            self._acknowledged.set()

    async def _press(self, request: str) -> None:
        line = self.scene.books.requests[request]
        approved = self.scene.books.said[line.split()[1]].allowed
        self.scene.books.decided.add(request)
        await self._write(decide=request, approved=approved)
