"""A stored conversation, told again as when it happened: what people wrote, what was answered, each call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hookgate.acp.looks import Looks, cut, shown
from hookgate.protocol.acp.updates import Picture, Speaker, Text, Tool, Update, chunks
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Conversation, Entry
from hookgate.protocol.journal.views import Exchange
from hookgate.protocol.redacting import presentable
from hookgate.protocol.values import ToolCall

MOST = 500
"""Messages of people, the last of them."""


async def stored(journal: Journal, session: str) -> list[Exchange]:
    """What was said to each agent since its conversation began, in order."""
    current: dict[str, Conversation] = {}
    for row in await journal.chats.listed(session):
        its = row.conversation
        if its.session == session and its.generation >= current.get(its.agent, its).generation:
            current[its.agent] = its
    said = [it for conversation in current.values() for it in await journal.chats.said(conversation, MOST)]
    return sorted(said, key=lambda it: it.at)


def replayed(exchanges: Iterable[Exchange], looks: Looks, redactor: Redactor) -> Iterator[Update]:
    for number, exchange in enumerate(exchanges):
        yield from _Replay(f"past-{number}", looks, redactor).of(exchange)


class _Replay:
    """Of one message and what came of it; `name` makes the ids of what is told unlike any other."""

    def __init__(self, name: str, looks: Looks, redactor: Redactor) -> None:
        self._name, self._looks, self._redactor = name, looks, redactor

    def of(self, exchange: Exchange) -> Iterator[Update]:
        if exchange.inbound is not None and exchange.begun:
            yield from self._said("user_message_chunk", "user", shown(exchange.inbound.text, exchange.inbound.media))
        entries = [entry for _, entry in exchange.entries if entry.message.role != "user"]
        results = {entry.message.tool_call_id: entry for entry in entries if entry.message.role == "tool"}
        for entry in self._before_the_answer(exchange, entries):
            text = entry.message.content if entry.shown is None else entry.shown
            yield from self._said("agent_message_chunk", str(entry.number), shown(self._redactor.text(text)))
            yield from self._calls(entry, results)
        for number, (_, row) in enumerate(exchange.rows):
            if not row.outbound.request:
                content = shown(row.outbound.text, row.outbound.media)
                yield from self._said("agent_message_chunk", f"row-{number}", content)

    @staticmethod
    def _before_the_answer(exchange: Exchange, entries: Sequence[Entry]) -> Sequence[Entry]:
        """What was sent counts, and where nothing was, a hook has kept the answer back."""
        spoken = [entry for entry in entries if entry.message.role == "assistant"]
        kinds = {row.outbound.kind for _, row in exchange.rows}
        ended = "answer" in kinds or (exchange.outcome == "answered" and "error" not in kinds)
        return spoken[:-1] if ended and spoken and not spoken[-1].message.tool_calls else spoken

    def _said(self, speaker: Speaker, message: str, content: Iterable[Text | Picture]) -> Iterator[Update]:
        for it in content:
            yield from chunks(speaker, it, f"{self._name}-{message}")

    def _calls(self, entry: Entry, results: dict[str, Entry]) -> Iterator[Update]:
        """A call without a result is still to be made, and told anew then."""
        for index, written in enumerate(entry.message.tool_calls):
            result = results.get(written.id)
            if result is None:
                continue
            record = entry.calls[index] if index < len(entry.calls) else None
            call = record.call if record is not None else None
            tool = Tool("", title=written.name, kind="other") if call is None else self._looked(call)
            denied = result.shown is not None
            failed = denied or result.message.is_error
            text = self._redactor.text(result.shown if result.shown is not None else result.message.content)
            content = tool.shown if tool.shown and not failed else shown(cut(text), result.message.media)
            yield replace(
                tool,
                id=f"{self._name}-{entry.number}.{index}",
                begins=True,
                status="failed" if failed else "completed",
                shown=content,
            )

    def _looked(self, call: ToolCall) -> Tool:
        seen = presentable(self._redactor, call)
        return replace(self._looks.proposed(seen), shown=self._looks.changed(seen))
