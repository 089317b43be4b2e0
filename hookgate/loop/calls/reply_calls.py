"""What a reply asks for: its structured calls, else those that the model wrote into its text. Runs nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from typing import Literal

import trio

from hookgate.processes.in_subprocess import Unfinished, run_apart
from hookgate.protocol.codec import decode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import LLMReply, LLMRequest, ProposedCall, ToolCall, ToolSpec
from hookgate.tools.decode import ReadCall, marked, read_calls
from hookgate.tools.dispatch import failure
from hookgate.tools.extract import as_proposed, extract_calls

TextCalls = Literal["off", "tags", "all"]
"""Whether calls in text count, and which: explicit tags alone, or fences and bare JSON too."""

APART_S = 30.0
AT_ONCE_CHARS = 32 * 1024
"""Text up to this length is read within a few milliseconds, whatever is wrong with it."""

_MARK = re.compile(r"[<{\[`]")
"""No call begins without one of these, so text without them needs no closer look."""


@dataclass(frozen=True, slots=True)
class ReplyCalls:
    """`text` is what the reply says besides its calls; `fault` tells of a call that was begun and cannot be made.

    `written`: the pieces of the text that the calls and the fault come from; empty where they are not from text.
    """

    text: str
    calls: tuple[ReadCall, ...] = ()
    fault: str = ""
    written: tuple[str, ...] = ()


def asked(reply: LLMReply, request: LLMRequest, text_calls: TextCalls, iteration: int) -> ReplyCalls:
    """Structured calls win, and then the text stays as it is."""
    cut = reply.finish_reason == "length"
    if reply.tool_calls:
        return ReplyCalls(reply.content, read_calls(with_ids(reply.tool_calls, iteration), cut=cut))
    if text_calls == "off" or not request.tools or not _MARK.search(reply.content):
        return ReplyCalls(reply.content)
    found = extract_calls(reply.content, {spec.name for spec in request.tools}, text_calls)
    fault = "; ".join(problem.reason for problem in found.problems) if found.klass == "MALFORMED" else ""
    ids = with_ids((as_proposed(call) for call in found.calls), iteration)
    calls = (
        ReadCall(named, marked(replace(call, id=named.id), cut)) for named, call in zip(ids, found.calls, strict=True)
    )
    return ReplyCalls(found.rest, tuple(calls), fault, found.written)


async def read_reply(reply: LLMReply, request: LLMRequest, text_calls: TextCalls, iteration: int) -> ReplyCalls:
    """`asked`, without holding up everybody else: a long text that is broken is read in a process of its own.

    A thread would not do, since one pass over a long text by a single call of `re` or `json` lets no other in.
    """
    size = len(reply.content) + sum(len(call.arguments) for call in reply.tool_calls)
    if size <= AT_ONCE_CHARS:
        return asked(reply, request, text_calls, iteration)
    read = partial(asked, reply, _names_alone(request), text_calls, iteration)
    if await trio.to_thread.run_sync(_is_whole, reply, abandon_on_cancel=True):
        return await trio.to_thread.run_sync(read, abandon_on_cancel=True)
    try:
        return await run_apart(read, APART_S)
    except Unfinished:
        return _unread(reply)


def _unread(reply: LLMReply) -> ReplyCalls:
    reason = "the arguments are too long to be mended"
    hint = "Send them again as one JSON object; split large content over several calls."
    calls = (ReadCall(call, failure("validation", call.name, reason, hint=hint)) for call in reply.tool_calls)
    return ReplyCalls(reply.content, tuple(calls), "" if reply.tool_calls else "it is too long to be read")


def _is_whole(reply: LLMReply) -> bool:
    """Whether there is nothing to repair and nothing to look for."""
    if not reply.tool_calls:
        return not _MARK.search(reply.content)
    try:
        for call in reply.tool_calls:
            decode(call.arguments)
    except BadMessage:
        return False
    return True


def _names_alone(request: LLMRequest) -> LLMRequest:
    """Reading a reply takes no more of the request than the names of its tools."""
    return LLMRequest(request.model, (), tuple(ToolSpec(spec.name, "", {}) for spec in request.tools))


def renamed(said: ReplyCalls, unfit: Callable[[str], bool], iteration: int) -> ReplyCalls:
    """Calls whose id is unfit get another; what was read stays."""
    if not any(unfit(call.proposed.id) for call in said.calls):
        return said
    given = (replace(it.proposed, id="") if unfit(it.proposed.id) else it.proposed for it in said.calls)
    calls = zip(with_ids(given, iteration), said.calls, strict=True)
    return replace(said, calls=tuple(_under_its_id(named, it) for named, it in calls))


def _under_its_id(named: ProposedCall, it: ReadCall) -> ReadCall:
    return ReadCall(named, replace(it.call, id=named.id) if isinstance(it.call, ToolCall) else it.call)


def with_ids(calls: Iterable[ProposedCall], iteration: int) -> tuple[ProposedCall, ...]:
    """Every call of a reply under an id of its own: a missing or repeated one is replaced."""
    given = list(calls)
    taken = {call.id for call in given}
    spare = (name for number in count() if (name := f"call_{iteration}_{number}") not in taken)
    used: set[str] = {""}
    named: list[ProposedCall] = []
    for call in given:
        call_id = next(spare) if call.id in used else call.id
        used.add(call_id)
        named.append(call if call_id == call.id else replace(call, id=call_id))
    return tuple(named)
