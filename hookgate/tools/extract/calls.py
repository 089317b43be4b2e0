"""The calls in an assistant's text, as values the loop can run, and the text that is left. Pure.

For text of a reply without structured calls; never for text of tools, hooks or servers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import count

from hookgate.protocol.codec import encode
from hookgate.protocol.values import ProposedCall, ToolCall
from hookgate.tools.extract.scan import walk
from hookgate.tools.extract.values import Extracted, FoundCall, Fragment, Mode, Problem
from hookgate.tools.repair.bounds import encodable


def extract_calls(text: str, names: Collection[str], mode: Mode = "tags") -> Extracted:
    """Every call that the text holds, in its order, with origin `text`; only of declared `names`. Never raises."""
    text = encodable(text)
    fragments = walk(text, frozenset(names), mode)
    verdict = [item for fragment in fragments for item in fragment.verdict]
    found = [item for item in verdict if isinstance(item, FoundCall)]
    problems = tuple(item for item in verdict if isinstance(item, Problem))
    written = tuple(text[fragment.start : fragment.end] for fragment in fragments)
    if not found:
        return Extracted("MALFORMED" if problems else "NONE", (), text, problems, written)
    return Extracted("CALLS", _with_ids(found), _rest(text, fragments), problems, written)


def as_proposed(call: ToolCall) -> ProposedCall:
    """The same call as the transcript keeps it: canonical JSON, whatever the model wrote."""
    return ProposedCall(call.id, call.name, encode(call.arguments).decode())


def _with_ids(found: Sequence[FoundCall]) -> tuple[ToolCall, ...]:
    """A given id stays with the first call that has it; every other call gets a free one."""
    given = {item.id for item in found}
    spare = (name for number in count() if (name := f"call_{number}") not in given)
    used: set[str] = {""}
    calls: list[ToolCall] = []
    for item in found:
        call_id = next(spare) if item.id in used else item.id
        used.add(call_id)
        calls.append(ToolCall(call_id, item.name, item.arguments, "text", item.decode))
    return tuple(calls)


def _rest(text: str, fragments: Sequence[Fragment]) -> str:
    ends = [0, *(fragment.end for fragment in fragments)]
    starts = [*(fragment.start for fragment in fragments), len(text)]
    return "".join(text[end:start] for end, start in zip(ends, starts, strict=True)).strip()
