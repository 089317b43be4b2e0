"""OpenAI's API as a channel: what a chat is sent, and what happens there, becomes the answer that its client reads.

Knows no request: whoever waits for an answer reads along, and whoever comes later finds it in the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from hookgate.channels.openai.answers.answer import Answer
from hookgate.channels.openai.answers.calls import own_call, own_call_ended, theirs
from hookgate.channels.openai.files import with_files_named
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import PRESENT, UNLIMITED, unwatched
from hookgate.protocol.chat.media import MediaStore
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import CallEnded, ReplyEnded
from hookgate.protocol.events.payloads import ApprovalDecided, ApprovalRequested, TurnEnd, TurnStart
from hookgate.protocol.values import Step

OBSERVED = tuple(it.kind for it in (TurnStart, TurnEnd, ReplyEnded, CallEnded, ApprovalRequested, ApprovalDecided))


class OpenAIChannel:
    """`observed`: names of the events that `hear` wants."""

    limits = UNLIMITED
    state = PRESENT
    observed = OBSERVED

    def __init__(self, name: str, media: MediaStore) -> None:
        self.name, self._media, self.watching = name, media, unwatched
        # By the id of the message that each answers, and by session while its turn runs.
        self._answers: dict[str, Answer] = {}
        self._running: dict[str, Answer] = {}
        self._waiting: dict[str, Answer] = {}

    @contextmanager
    def reading(self, chat: Chat, message: str) -> Generator[Answer]:
        """The answer to this message of this chat, as far as it has come."""
        key = _key(chat, message)
        answer = self._answers.setdefault(key, Answer())
        answer.readers += 1
        try:
            with self.watching(chat.session_key):
                yield answer
        finally:
            answer.readers -= 1
            self._let_go(key)

    def answer(self, chat: Chat, message: str) -> Answer | None:
        return self._answers.get(_key(chat, message))

    def running(self, chat: Chat) -> Answer | None:
        """The one whose turn is at work there."""
        return self._running.get(chat.session_key)

    # --- what the gateway sends ---

    async def send(self, outbound: Outbound, key: str) -> str:
        """It is in the journal: whoever waits for it reads it."""
        answer = self._answers.get(_key(outbound.chat, outbound.in_reply_to))
        if answer is not None and answer.missed:
            answer.stir()
        elif answer is not None and not outbound.request:
            answer.take(await with_files_named(outbound, self._media))
        return key

    def stream(self, chat: Chat, text: str) -> None:
        self._at_work(chat, lambda it: it.write(text))

    def end_stream(self, chat: Chat) -> None:
        """What it said is whole with the event that says so."""

    def restart_stream(self, chat: Chat) -> None:
        self._at_work(chat, Answer.restart)

    def _at_work(self, chat: Chat, do: Callable[[Answer], None]) -> None:
        if (answer := self._running.get(chat.session_key)) is not None and not answer.missed:
            do(answer)

    # --- what happens ---

    def hear(self, event: Event) -> None:
        step, payload = event.step, event.payload
        if isinstance(payload, ApprovalDecided) and (waiting := self._waiting.pop(payload.id, None)) is not None:
            # Wherever that was said.
            waiting.wait_for("")
        if step is None or step.chat.channel != self.name:
            return
        session, key = step.chat.session_key, _key(step.chat, step.inbound.message_id)
        # Of what another agent does for the turn it counts what it costs, and who has to be asked.
        of_task = bool(step.parent_turn_id)
        if isinstance(payload, TurnStart) and not of_task:
            self._begin(session, self._answers.setdefault(key, Answer()), goes_on=step.resumed)
        answer = self._running.get(session)
        match payload:
            case ReplyEnded() if answer is not None and not answer.missed:
                _end_reply(answer, payload, step)
            case CallEnded() if answer is not None and not (answer.missed or of_task or step.extension):
                if payload.call.name not in theirs(step.inbound):
                    answer.show(own_call_ended(step.iteration, payload))
            case ApprovalRequested() if answer is not None:
                self._waiting[payload.id] = answer
                answer.wait_for(payload.id)
            case TurnEnd() if answer is not None and not of_task:
                del self._running[session]
                self._waiting = {request: it for request, it in self._waiting.items() if it is not answer}
                answer.end_turn(completed=payload.Status == "completed")
                self._let_go(key)
            case _:
                pass

    def _begin(self, session: str, answer: Answer, *, goes_on: bool) -> None:
        if goes_on:
            # Of what was said and done before a crash nothing is told: all of it is read once it is whole.
            answer.miss()
            answer.running = True
        elif answer.missed:
            return
        else:
            answer.begin()
        self._running[session] = answer

    def missed(self, session: str) -> None:
        """Whoever reads along is told the rest from the journal."""
        if (answer := self._running.pop(session, None)) is not None:
            self._waiting = {request: it for request, it in self._waiting.items() if it is not answer}
            answer.miss()
            for key in [key for key, it in self._answers.items() if it is answer]:
                self._let_go(key)

    def _let_go(self, key: str) -> None:
        answer = self._answers.get(key)
        if answer is not None and not (answer.readers or answer.running):
            del self._answers[key]


def _key(chat: Chat, message: str) -> str:
    return f"{chat.session_key} {message}"


def _end_reply(answer: Answer, ended: ReplyEnded, step: Step) -> None:
    if ended.usage is not None:
        answer.count(ended.usage, cut=ended.stop == "length")
    if ended.stop == "tool_use" and not step.parent_turn_id:
        answer.end_part(ended.visible or "")
        for call in ended.asked:
            if call.name not in theirs(step.inbound):
                answer.show(own_call(step.iteration, call))
