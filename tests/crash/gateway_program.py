"""A gateway to be killed: `gateway_program.py FOLDER`, hookgate's own runtime on the journal in that folder.

Its model, its tools and its channel are here. People write lines of JSON to its stdin, and read what they see on its
stdout. `CRASH_CALL=N` kills it at the Nth call of its journal, before it, or right after it with `CRASH_AFTER`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import trio

from hookgate.assembly.app import Runtime, open_runtime
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.assembly.settings import Ports, Settings
from hookgate.config import load
from hookgate.protocol.approval import ApprovalRequest, Decide, Decision, Voter
from hookgate.protocol.channel import PRESENT, UNLIMITED
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.values import Chat, Inbound, LLMReply, LLMRequest, Outbound, ProposedCall, ToolCall, ToolResult
from hookgate.protocol.values import ToolSpec as Spec
from hookgate.store.journal import open_journal

PERSON = "ann"
LINE: dict[str, Any] = {"type": "object", "properties": {"line": {"type": "string"}}, "required": ["line"]}


class Model:
    """It calls the tool that the message names, once, and then says that it is done."""

    async def complete(self, request: LLMRequest, on_text: Callable[[Any], None]) -> LLMReply:
        await trio.lowlevel.checkpoint()
        last = request.messages[-1]
        kind, key = next(it.content for it in reversed(request.messages) if it.role == "user").split()
        if kind == "say" or last.role == "tool":
            return LLMReply(request.model, f"done {key}")
        tool = "append" if kind == "never" else kind
        return LLMReply(request.model, "", (ProposedCall(f"c-{key}", tool, json.dumps({"line": f"{kind} {key}"})),))


@dataclass(frozen=True)
class Append:
    """Changes the world: a line more in a file, on the disk when the call returns."""

    name: str
    file: Path

    @property
    def spec(self) -> Spec:
        return Spec(self.name, "appends a line", LINE)

    async def execute(self, call: ToolCall) -> ToolResult:
        await trio.to_thread.run_sync(self._append, f"{call.arguments['line']}\n".encode())
        return ToolResult("appended")

    def _append(self, line: bytes) -> None:
        file = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, line)
        os.fsync(file)
        os.close(file)


class Lines:
    """The channel: what people see is a line of JSON each."""

    name = "lines"
    limits = UNLIMITED
    state = PRESENT

    async def send(self, outbound: Outbound, key: str) -> str:
        await trio.lowlevel.checkpoint()
        tell(sent=outbound.text, row=key)
        return key

    def stream(self, chat: Chat, text: str) -> None: ...

    def end_stream(self, chat: Chat) -> None: ...

    def restart_stream(self, chat: Chat) -> None: ...

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        tell(asked=request.id, line=request.call.arguments["line"])
        await trio.sleep_forever()


class Fuse:
    """The journal, at one of whose calls this process dies."""

    def __init__(self, part: object, left: list[int], after: bool) -> None:
        self._part, self._left, self._after = part, left, after

    def __getattr__(self, name: str) -> object:
        found = getattr(self._part, name)
        if not callable(found):
            return Fuse(found, self._left, self._after)
        return partial(self._call, cast("Callable[..., Coroutine[Any, Any, Any]]", found))

    async def _call(self, function: Callable[..., Coroutine[Any, Any, Any]], *given: Any, **named: Any) -> Any:
        self._left[0] -= 1
        dies = self._left[0] < 0
        if dies and not self._after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = await function(*given, **named)
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


def tell(**members: Any) -> None:
    """Written whole, at once: what people have seen cannot be taken back."""
    os.write(1, json.dumps(members).encode() + b"\n")


async def listen(runtime: Runtime, nursery: trio.Nursery) -> None:
    """Until stdin ends."""
    rest = b""
    async with trio.lowlevel.FdStream(os.dup(0)) as stdin:
        while data := await stdin.receive_some():
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                nursery.start_soon(do, runtime, json.loads(line))


async def do(runtime: Runtime, said: dict[str, Any]) -> None:
    if "say" in said:
        inbound = Inbound(Chat("lines", said["chat"], PERSON), said["say"], message_id=said["key"])
        accepted = await runtime.gateway.receive(inbound)
        tell(accepted=said["key"], id=accepted.id)
    elif "decide" in said:
        decision = Decision(said["approved"], PERSON)
        outcome = await runtime.agent.approvals.decide(said["decide"], decision, Voter("lines", PERSON))
        tell(decided=said["decide"], state=outcome.state)
    else:
        for chat in said["idle"]:
            await runtime.gateway.idle(Chat("lines", chat).session_key)
        while await runtime.journal.posting.outgoing(Lines.name):
            # A hint of it may have come before.
            with trio.move_on_after(0.05):
                await runtime.journal.books.changed()
        tell(idle=True)


async def main(folder: Path) -> None:
    config, file = load(folder / "hookgate.toml")
    set_up_logs(config.log)
    async with open_journal(folder / "disk" / "journal.db") as stored:
        journal: object = stored
        if "CRASH_CALL" in os.environ:
            journal = Fuse(stored, [int(os.environ["CRASH_CALL"])], bool(os.environ.get("CRASH_AFTER")))
        tools = tuple(Append(name, folder / "disk" / "effects") for name in ("append", "careful"))
        ports = Ports((Lines(),), providers={"test": Model()}, journal=cast("Journal", journal))
        async with (
            open_runtime(Settings(config, file.parent, functions=tools), ports) as runtime,
            trio.open_nursery() as nursery,
        ):
            tell(ready=True)
            await listen(runtime, nursery)
            nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main, Path(sys.argv[1]))
