"""Messages of programs: taken in, and waited for."""

from __future__ import annotations

from typing import Annotated, Literal

import trio
from pydantic import Field

from hookgate.assembly.app import Runtime
from hookgate.channels.live.channel import LiveChannel
from hookgate.channels.programs import NAME, ProgramChannel
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.approval import Voter
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound, OutboundKind
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Outcome
from hookgate.protocol.journal.views import Exchange, Whereabouts

OUTCOMES: frozenset[Outcome] = frozenset(("answered", "refused", "dropped", "dead"))
LONGEST_WAIT_S = 55.0
"""Whatever stands between a program and the gateway cuts what says nothing for a minute."""
LOOK_S = 5.0
"""Should something have happened that nobody told of."""
Text = Annotated[str, Field(min_length=1, max_length=200_000)]
Thread = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{0,64}$")]
RepeatKey = Annotated[str, Field(max_length=200)]
Wait = Annotated[float, Field(ge=0, le=LONGEST_WAIT_S)]


@dataclass(frozen=True)
class Sent:
    """It is stored. `known`: it had been stored before, under the same key."""

    message: str
    session: str
    known: bool


@dataclass(frozen=True)
class Line:
    """Something that was said: the answer, what a tool shows besides, hookgate's own word, or what went wrong."""

    kind: OutboundKind
    text: str
    media: tuple[str, ...] = ()


@dataclass(frozen=True)
class Progress:
    """`state`: `queued`, `running`, `waiting` (for a person), else its end: `answered`, `refused`, `dropped`, `dead`;
    `ended`: it is one of these. `text`: the answer, as far as it is there; `said`: all that was said, in order;
    `why`: of an end that is none of the model's. `requests`: what people have to decide before it goes on."""

    message: str
    session: str
    state: Literal["queued", "running", "waiting", Outcome]
    ended: bool
    text: str
    said: tuple[Line, ...]
    why: str
    requests: tuple[str, ...]


async def send(runtime: Runtime, caller: Voter, text: Text, session: Thread = "", key: RepeatKey = "") -> Sent:
    """Say something to the agent; answered as soon as it is stored, long before it is answered.

    `session` names a conversation of the caller's own. A message with the same `key` in the same session is taken in
    once, so that whoever got no answer can say it again.
    """
    chat = Chat(NAME, caller.id, caller.id, thread=session)
    try:
        accepted = await runtime.gateway.receive(Inbound(chat, text, (), key))
    except StoreFailed:
        raise OperationRefused("it was not stored: say it again later, with the same key") from None
    return Sent(accepted.id, accepted.conversation.session, accepted.known)


async def wait(
    runtime: Runtime, caller: Voter | None, message: str, timeout_s: Wait = 30.0, asked: bool = False
) -> Progress:
    """How far a message is, once it has come to its end, or after so many seconds. `asked`: also as soon as it waits
    for a person. Any number of programs may wait for the same one; where it has not ended, ask again."""
    found = await _whereabouts(runtime.journal, message, caller)
    with _channel(runtime).bell(found.conversation.session) as bell, trio.move_on_after(timeout_s):
        while not (_end(found) or (asked and found.state == "waiting")):
            with trio.move_on_after(LOOK_S):
                await bell.wait()
            found = await _whereabouts(runtime.journal, message, caller)
    return await _progress(runtime, found)


def _channel(runtime: Runtime) -> ProgramChannel:
    channel = runtime.channels[NAME]
    channel = channel.here if isinstance(channel, LiveChannel) else channel
    assert isinstance(channel, ProgramChannel)  # noqa: S101 - the configuration lets nothing else be called so
    return channel


async def _whereabouts(journal: Journal, message: str, caller: Voter | None) -> Whereabouts:
    """`caller` None: any message is theirs to see."""
    found = await journal.books.where(message)
    own = "" if caller is None else Chat(NAME, caller.id).session_key
    for it in found:
        session = it.conversation.session
        if it.message == message and (not own or session == own or session.startswith(f"{own}:")):
            return it
    raise OperationRefused(f"there is no message {message[:64]!r} of yours")


def _end(found: Whereabouts) -> Outcome | None:
    """What a dead letter came to counts no more once it is tried again."""
    if found.state not in ("sending", "delivered", *OUTCOMES):
        return None
    return next((it for step in reversed(found.passages) for it in OUTCOMES if it == step.what), None)


async def _progress(runtime: Runtime, found: Whereabouts) -> Progress:
    end, its = _end(found), found.conversation
    exchanges = await runtime.journal.chats.said(its)
    exchange = next((it for it in exchanges if it.message == found.message), None)
    said = _said(runtime, exchange) if exchange is not None else ()
    requests = await runtime.agent.approvals.pending(its.session) if end is None else ()
    state = end or ("waiting" if found.state == "waiting" else "running" if found.state == "running" else "queued")
    return Progress(
        message=found.message,
        session=its.session,
        state=state,
        ended=end is not None,
        text="\n\n".join(line.text for line in said if line.kind == "answer"),
        said=said,
        why=next((step.why for step in found.passages if step.what == end), ""),
        requests=tuple(it.id for it in requests if it.message == found.message),
    )


def _said(runtime: Runtime, exchange: Exchange) -> tuple[Line, ...]:
    """Without cards, of which `requests` tell."""
    hidden = runtime.agent.around.redactor.text
    rows = (row.outbound for _at, row in exchange.rows)
    return tuple(Line(it.kind, hidden(it.text), it.media) for it in rows if not it.request)
