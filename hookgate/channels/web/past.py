"""A stored conversation as the page shows it again: what people wrote, what they were sent, what tools did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from urllib.parse import quote

from hookgate.channels.web.markdown import to_html
from hookgate.channels.web.shapes import Role, ShownMedia, ShownMessage, ShownTool, ShownTrace, ToolState
from hookgate.protocol.chat import Outbound, OutboundKind
from hookgate.protocol.chat.media import MediaReference, media_reference
from hookgate.protocol.codec import encode, rfc3339
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.hook.judgement import Judgement
from hookgate.protocol.interfaces import Replacing
from hookgate.protocol.journal.values import CallRecord, Entry, Row
from hookgate.protocol.journal.views import Exchange
from hookgate.protocol.values import JsonObject

ROLES: Mapping[OutboundKind, Role] = {"answer": "assistant", "output": "output", "notice": "notice", "error": "error"}
MAX_SUMMARY = 200
MAX_SHORT = 1000
"""Characters of a conversation."""
ONE_STEP_S = 0.1
"""What is stored at once differs by less."""
Known = tuple[tuple[ShownTool, ...], tuple[ShownTrace, ...]]
Told = Mapping[str, Known]
Judged = Mapping[str, tuple[Judgement, ...]]
"""What hooks said, by the call that it was about."""


def is_short(exchanges: Iterable[Exchange]) -> bool:
    """Whether it is rendered in less than a millisecond or two."""
    said = (entry.message.content for exchange in exchanges for _, entry in exchange.entries)
    sent = (row.outbound.text for exchange in exchanges for _, row in exchange.rows)
    return sum(map(len, chain(said, sent))) <= MAX_SHORT


def messages(
    exchanges: Iterable[Exchange], told: Told, redactor: Replacing, judged: Judged
) -> Iterator[ShownMessage]:
    """Of those that have begun; `told`: what is known besides of the last answers, `judged`: of others. Costs as much
    as their Markdown, so it is for a thread."""
    for exchange in exchanges:
        yield from asked([exchange])
        answers = [(at, row) for at, row in exchange.rows if row.outbound.kind == "answer"]
        written = answers or exchange.entries
        answered_at = written[-1][0] if written else exchange.at
        # Cards are shown as long as they wait, and beside messages.
        rows = [(at, it) for at, it in exchange.rows if it.outbound.kind != "answer" and not it.outbound.request]
        before = [it for it in rows if it[0] < answered_at - ONE_STEP_S]
        after = rows[len(before) :]
        yield from (sent(row.id, row.outbound, at, _answered(exchange)) for at, row in before)
        known = told.get(_answered(exchange)) or (
            tuple(_tools(exchange, redactor)),
            tuple(_trace(exchange, redactor, judged)),
        )
        if answer := _answer(exchange, answers, known, redactor):
            yield replace(answer, at=rfc3339(answered_at))
        yield from (sent(row.id, row.outbound, at, _answered(exchange)) for at, row in after)


def asked(exchanges: Iterable[Exchange]) -> Iterator[ShownMessage]:
    """What people wrote, as far as it was taken up."""
    for it in exchanges:
        if (said := it.inbound) is not None and it.begun and said.message_id:
            yield ShownMessage(said.message_id, "user", said.text, "", rfc3339(it.at), media(said.media))


def _answered(exchange: Exchange) -> str:
    return exchange.inbound.message_id if exchange.inbound is not None else ""


def _answer(
    exchange: Exchange, answers: list[tuple[float, Row]], known: Known, redactor: Replacing
) -> ShownMessage | None:
    """One message, with what was said between its tools; where nothing was sent, what was read of it."""
    said = [entry for _, entry in exchange.entries if entry.message.role == "assistant"]
    failed = any(row.outbound.kind == "error" for _, row in exchange.rows)
    if (answers or (exchange.outcome == "answered" and not failed)) and said and not said[-1].calls:
        # What was sent counts, and where nothing was, a hook has kept it back.
        said = said[:-1]
    texts = [redactor.text(entry.message.content if entry.shown is None else entry.shown) for entry in said]
    texts += [row.outbound.text for _, row in answers]
    text = "\n\n".join(it.strip() for it in texts if it.strip())
    tools, trace = known
    if not text and not tools:
        return None
    id_ = answers[-1][1].id if answers else f"{exchange.message}:read"
    files = media(it for _, row in answers for it in row.outbound.media)
    return ShownMessage(id_, "assistant", text, html(text), "", files, tools, trace, _answered(exchange))


def _tools(exchange: Exchange, redactor: Replacing) -> Iterator[ShownTool]:
    results = {entry.message.tool_call_id: entry for _, entry in exchange.entries if entry.message.role == "tool"}
    for _, entry in exchange.entries:
        for written, record in zip(entry.message.tool_calls, entry.calls, strict=False):
            result = results.get(written.id)
            if result is not None and result.shown is not None:
                yield ShownTool(written.id, written.name, "denied", redactor.text(result.shown)[:MAX_SUMMARY])
                continue
            state, files = _state(result), media(result.message.media) if result is not None else ()
            yield ShownTool(written.id, written.name, state, _summary(record, redactor), files)


def _trace(exchange: Exchange, redactor: Replacing, judged: Judged) -> Iterator[ShownTrace]:
    """How long each took is in no record."""
    for _, entry in exchange.entries:
        for written, record in zip(entry.message.tool_calls, entry.calls, strict=False):
            for it in judged.get(record.id, ()):
                action = f"failed, {it.action}" if it.failed else it.action
                yield ShownTrace(it.hook, it.stage, action, redactor.text(it.reason), 0.0, written.name)


def _state(result: Entry | None) -> ToolState:
    return "running" if result is None else "failed" if result.message.is_error else "done"


def _summary(record: CallRecord, redactor: Replacing) -> str:
    return summary(record.call.arguments, redactor) if record.call is not None else ""


def summary(arguments: JsonObject, redactor: Replacing | None = None) -> str:
    text = encode(arguments).decode("utf-8", "replace")
    text = text if redactor is None else redactor.text(text)
    return text if len(text) <= MAX_SUMMARY else f"{text[:MAX_SUMMARY]}…"


def sent(id_: str, outbound: Outbound, at: float, answers: str) -> ShownMessage:
    # Whatever no model wrote has its lines as they are.
    rendered = html(outbound.text) if outbound.kind == "answer" else ""
    role, files = ROLES[outbound.kind], media(outbound.media)
    return ShownMessage(id_, role, outbound.text, rendered, rfc3339(at), files, answers=answers)


def media(references: Iterable[str]) -> tuple[ShownMedia, ...]:
    """Files of the store, and links; whatever else a tool sends along, the page shows no part of."""
    return tuple(shown for it in references if (shown := _medium(it)) is not None)


def _medium(address: str) -> ShownMedia | None:
    if address.startswith(("https://", "http://")):
        return ShownMedia(address, "", address, address)
    reference = media_reference(address)
    return None if reference is None else file(reference)


def file(reference: MediaReference) -> ShownMedia:
    name = f"?name={quote(reference.name)}" if reference.name else ""
    return ShownMedia(str(reference), reference.type, f"/media/{reference.digest}{name}", reference.name)


def html(text: str) -> str:
    return _kept_html(text) if len(text) <= MAX_KEPT_CHARS else to_html(text)


MAX_KEPT_CHARS = 10_000


@lru_cache(maxsize=500)
def _kept_html(text: str) -> str:
    return to_html(text)
