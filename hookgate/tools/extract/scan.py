"""One walk over a text, left to right: fragments of calls on one side, prose, reasoning and examples on the other.

Every character is walked over a bounded number of times: what a search ran over without success is not searched
again.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import field

from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.extract.bodies import read_explicit
from hookgate.tools.extract.fences import Fence, read_fence
from hookgate.tools.extract.judge import CUT, judge_bare, judge_explicit, protocol_calls
from hookgate.tools.extract.marks import CLOSERS, COUNTING, EXPLICIT, FLAT_MARK, MARK, PROTOCOL, THOUGHT, VALUE, skip
from hookgate.tools.extract.quoting import starts
from hookgate.tools.extract.values import Fragment, Mode, Problem, Verdict
from hookgate.tools.repair import Reading
from hookgate.tools.repair.bounds import too_deep
from hookgate.tools.repair.cascade import read_lossless
from hookgate.tools.repair.cut import read_cut
from hookgate.tools.repair.spans import IN_MARKUP, span


@dataclass
class Walk:
    """How far a walk has come. `waiting` fragments count only if no prose follows them."""

    text: str
    names: Collection[str]
    # Where a call may begin; None: anywhere.
    starts: frozenset[int] | None
    found: list[Fragment] = field(default_factory=list[Fragment])
    waiting: list[Fragment] = field(default_factory=list[Fragment])
    # Only blanks and reasoning so far: what is left may be one value.
    fresh: bool = True
    # A bracket was searched to the end of the text and never closed.
    ran_out: bool = False

    def prose(self) -> None:
        self.waiting.clear()
        self.fresh = False

    @property
    def liberal(self) -> bool:
        return self.starts is None

    def may_call(self, position: int) -> bool:
        """At a start, or right behind a call that stands at one."""
        return self.starts is None or position in self.starts or bool(self.waiting)

    def call(self, fragment: Fragment) -> None:
        """An announced call; where not every place will do, nothing but calls may follow it."""
        self.fresh = False
        (self.found if self.liberal else self.waiting).append(fragment)


def walk(text: str, names: Collection[str], mode: Mode) -> list[Fragment]:
    """The fragments of a text, in its order, each with its verdict."""
    state = Walk(text, names, None if mode == "all" else starts(text))
    position = 0
    while position < len(text):
        if state.fresh and (whole := _one_value(state, position)) is not None:
            return [*state.found, *(Fragment(position, len(text), whole) for _ in whole[:1])]
        mark = (FLAT_MARK if state.ran_out else MARK).search(text, position)
        if text[position : mark.start() if mark else len(text)].strip():
            state.prose()
        if mark is None:
            break
        position = _step(state, mark)
    return sorted((*state.found, *state.waiting), key=lambda fragment: fragment.start)


def _step(state: Walk, mark: re.Match[str]) -> int:
    """What begins at the mark; returns where the walk goes on."""
    match mark.lastgroup if mark["explicit"] is None else "explicit":
        case "think":
            if not state.liberal:
                state.waiting.clear()
            thought = THOUGHT.search(state.text, mark.end())
            return thought.end() if thought else len(state.text)
        case "thought":
            # Some chat templates write the opener into the prompt: all that came before was reasoning.
            state.found.clear()
            state.waiting.clear()
            state.fresh = True
            return mark.end()
        case "explicit":
            return _explicit(state, mark)
        case "fence":
            return _fence(state, mark)
        case "object" | "array" | "quote":
            return _bracket(state, mark)
        case _:
            state.prose()
            return mark.end()


# --- one value ----------------------------------------------------------------------------------------------


def _one_value(state: Walk, position: int) -> Verdict | None:
    """What the rest of the text says if it is one JSON value, whole or cut; None if it is not."""
    text = state.text
    value = VALUE.match(text, position)
    if value is None or state.ran_out:
        return None
    start = value.end() - 1
    if not state.may_call(start):
        return None
    piece = span(text, start)
    if not piece.closed:
        reading = _read_cut(state, start)
        return _judge_cut(state, start, reading) if reading else None
    if text[skip(CLOSERS, text, piece.end) :].strip():
        return None
    reading = read_lossless(text[start : piece.end])
    return _judge(state, reading) if reading else None


def _read_cut(state: Walk, start: int) -> Reading | None:
    state.ran_out = True
    rest = state.text[start:]
    return None if too_deep(rest) else read_cut(rest)


def _judge_cut(state: Walk, start: int, reading: Reading) -> Verdict:
    if PROTOCOL.match(state.text, start) or protocol_calls(reading.value) is not None:
        return (CUT,)
    return judge_bare(reading, state.names) if state.liberal else ()


def _judge(state: Walk, reading: Reading) -> Verdict:
    calls = protocol_calls(reading.value)
    if calls is not None:
        return judge_explicit(reading, state.names) if calls else ()
    return judge_bare(reading, state.names) if state.liberal else ()


# --- pieces of a longer text --------------------------------------------------------------------------------


def _explicit(state: Walk, mark: re.Match[str]) -> int:
    opener = EXPLICIT.match(state.text, mark.start()) if state.may_call(mark.start()) else None
    fragment = read_explicit(opener, state.names) if opener else None
    if fragment is None:
        state.prose()
        return mark.end()
    state.call(fragment)
    return fragment.end


def _bracket(state: Walk, mark: re.Match[str]) -> int:
    """An object or array in prose: stepped over whole, unless it is `{"tool_calls": [...]}`."""
    text, start = state.text, mark.start()
    piece = span(text, start, IN_MARKUP)
    if not piece.closed and text[piece.end : piece.end + 1] != "<":
        return _unclosed(state, start)
    announced = mark.lastgroup != "array" and state.may_call(start)
    verdict = _protocol(state, text[start : piece.end], closed=piece.closed) if announced else ()
    if not verdict:
        state.prose()
        return piece.end
    end = skip(CLOSERS, text, piece.end) if piece.closed else len(text)
    state.call(Fragment(start, end, verdict))
    return end


def _unclosed(state: Walk, start: int) -> int:
    """A cut object holds nothing but data; a bracket that is no JSON is a plain character."""
    if PROTOCOL.match(state.text, start) and state.may_call(start):
        state.call(Fragment(start, len(state.text), (CUT,)))
        return len(state.text)
    state.prose()
    return len(state.text) if _read_cut(state, start) is not None else start + 1


def _protocol(state: Walk, piece: str, *, closed: bool) -> Verdict:
    if "tool_calls" not in piece or not (state.liberal or PROTOCOL.match(piece)):
        return ()
    reading = read_lossless(piece) if closed else None
    if reading is not None:
        calls = protocol_calls(reading.value)
        return judge_explicit(reading, state.names) if calls else ()
    return (Problem("what follows is not JSON") if closed else CUT,) if PROTOCOL.match(piece) else ()


def _fence(state: Walk, mark: re.Match[str]) -> int:
    fence = read_fence(state.text, mark.start(), deep=not state.ran_out)
    if fence is None:
        state.prose()
        return mark.end()
    state.ran_out = state.ran_out or not fence.closed
    if not state.liberal:
        state.prose()
        return fence.end
    state.fresh = False
    verdict = _in_fence(state, fence)
    if verdict:
        state.waiting.append(Fragment(mark.start(), fence.end, verdict))
    return fence.end


def _in_fence(state: Walk, fence: Fence) -> Verdict:
    """The calls of a fence that counts; every other fence is an example."""
    if not fence.closed or fence.language not in COUNTING:
        return ()
    if EXPLICIT.match(fence.content.lstrip()):
        return _transparent(state, fence.content)
    reading = read_lossless(fence.value) if fence.value else None
    return _judge(state, reading) if reading else ()


def _transparent(state: Walk, content: str) -> Verdict:
    """A fence that holds only explicit calls is as good as none."""
    fragments = walk(content, state.names, "all")
    ends = [0, *(fragment.end for fragment in fragments)]
    starts = [*(fragment.start for fragment in fragments), len(content)]
    if any(content[end:start].strip() for end, start in zip(ends, starts, strict=True)):
        return ()
    return tuple(item for fragment in fragments for item in fragment.verdict)
