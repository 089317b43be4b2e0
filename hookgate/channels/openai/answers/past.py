"""An answer as the journal has it, for whoever comes later, or after a restart."""

from __future__ import annotations

from collections.abc import Iterator

from hookgate.channels.openai.answers.answer import Answer
from hookgate.channels.openai.answers.calls import OwnCall, own_call, theirs
from hookgate.channels.openai.files import with_files_named
from hookgate.channels.openai.settings import OpenAIParts
from hookgate.protocol.chat import Outbound
from hookgate.protocol.interfaces import Replacing
from hookgate.protocol.journal.values import Entry
from hookgate.protocol.journal.views import Exchange
from hookgate.protocol.redacting import presentable
from hookgate.protocol.values import ToolCall


async def replay(answer: Answer, exchange: Exchange, parts: OpenAIParts, *, whole: bool) -> None:
    """Not `whole`: without what was said and done before the end."""
    sent = list[tuple[float, str | OwnCall | Outbound]]()
    for at, row in exchange.rows:
        if not row.outbound.request:
            sent.append((at, await with_files_named(row.outbound, parts.media)))
    if answer.begun or answer.over:
        # Somebody else has looked meanwhile.
        return
    answer.begun, answer.usage = bool(exchange.entries), exchange.usage
    for _, it in sorted((*(_done(exchange, parts.redactor) if whole else ()), *sent), key=lambda it: it[0]):
        if isinstance(it, Outbound):
            answer.take(it)
        elif isinstance(it, OwnCall):
            answer.show(it)
        else:
            answer.end_part(it)
    answer.end()


def _done(exchange: Exchange, redactor: Replacing) -> Iterator[tuple[float, str | OwnCall]]:
    """Before the last reply, which is a row where it was sent; each with its time."""
    said = [entry for _, entry in exchange.entries if entry.message.role == "assistant"]
    last = None if not said or said[-1].calls else said[-1]
    begun = dict[str, OwnCall]()
    for at, entry in exchange.entries:
        message = entry.message
        if message.role == "tool" and (call := begun.pop(message.tool_call_id, None)) is not None:
            failed = message.is_error or entry.shown is not None
            yield at, call.ended(redactor.text(message.content), failed=failed)
        elif message.role == "assistant" and entry is not last:
            yield at, redactor.text(message.content if entry.shown is None else entry.shown)
            for call_id, call in _asked(exchange, entry, redactor):
                begun[call_id] = call
                yield at, call


def _asked(exchange: Exchange, reply: Entry, redactor: Replacing) -> Iterator[tuple[str, OwnCall]]:
    """Its calls of our own tools, by the model's ids."""
    others = theirs(exchange.inbound)
    for written, kept in zip(reply.message.tool_calls, reply.calls, strict=False):
        if written.name not in others:
            call = presentable(redactor, kept.call or ToolCall(written.id, written.name, {}))
            yield written.id, own_call(kept.iteration, call)
