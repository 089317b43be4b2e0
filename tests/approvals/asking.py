"""Approvals over a journal, in memory unless one is given, and a channel with somebody behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

import trio

from hookgate.approvals.binding import NotApproved, Permit, Subject
from hookgate.approvals.grants import Parts
from hookgate.approvals.people import People
from hookgate.approvals.requests import Approvals
from hookgate.approvals.rules import Rule
from hookgate.approvals.surroundings import Surroundings
from hookgate.protocol.approval import ApprovalRequest, Decide, Decision, Outcome, Wish
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.chat.channel import PRESENT, UNLIMITED, ChannelLimits, ChannelState
from hookgate.protocol.events.payloads import Payload
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Claim, Conversation
from hookgate.protocol.values import Step, ToolCall
from hookgate.store.memory import MemoryJournal

STEP = Step("main", "t", Inbound(Chat("telegram", "42", sender="boss"), "x"), model="openai/gpt")
CALL = ToolCall("c1", "bash", {"command": "ls"})
YES, NO = Decision(True, "boss"), Decision(False, "boss", "not today")
SESSION = Decision(True, "boss", grant="session")


@dataclass
class Person:
    """A channel with somebody behind it who answers each request in turn; with no answer left they stay silent."""

    answers: list[Decision | Callable[[ApprovalRequest], Decision]] = field(default_factory=list)
    requests: list[ApprovalRequest] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    asked: trio.Event = field(default_factory=trio.Event)
    name: str = "telegram"
    limits: ChannelLimits = UNLIMITED
    state: ChannelState = PRESENT

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        self.requests.append(request)
        self.asked.set()
        if self.answers:
            answer = self.answers.pop(0)
            self.outcomes.append(await decide(answer(request) if callable(answer) else answer))

    async def send(self, outbound: Outbound, key: str) -> str:
        return ""

    def stream(self, chat: Chat, text: str) -> None: ...

    def end_stream(self, chat: Chat) -> None: ...

    def restart_stream(self, chat: Chat) -> None: ...


class House:
    """Approvals with all that they reach. Each call that is settled is a call of its own."""

    def __init__(
        self,
        *rules: Rule,
        redactor: Redactor | None = None,
        clock: Callable[[], float] = lambda: 1000.0,
        journal: Journal | None = None,
        people: People | None = None,
        channels: Sequence[Person] = (),
        scripts: Callable[[ToolCall], str] | None = None,
        parts: Parts = lambda _call: None,
        directory: str = "/work",
    ) -> None:
        self.told: list[Payload] = []
        self.journal = journal or MemoryJournal(clock)
        by_name = {channel.name: channel for channel in channels}
        self.steps: list[Step | None] = []

        def emit(payload: Payload, step: Step | None) -> None:
            self.told.append(payload)
            self.steps.append(step)

        around = Surroundings(emit, redactor, directory, clock, by_name, parts, scripts)
        self.approvals = Approvals(rules, self.journal, around, people)
        self._claims: dict[str, Claim] = {}
        self._numbers = count(1)

    async def subject(self, step: Step = STEP, call: ToolCall = CALL) -> Subject:
        key = step.session_key
        if key not in self._claims:
            claim = await self.journal.work.claim("gateway", 60.0, Conversation(key, "main"))
            assert claim is not None
            self._claims[key] = claim
        return Subject(self._claims[key], step, call, f"{next(self._numbers)}")

    async def settle(
        self, wishes: Sequence[Wish], person: Person, step: Step = STEP, call: ToolCall = CALL
    ) -> NotApproved | Permit:
        return await self.approvals.settle(await self.subject(step, call), wishes, person)

    async def allowed(self, person: Person, step: Step = STEP, call: ToolCall = CALL) -> bool:
        """Whether the call may run, by the rules."""
        return isinstance(await self.settle(self.approvals.wishes(step, call), person, step, call), Permit)

    async def told_in(self, channel: str) -> list[str]:
        """What has come into the outbox for its chats since the last look."""
        told = list[str]()
        while rows := await self.journal.posting.outgoing(channel):
            for row in rows:
                assert row.outbound.kind == "notice"
                told.append(f"{row.outbound.chat.session_key} {row.outbound.text}")
                await self.journal.posting.sent(row.id, "")
        return told
