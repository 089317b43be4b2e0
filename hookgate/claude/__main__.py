"""`python -P -m hookgate.claude SETTINGS.json`: the hook process that runs Claude Code's commands, on its pipes."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import trio

from hookgate.claude.adapter import Adapter, UnknownMethod
from hookgate.claude.running import open_lifeline
from hookgate.claude.saying import CommandFailed
from hookgate.claude.settings import BadSettings, Settings, read_settings
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.framing import LineSplitter, Oversize
from hookgate.protocol.hook.peer import METHOD_NOT_FOUND

FAILED = -32000
READ_BYTES = 1 << 16
LAST_S = 1.5
"""Less than hookgate waits for a hook whose stdin it has closed: what is cut off can still be said."""


class Conversation:
    """Each call in a task of its own; `hook.cancel` ends it, and its commands."""

    def __init__(self, adapter: Adapter, out: trio.lowlevel.FdStream, nursery: trio.Nursery) -> None:
        self._adapter, self._out, self._nursery = adapter, out, nursery
        self._writing = trio.Lock()
        self._scopes: dict[object, trio.CancelScope] = {}

    def take(self, line: bytes) -> None:
        try:
            message = decode(line)
        except BadMessage:
            return
        if not isinstance(message, dict):
            return
        members = cast("dict[str, Any]", message)
        method, params = str(members.get("method", "")), cast("dict[str, Any]", members.get("params") or {})
        if "id" in members:
            self._scopes[members["id"]] = scope = trio.CancelScope()
            self._nursery.start_soon(self._answer, members["id"], method, params, scope)
        elif method == "hook.event":
            self._adapter.hear(params)
        elif method == "hook.cancel" and (scope := self._scopes.get(params.get("id"))) is not None:
            scope.cancel()

    async def _answer(self, call_id: object, method: str, params: Mapping[str, Any], scope: trio.CancelScope) -> None:
        outcome: dict[str, object] = {"error": {"code": FAILED, "message": "it was cancelled"}}
        try:
            with scope:
                outcome = {"result": await self._adapter.answer(method, params)}
        except UnknownMethod:
            outcome = {"error": {"code": METHOD_NOT_FOUND, "message": f"there is no method {method[:80]!r}"}}
        except CommandFailed as error:
            outcome = {"error": {"code": FAILED, "message": str(error)}}
        except (KeyError, TypeError, AttributeError) as error:
            outcome = {"error": {"code": -32602, "message": f"params of {method[:80]!r}: {error!r}"}}
        finally:
            self._scopes.pop(call_id, None)
        async with self._writing:
            # Whoever asked has gone, and the end of stdin says so.
            with suppress(trio.BrokenResourceError):
                await self._out.send_all(encode({"jsonrpc": "2.0", "id": call_id, **outcome}) + b"\n")


async def run(settings: Settings, lifeline: int) -> None:
    """Until stdin ends or a signal comes; then no command runs any more, but those that nobody waits for have LAST_S
    once stdin has ended: what is told last is told right before."""
    if settings.left_out:
        _tell(_not_carried(settings.left_out))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_end_on_signal, nursery.cancel_scope)
        async with trio.open_nursery() as unheeded:
            await _converse(Adapter(settings, lifeline, _tell, unheeded.start_soon))
            unheeded.cancel_scope.deadline = trio.current_time() + LAST_S
        nursery.cancel_scope.cancel()


def _not_carried(left_out: Sequence[str]) -> str:
    """One line at each start, however many there are: to migrate has said the rest."""
    if len(left_out) == 1:
        return left_out[0]
    places = ", ".join(line.partition(": ")[0].partition(" (")[0] for line in left_out)
    return f"not carried over: {places}; `hookgate migrate claude` says why"


async def _converse(adapter: Adapter) -> None:
    """Until stdin ends: nobody reads answers any more."""
    stdin, stdout = trio.lowlevel.FdStream(os.dup(0)), trio.lowlevel.FdStream(os.dup(1))
    async with trio.open_nursery() as calls:
        conversation, lines = Conversation(adapter, stdout, calls), LineSplitter()
        with suppress(trio.BrokenResourceError):
            while data := await stdin.receive_some(READ_BYTES):
                for line in lines.feed(bytes(data)):
                    if not isinstance(line, Oversize):
                        conversation.take(line)
        calls.cancel_scope.cancel()


async def _end_on_signal(scope: trio.CancelScope) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            scope.cancel()


def _tell(line: str) -> None:
    sys.stderr.write(" ".join(line.split()) + "\n")
    sys.stderr.flush()


def main() -> None:
    # More files are named so that they are kept as what this hook runs is.
    if len(sys.argv) < 2:
        sys.exit("usage: python -P -m hookgate.claude SETTINGS.json [FILE THAT ITS COMMANDS RUN...]")
    try:
        lifeline, settings = open_lifeline(), read_settings(Path(sys.argv[1]))
    except (BadSettings, OSError) as error:
        sys.exit(str(error))
    trio.run(run, settings, lifeline)


if __name__ == "__main__":
    main()
