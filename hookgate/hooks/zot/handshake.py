"""How an extension's start goes: its hello, and when it has registered all it has. Sends nothing itself."""

from __future__ import annotations

from typing import Literal

import trio

from hookgate.processes.child import Late, unheard
from hookgate.protocol.framing import Oversize
from hookgate.protocol.zot.frames import Hello, Ready
from hookgate.protocol.zot.peer import BadReply, Incoming, Malformed

QUIET_S = 0.25
READY_S = 3.0

HowReady = Literal["frame", "silence", "deadline"]


class Handshake:
    """Fed with everything that comes; `hello` stands as soon as the first frame was one."""

    def __init__(self) -> None:
        self.hello: Hello | None = None
        self.how_ready: HowReady | None = None
        self._problem = ""
        self._greeted = trio.Event()
        self._ready = trio.Event()
        self._stirred = trio.Event()

    def take(self, incoming: Incoming) -> bool:
        """Whether the frame is for others: those after the hello."""
        if self._problem:
            return False
        if self.hello is None:
            self._greet(incoming)
            return False
        self._stirred.set()
        if isinstance(incoming, Ready):
            self._ready.set()
        return True

    def abandon(self, reason: str) -> None:
        """It will say nothing more."""
        if self.hello is None:
            self._problem = self._problem or reason
        self._greeted.set()
        self._ready.set()
        self._stirred.set()

    async def greeted(self, timeout_s: float, patience_s: float, late: Late) -> str | None:
        """What went wrong, or None with `hello` filled. `late` hears after `patience_s`, where there is time left."""
        with trio.move_on_after(min(patience_s, timeout_s)):
            await self._greeted.wait()
        if not self._greeted.is_set() and patience_s < timeout_s:
            late(f"{unheard(patience_s)}; it goes on starting, for up to {timeout_s:g} s")
            with trio.move_on_after(timeout_s - patience_s):
                await self._greeted.wait()
        if self.hello is not None:
            return None
        return self._problem or unheard(timeout_s)

    async def readied(self, *, quiet_counts: bool) -> None:
        """Until it says so, has been quiet for QUIET_S (where that counts), or READY_S are over."""
        self.how_ready = "deadline"
        with trio.move_on_after(READY_S):
            self.how_ready = await (self._quiet() if quiet_counts else self._said())

    async def _said(self) -> HowReady:
        await self._ready.wait()
        return "frame"

    async def _quiet(self) -> HowReady:
        while not self._ready.is_set():
            self._stirred = trio.Event()
            with trio.move_on_after(QUIET_S) as pause:
                await self._stirred.wait()
            if pause.cancelled_caught:
                return "silence"
        return "frame"

    def _greet(self, first: Incoming) -> None:
        match first:
            case Hello():
                self.hello = first
            case Malformed(reason=reason, type="" | Hello.type):
                self._problem = f"parse hello: {reason}"
            case Oversize(size=size):
                self._problem = f"parse hello: a line of {size} bytes is over the limit"
            case BadReply():
                self._problem = "first frame must be hello"
            case _:
                self._problem = f'first frame must be hello (got "{first.type}")'
        self._greeted.set()
