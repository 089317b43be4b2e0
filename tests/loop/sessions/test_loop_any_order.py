"""Whatever people do to a conversation in whatever order, and wherever hookgate dies and is started again: what they
must see, and what must never happen twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import trio
import trio.testing
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from hookgate.loop.gateway import Gateway
from hookgate.loop.model.compaction import HEADING, SUMMARY_TOKENS
from hookgate.loop.slots import Shared
from hookgate.protocol.chat import Inbound, Outbound
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Conversation
from hookgate.protocol.values import LLMReply, LLMRequest, ProposedCall, ToolCall
from hookgate.store.memory import MemoryJournal
from tests.guest import Guest
from tests.loop.fuse import Fuse
from tests.loop.recording import CHAT, Bench, FunctionTool, hook, is_valid

KINDS = ("say", "call", "hang", "abort")
DEADLY = ("say", "call", "abort", "/stop", "/new")


class Talker:
    """A model that does what the message asks for: it says, it calls two tools first, it never comes to an end."""

    async def complete(self, request: LLMRequest, on_text: Callable[[str], None]) -> LLMReply:
        await trio.lowlevel.checkpoint()
        if request.options.get("max_tokens") == SUMMARY_TOKENS:
            return LLMReply(request.model, "all that was said")
        kind, number = next(it.content for it in reversed(request.messages) if it.role == "user").split()
        if kind == "hang":
            on_text(f"begun {number}")
            await trio.sleep_forever()
        if kind == "call" and request.messages[-1].role == "user":
            calls = [ProposedCall(name, name, f'{{"for": "{number}"}}') for name in ("look", "write", "later")]
            return LLMReply(request.model, "", tuple(calls))
        return LLMReply(request.model, f"answer {number}")


@dataclass
class Said:
    """A message that was accepted. `died`: the process has, since it came."""

    id: str
    kind: str
    number: str
    generation: int
    died: bool = False


class SessionMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.guest = Guest()
        self.memory = MemoryJournal(lambda: 1000.0)
        self.written = Counter[str]()
        self.lines: dict[str, str] = {}
        self.said: list[Said] = []
        self.compacted = False
        self.generation = 0
        self.numbers = 0
        self.start()

    def teardown(self) -> None:
        self.guest.close()

    # --- a process ---

    def start(self) -> None:
        async def write(call: ToolCall) -> str:
            self.written[f"{call.name} {call.arguments['for']}"] += 1
            await trio.lowlevel.checkpoint()
            return "written"

        async def judge(question: Question) -> Answer:
            await trio.lowlevel.checkpoint()
            return Abort("enough", hard=True) if question.step.inbound.text.startswith("abort") else CONTINUE

        tools = [FunctionTool("look", reads_only=True), FunctionTool("write", write), FunctionTool("later", write)]
        self.bench = Bench(tools=tools, hooks=[hook("h", {Stage.BEFORE_LLM: judge})], providers={"p": Talker()})
        self.bench.room.send = self.send
        self.fuse = Fuse(self.memory, lambda: self.nursery.cancel_scope.cancel())
        shared = Shared(cast("Journal", self.fuse))
        self.gateway = Gateway(lambda _chat: self.bench.agent, {"test": self.bench.room}, shared)
        self.nursery = cast("trio.Nursery", self.guest.start(self._live))
        self.settle()

    async def send(self, outbound: Outbound, key: str) -> str:
        """A chat that knows by its key what it has."""
        await trio.lowlevel.checkpoint()
        self.lines.setdefault(key, outbound.text)
        return ""

    async def _live(self, *, task_status: trio.TaskStatus[trio.Nursery]) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.gateway.run)
            task_status.started(nursery)

    def settle(self) -> None:
        """Until nothing moves; where the process has died by then, another one is started."""
        self.guest.call(trio.testing.wait_all_tasks_blocked)
        for arrival, accepted in self.fuse.accepted:
            self.generation = accepted.conversation.generation
            if arrival.kind == "message":
                self.said.append(Said(accepted.id, *arrival.inbound.text.split(), self.generation))
        self.fuse.accepted.clear()
        if self.fuse.dead:
            for said in self.said:
                said.died = True
            self.memory.reopen()
            self.start()

    def tell(self, text: str) -> None:
        self.nursery.start_soon(self.gateway.receive, Inbound(CHAT, text))
        self.settle()

    # --- what happens ---

    @rule(kind=st.sampled_from(KINDS))
    def somebody_writes(self, kind: str) -> None:
        self.numbers += 1
        self.tell(f"{kind} {self.numbers}")

    @rule()
    def somebody_stops_it(self) -> None:
        self.tell("/stop")

    @rule()
    def somebody_begins_anew(self) -> None:
        self.tell("/new")

    @rule()
    def somebody_has_it_summed_up(self) -> None:
        self.compacted = True
        self.tell("/compact")

    @rule(
        calls=st.integers(0, 18), after=st.booleans(), kind=st.sampled_from(("say", "call", "abort", "/stop", "/new"))
    )
    def it_dies_in_the_middle(self, calls: int, after: bool, kind: str) -> None:
        self.fuse.calls_left, self.fuse.after = calls, after
        self.numbers += 1
        self.tell(kind if kind.startswith("/") else f"{kind} {self.numbers}")

    # --- what must be true whenever nothing moves ---

    @invariant()
    def nothing_is_written_twice_and_nothing_is_forgotten(self) -> None:
        assert all(times == 1 for times in self.written.values()), self.written
        for said in self.said:
            if said.kind == "call" and not said.died and self.outcome(said) == "answered":
                assert self.written[f"write {said.number}"] == 1

    @invariant()
    def every_message_has_one_end_unless_it_waits_for_one_that_has_none(self) -> None:
        waits = False
        for said in self.said:
            outcome = self.outcome(said)
            waits = waits or (said.kind == "hang" and not outcome)
            assert outcome or waits, said

    @invariant()
    def every_answer_is_read_once(self) -> None:
        for said in self.said:
            read = list(self.lines.values()).count(f"answer {said.number}")
            assert read == (said.kind in ("say", "call") and self.outcome(said) == "answered"), (said, self.lines)

    @invariant()
    def the_model_sees_what_was_said_and_not_taken_back(self) -> None:
        conversation = Conversation(CHAT.session_key, "main", self.generation)
        messages = [it.message for it in self.guest.call(self.memory.work.load, conversation).entries]
        session = self.gateway.sessions.get(CHAT.session_key)
        if session is not None and session.transcript.messages:
            assert list(session.transcript.messages) == messages
        seen = [it.content for it in messages if it.role != "tool" and it.content]
        if seen and seen[0].startswith(HEADING):
            assert self.compacted
            del seen[0]
        told = [text for text, must in self.expected() if must or text in seen]
        assert told == seen or (self.compacted and told[len(told) - len(seen) :] == seen), (told, seen)
        # Of what runs a call may wait for its result.
        assert is_valid(messages) or (session is not None and session.busy)

    def expected(self) -> Iterator[tuple[str, bool]]:
        """What stands in the transcript, and whether it must."""
        for said in self.said:
            if said.generation == self.generation and said.kind != "abort":
                outcome = self.outcome(said)
                yield f"{said.kind} {said.number}", outcome in ("answered", "dropped")
                if said.kind == "hang":
                    yield f"begun {said.number}", outcome == "dropped" and not said.died
                else:
                    yield f"answer {said.number}", outcome == "answered"

    def outcome(self, said: Said) -> str:
        ends = ("answered", "dropped", "refused", "dead")
        passages = [it for found in self.guest.call(self.memory.books.where, said.id) for it in found.passages]
        return next((it.what for it in passages if it.what in ends), "")


SessionMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAnyOrder = SessionMachine.TestCase
