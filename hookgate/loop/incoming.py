"""A message before it joins the conversation: hooks change it, answer it themselves, or keep it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookgate.hooks.verdicts import Dropped, Replied
from hookgate.protocol.events.inside import Prompted, ReplyEnded, StepBegan
from hookgate.protocol.journal.values import Draft
from hookgate.protocol.values import Inbound, Message, Outbound

if TYPE_CHECKING:
    from hookgate.loop.turn import Turn


async def let_in(turn: Turn) -> Inbound | None:
    """The message as hooks leave it, which is the turn's first stored step: nobody is asked about it again. None
    where they have ended the turn. Raises TurnAborted, and the message is in no conversation then."""
    match await turn.agent.gate.on_message(turn.step(0)):
        case Inbound() as judged:
            await turn.transcript.append(Draft(Message("user", judged.text, media=judged.media)))
            return judged
        case Replied() as replied:
            await _reply(turn, replied)
        case Dropped(tell=tell):
            await turn.transcript.end("dropped", outbox=(turn.line(tell, "notice"),) if tell else ())
    return None


async def _reply(turn: Turn, replied: Replied) -> None:
    """A hook has answered: what was said and the answer are in the conversation, though no model was asked."""
    said, step = turn.inbound, turn.step(0)
    turn.emit(Prompted(said), step)
    turn.emit(StepBegan(1), step)
    judged = await turn.agent.gate.before_send(step, Outbound(said.chat, replied.text, replied.media))
    dropped = isinstance(judged, Dropped)
    messages = Message("user", said.text, media=said.media), Message("assistant", replied.text)
    told = (turn.line(judged.tell, "notice"),) if dropped and judged.tell else ()
    await turn.transcript.end("answered", *messages, outbox=told if dropped else (judged,))
    turn.progress.answer = "" if dropped else judged.text
    turn.emit(ReplyEnded(replied.text, None if dropped else judged.text, (), "end"), step)
