"""A message before it joins the conversation: hooks change it, answer it themselves, or keep it out."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.hooks.verdicts import Dropped, Replied
from hookgate.loop.attachments import fetch, kept
from hookgate.loop.calls.client_calls import brought, entering
from hookgate.loop.turn_state import Turn
from hookgate.protocol.chat import Inbound, Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.events.inside import Prompted, ReplyEnded, StepBegan
from hookgate.protocol.events.payloads import SteeringInjected
from hookgate.protocol.journal.replies import open_calls
from hookgate.protocol.journal.values import Draft
from hookgate.protocol.values import Message, Step

TOO_LATE = "No call waits for these results any more."
DROPPED = "a hook dropped it"


async def let_in(turn: Turn) -> Inbound | None:
    """The message as hooks leave it, which is the turn's first stored step: nobody is asked about it again. None
    where they have ended the turn. Raises TurnAborted, and the message is in no conversation then."""
    if turn.within is not None:
        # Nobody has said it in a chat.
        await turn.transcript.append(Draft(Message("user", turn.inbound.text)))
        return turn.inbound
    said, at = turn.inbound, -1
    if said.client is not None and not (said.text or said.media):
        # Nothing is said behind what it brings.
        messages = brought(turn.transcript, said)
        if not messages:
            await turn.transcript.end("dropped", outbox=(turn.line(TOO_LATE, "error"),), why=TOO_LATE)
            return None
        if all(it.role == "tool" for it in messages):
            await turn.transcript.append(*entering(turn.transcript, said))
            return said
        at = _last_word(messages)
        said = replace(said, text=messages[at].content, media=messages[at].media)
    await fetch(said.media, turn.agent.around)
    match await turn.agent.gate.on_message(replace(turn.step(0), inbound=said), turn.answers_about()):
        case Inbound() as judged:
            await _take_back(turn)
            files = await kept(judged.media, turn.agent.around, judged.chat)
            judged = replace(judged, media=files)
            if at >= 0:
                judged = _put_back(judged, brought(turn.transcript, judged), at)
            await turn.transcript.append(*entering(turn.transcript, judged))
            return judged
        case Replied() as replied:
            await _reply(turn, replied)
        case Dropped(tell=tell):
            told = (turn.line(tell, "notice"),) if tell else ()
            await turn.transcript.end("dropped", outbox=told, why=tell or DROPPED)
    return None


def _last_word(messages: Sequence[Message]) -> int:
    """Where somebody has spoken last: in a history without any, what it ends with."""
    return max((n for n, it in enumerate(messages) if it.role == "user"), default=len(messages) - 1)


def _put_back(judged: Inbound, messages: Sequence[Message], at: int) -> Inbound:
    """The word that was judged stands where it stood in what was brought."""
    assert judged.client is not None  # noqa: S101 - it has brought that
    word = replace(messages[at], content=judged.text, media=judged.media)
    client = replace(judged.client, messages=(*messages[:at], word, *messages[at + 1 :]))
    return replace(judged, text="", media=(), client=client)


async def _reply(turn: Turn, replied: Replied) -> None:
    """A hook has answered: what was said and the answer are in the conversation, though no model was asked."""
    said, step = turn.inbound, turn.step(0)
    turn.emit(Prompted(said), step)
    turn.emit(StepBegan(1), step)
    await _take_back(turn)
    reply = Outbound(said.chat, replied.text, replied.media)
    judged = await turn.sends(step, reply, turn.answers_about())
    dropped = isinstance(judged, Dropped)
    messages = (*(it.message for it in entering(turn.transcript, said)), Message("assistant", replied.text))
    closed = {call.id for call in open_calls(turn.transcript.entries)}
    told = (turn.line(judged.tell, "notice"),) if dropped and judged.tell else ()
    outbox = told if dropped else (judged,)
    await turn.end(*messages, outbox=outbox, handed_over=closed)
    turn.progress.answer = "" if dropped else judged.text
    at = turn.transcript.entries[-1].at
    turn.emit(ReplyEnded(replied.text, None if dropped else judged.text, (), "end", at=at), step)


async def _take_back(turn: Turn) -> None:
    """What the message stands instead of."""
    if turn.inbound.replaces:
        await turn.transcript.rewind(turn.inbound.replaces)


async def take_news(turn: Turn, step: Step) -> None:
    """What came while the turn ran joins it: reports of tool providers, and what people said. Raises TurnAborted, and
    the message is still to be taken."""
    if texts := tuple(turn.carried.news):
        await turn.transcript.append(*(Draft(Message("user", text)) for text in texts))
        turn.carried.news.clear()
        turn.emit(SteeringInjected(len(texts), sum(map(len, texts))), step)
    joined: list[str] = []
    while turn.steering:
        said, accepted = turn.steering[0].inbound, turn.steering[0].accepted
        assert accepted is not None  # noqa: S101 - nothing joins that is not stored
        await fetch(said.media, turn.agent.around)
        asked = turn.answers_about(accepted.id)
        judged = await turn.agent.gate.on_message(replace(step, inbound=said), asked, steers=True)
        turn.steering.popleft()
        if isinstance(judged, Inbound):
            files = await kept(judged.media, turn.agent.around, said.chat)
            await turn.transcript.join(accepted.id, Message("user", judged.text, media=files))
            joined.append(judged.text)
            continue
        if isinstance(judged, Replied):
            reply = Outbound(said.chat, judged.text, judged.media)
            judged = await turn.sends(replace(step, inbound=said), reply, asked)
        # It joins nothing; the chat reads why, or its answer.
        if isinstance(judged, Dropped):
            outcome, outbox = "dropped", (turn.line(judged.tell, "notice"),) if judged.tell else ()
        else:
            outcome, outbox = "answered", (judged,)
        await turn.journal.intake.settle(accepted.id, outcome, outbox)
        await turn.flush()
    if joined:
        turn.emit(SteeringInjected(len(joined), sum(map(len, joined))), step)
