"""An answer on its way to one client: as it is written, for as long as the client may have it and no person is waited
for too long.

Knows no wire: whoever speaks one says how pieces and ends read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import field

import trio

from hookgate.channels.openai.answers.answer import BETWEEN, PARAGRAPH, Answer, Part, Piece, text_of
from hookgate.channels.openai.answers.calls import OwnCall
from hookgate.channels.openai.answers.past import replay
from hookgate.channels.openai.asking import PlacedRequest
from hookgate.channels.openai.channel import OpenAIChannel
from hookgate.channels.openai.errors import ApiError, busy, turn_failed
from hookgate.channels.openai.identity import call_id
from hookgate.channels.openai.settings import OpenAIParts, OpenAISettings
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.journal.decisions import Standing
from hookgate.protocol.journal.values import Accepted
from hookgate.protocol.journal.views import Exchange
from hookgate.protocol.values import ProposedCall, Usage

KEEP_ALIVE_S = 15.0
FIRST_LOOK_S = 1.0
"""After this the journal is asked what has become of what no turn has taken."""
CHANGED = "what was sent of it was taken back: the same request with its Idempotency-Key again gets the whole answer"

TOO_MUCH = "that was too much at once: send it again in a while"

Tell = Callable[[Piece], Awaitable[None]]
"""Takes the next piece of text, or a call as it is by now; an empty one is a sign of life."""


@dataclass(frozen=True, slots=True)
class Whole:
    """All that a client reads of its request, and why it ends. `calls`: those that are its own to run."""

    parts: tuple[Part, ...]
    reason: str
    calls: tuple[ProposedCall, ...] = ()
    usage: Usage | None = None

    @property
    def text(self) -> str:
        return text_of(self.parts)


@dataclass
class _Told:
    """`parts`: whole ones; `begun`: something of this paragraph was told, `any` of another one before."""

    tell: Tell
    parts: list[Part] = field(default_factory=list[Part])
    begun: bool = False
    any: bool = False

    async def pieces(self, pieces: Iterable[Piece]) -> None:
        for it in _joined(pieces):
            if it == PARAGRAPH:
                self.begun = False
            elif isinstance(it, OwnCall):
                await self.tell(it)
            else:
                text = f"{BETWEEN}{it}" if self.any and not self.begun else it
                self.begun = self.any = True
                await self.tell(text)

    async def line(self, text: str) -> None:
        await self.pieces((PARAGRAPH, text))

    def end(self, *parts: Part) -> None:
        self.parts.extend(parts)
        self.begun = False


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """What was written meanwhile of one paragraph is one piece."""
    text = ""
    for it in pieces:
        if isinstance(it, str) and it != PARAGRAPH:
            text += it
            continue
        if text:
            yield text
        text = ""
        yield it
    if text:
        yield text


class Answering:
    def __init__(self, settings: OpenAISettings, parts: OpenAIParts, channel: OpenAIChannel) -> None:
        self._settings, self._parts, self._channel = settings, parts, channel

    async def answer(self, asked: PlacedRequest, accepted: Accepted, tell: Tell) -> Whole:
        """What a person was waited for too long for comes before what is asked next; a command may be what it waits
        for, so that acts first. Raises ApiError."""
        told, chat = _Told(tell), asked.place.chat
        with self._channel.reading(chat, asked.place.message) as own:
            if accepted.known:
                await self._look(accepted, own, whole=True)
            deferred = await self._deferred(asked)
            if deferred is None:
                ended = await self._read(asked, (accepted, own), told)
            elif asked.inbound.text.startswith("/"):
                await self._read(asked, (accepted, own), told)
                ended = await self._read_deferred(asked, deferred, told)
            elif ended := await self._read_deferred(asked, deferred, told):
                ended = await self._read(asked, (accepted, own), told)
            calls = tuple(replace(it, id=call_id(chat, it.id)) for it in own.calls) if ended else ()
            reason = own.finish_reason if ended else "stop"
            usage = await self._spent(accepted) if accepted.known and ended else own.usage
            return Whole(tuple(told.parts), reason, calls, usage)

    async def _read(
        self, asked: PlacedRequest, its: tuple[Accepted, Answer], told: _Told, *, put_off: bool = False
    ) -> bool:
        """`put_off`: without what its client has read before. False: it waits for a person still. Raises ApiError."""
        (accepted, answer), look_s, until = its, FIRST_LOOK_S, None
        at = answer.unread if put_off else 0
        while True:
            if pieces := answer.pieces[at:]:
                at = len(answer.pieces)
                await told.pieces(pieces)
                continue
            if answer.over:
                break
            waits = self._waits(asked, answer)
            until = (until or trio.current_time() + self._settings.approval_wait_s) if waits else None
            if until is not None and trio.current_time() >= until and (line := await self._says(asked, waits)):
                if at < len(answer.pieces):
                    continue
                told.end(*(answer.rest if put_off else answer.parts))
                answer.put_off()
                await self._defer(asked, accepted)
                await told.line(line)
                told.end(line)
                return False
            with trio.move_on_at(min(trio.current_time() + look_s, until or trio.current_time() + look_s)) as quiet:
                await answer.news()
            if quiet.cancelled_caught or answer.missed:
                look_s = FIRST_LOOK_S if answer.missed else min(look_s * 2, KEEP_ALIVE_S)
                if not answer.begun:
                    await self._look(accepted, answer, whole=True)
                await told.tell("")
        await self._check(accepted, answer)
        told.end(*(answer.rest if put_off else answer.parts))
        return True

    async def _check(self, accepted: Accepted, answer: Answer) -> None:
        """Raises ApiError where it is no answer."""
        if answer.failure:
            raise turn_failed(answer.failure)
        if not answer.begun:
            found = await self._exchange(accepted)
            if found is not None and found.outcome == "refused":
                raise busy(answer.text or TOO_MUCH)

    # --- what the journal knows ---

    async def _exchange(self, accepted: Accepted) -> Exchange | None:
        said = await self._parts.journal.chats.said(accepted.conversation)
        return next((it for it in said if it.message == accepted.id), None)

    async def _spent(self, accepted: Accepted) -> Usage | None:
        """Before a crash too, whoever has asked then."""
        found = await self._exchange(accepted)
        return None if found is None else found.usage

    async def _look(self, accepted: Accepted, answer: Answer, *, whole: bool) -> None:
        """Where it was answered before, or by nobody who runs now, that is the answer."""
        if answer.begun or answer.over:
            return
        found = await self._exchange(accepted)
        if found is not None and found.outcome is not None:
            await replay(answer, found, self._parts, whole=whole)

    # --- people ---

    def _waits(self, asked: PlacedRequest, answer: Answer) -> str:
        """The request that its turn, or the one before it, waits for; empty: for none."""
        ahead = self._channel.running(asked.place.chat) if not answer.begun else None
        return answer.waits_for or (ahead.waits_for if ahead is not None else "")

    async def _says(self, asked: PlacedRequest, request: str) -> str:
        standing = await self._parts.journal.decisions.standing(request)
        return _waiting(asked, standing) if standing is not None and standing.state == "open" else ""

    async def _deferred(self, asked: PlacedRequest) -> Exchange | None:
        """What this session's client was told would come later."""
        if not asked.exchanges:
            return None
        message = await self._parts.journal.holds.state(self._channel.name, _deferred_key(asked))
        return next((it for it in asked.exchanges if message and it.message == message and it.inbound), None)

    async def _defer(self, asked: PlacedRequest, accepted: Accepted | None) -> None:
        message = "" if accepted is None else accepted.id
        await self._parts.journal.holds.keep_state(self._channel.name, _deferred_key(asked), message)

    async def _read_deferred(self, asked: PlacedRequest, it: Exchange, told: _Told) -> bool:
        chat = asked.place.chat
        assert it.inbound is not None  # noqa: S101 - as it was found
        conversation = await self._parts.journal.intake.conversation(chat.session_key, self._parts.agent(chat))
        accepted = Accepted(it.message, conversation, known=True)
        with self._channel.reading(chat, it.inbound.message_id) as answer:
            await self._look(accepted, answer, whole=False)
            try:
                ended = await self._read(asked, (accepted, answer), told, put_off=True)
            except ApiError as error:
                if not answer.failure:
                    raise
                await told.line(error.message)
                told.end(error.message)
                ended = True
        if ended:
            await self._defer(asked, None)
        return ended


def _deferred_key(asked: PlacedRequest) -> str:
    return f"deferred {asked.place.chat.session_key}"


def _waiting(asked: PlacedRequest, standing: Standing) -> str:
    its, chat = standing.request, asked.place.chat
    others = sorted({it.channel for it in its.places if it.session_key != chat.session_key})
    here = f"as the next message of the session {asked.place.session!r} (X-Hookgate-Session)"
    asks_here = any(it.session_key == chat.session_key for it in its.places)
    where = " or ".join((*((here,) if asks_here else ()), *(f"in {it}" for it in others)))
    return (
        f"{its.shown.headline} It waits for a person: /pending {its.id[:8]} shows all of it, then "
        f"/approve {its.id[:8]} or /deny {its.id[:8]}, {where}. "
        "The answer comes with the next message of this session."
    )
