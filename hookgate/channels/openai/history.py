"""Which part of a request is new to its conversation: clients send all of it each time. Pure.

What people and programs said is compared, never what was answered: clients change that as they like.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import Literal

from hookgate.channels.openai.errors import bad_request
from hookgate.channels.openai.request_messages import BETWEEN, Tail, check_history, joined
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.replies import open_calls
from hookgate.protocol.journal.views import Exchange
from hookgate.protocol.values import Message

Keeper = Literal["", "server", "client"]
"""Who knows what was said: the request is new all of it, or is all there is; empty: as it looks."""

MOST_PLACES = 64
"""So often the words that the journal begins with are looked for in what a client sends."""


@dataclass(frozen=True, slots=True)
class _Spoken:
    """What was said in a conversation, and the entry that its turn began with; 0: it has not begun."""

    text: str
    entry: int


def new_tail(messages: Sequence[Message], exchanges: Sequence[Exchange], keeper: Keeper) -> Tail:
    """Raises ApiError."""
    last = max((n for n, it in enumerate(messages, 1) if it.role == "assistant"), default=0)
    behind = messages[last:]
    if any(it.role == "tool" for it in behind):
        return _with_results(messages, last, exchanges)
    if _is_command(messages[-1].content):
        return Tail((), messages[-1].content)
    spoken = [_Spoken(it.inbound.text, _begins(it)) for it in exchanges if it.inbound is not None and _counts(it)]
    if keeper == "server" or (spoken and not keeper and not last and not _starts_alike(messages, spoken)):
        return Tail((), *joined(behind)[1:])
    return _compared(messages, spoken)


def _compared(messages: Sequence[Message], spoken: Sequence[_Spoken]) -> Tail:
    at, known = _followed(messages, spoken, 0)
    if spoken and not known and spoken[0].entry > 1:
        # The journal may not have the beginning any more.
        later = (_followed(messages, spoken, n) for n in islice(_places(messages, spoken[0].text), MOST_PLACES))
        at, known = next((it for it in later if it[1] == len(spoken)), (at, known))
    last = len(messages) - _trailing(messages)
    if known and at == len(messages):
        # The last word once more: what was answered to it is taken back.
        return _tail(messages[last:], spoken[known - 1].entry)
    while known and at < last and (messages[at].role != "user" or _is_command(messages[at].content)):
        at += 1
    return _tail(messages[at:], spoken[known].entry if known < len(spoken) else 0)


def _followed(messages: Sequence[Message], spoken: Sequence[_Spoken], at: int) -> tuple[int, int]:
    """How far from there both say the same: behind which message, and how often."""
    for known, it in enumerate(spoken):
        end = _matched(messages, at, it.text)
        if end == 0:
            return at, known
        at = end
        if at == len(messages):
            return at, known + 1
    return at, len(spoken)


def _places(messages: Sequence[Message], text: str) -> Iterator[int]:
    """Behind an answer, where these words are said again."""
    for n, (before, it) in enumerate(pairwise(messages), 1):
        if it.role == "user" and before.role != "user" and _matched(messages, n, text):
            yield n


def _tail(messages: Sequence[Message], replaces: int) -> Tail:
    before, text, media = joined(messages)
    check_history(before)
    return Tail(before, text, media, replaces)


def _matched(messages: Sequence[Message], at: int, text: str) -> int:
    """Behind the next words, one message or several that were taken as one, if they are these; 0: they are not."""
    while at < len(messages) and (messages[at].role != "user" or _is_command(messages[at].content)):
        at += 1
    read = 0
    for end in range(at, len(messages)):
        if messages[end].role != "user":
            break
        if content := messages[end].content:
            word = f"{BETWEEN}{content}" if read else content
            if not text.startswith(word, read):
                break
            read += len(word)
        if read == len(text):
            return end + 1
    return 0


def _starts_alike(messages: Sequence[Message], spoken: Sequence[_Spoken]) -> bool:
    return _matched(messages, 0, spoken[0].text) > 0


def _trailing(messages: Sequence[Message]) -> int:
    return len(messages) - len(joined(messages)[0])


def _is_command(text: str) -> bool:
    return text.startswith("/")


def _counts(exchange: Exchange) -> bool:
    """What its turn has taken up, or will: commands and what was refused are no part of the conversation."""
    said = exchange.inbound
    waits = exchange.outcome is None and said is not None and not _is_command(said.text)
    return said is not None and bool(said.text) and (bool(exchange.entries) or waits)


def _begins(exchange: Exchange) -> int:
    return exchange.entries[0][1].number if exchange.entries else 0


def _with_results(messages: Sequence[Message], last: int, exchanges: Sequence[Exchange]) -> Tail:
    """Results of calls that wait for them in the conversation; where it does not know them, all that was said."""
    entries = [entry for exchange in exchanges for _, entry in exchange.entries]
    waiting = _handed_over(exchanges) & {call.id for call in open_calls(entries)}
    results = tuple(it for it in messages[last:] if it.role == "tool")
    if waiting and all(it.tool_call_id in waiting for it in results):
        return Tail(results, *joined(messages[last:])[1:])
    if entries:
        raise bad_request("no call of this conversation waits for these results", "messages")
    before, text, media = joined(messages)
    check_history(before)
    return Tail(before, text, media)


def _handed_over(exchanges: Sequence[Exchange]) -> set[str]:
    """Calls of the last turn that its client was given: those of our own tools get no result from there."""
    last = next((it for it in reversed(exchanges) if it.entries), None)
    return set[str]() if last is None else {call.id for _, row in last.rows for call in row.outbound.calls}
