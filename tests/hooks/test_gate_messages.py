"""The two stages of a message: what comes in is judged before it counts, what goes out before it goes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookgate.hooks.gate import Gate
from hookgate.hooks.rules import Mount, Policy, Rules
from hookgate.hooks.verdicts import Dropped, Replied
from hookgate.protocol.chat import ChatMessage, Inbound, Outbound
from hookgate.protocol.errors import SessionAborted, TurnAborted
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import GateDecision, HookFailed, HookModified
from hookgate.protocol.hook.answers import Abort, Answer, Drop, Failed, Modify, ReplyWith
from hookgate.protocol.hook.match import Matcher
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.journal.values import AnswerKey
from hookgate.redaction import Redactor
from tests.hooks.doubles import CHAT, STEP, Asked, auditing, gate_of, hook, matching, sink

OUT = Outbound(CHAT, "hello", ("data:,x",))
ON, BEFORE = Stage.ON_MESSAGE, Stage.BEFORE_SEND
SAID = replace(STEP, inbound=Inbound(CHAT, "hi", ("data:,y",), "88"))


def saying(answer: Answer, stage: Stage, rules: Rules | None = None, name: str = "h") -> Mount:
    return hook(name, Asked().saying(name, answer), stage, rules=rules)


async def test_a_message_is_judged_with_all_that_is_said_of_it() -> None:
    asked = Asked()
    gate = gate_of(hook("h", asked.saying("h"), ON, BEFORE))
    assert await gate.on_message(SAID) is not None
    await gate.on_message(SAID, steers=True)
    assert await gate.before_send(SAID, replace(OUT, kind="output")) == replace(OUT, kind="output")
    assert [question.subject for _, question in asked.questions] == [
        ChatMessage("hi", ("data:,y",), "message", "88"),
        ChatMessage("hi", ("data:,y",), "steer", "88"),
        ChatMessage("hello", ("data:,x",), "output", in_reply_to="88"),
    ]


async def test_hooks_change_text_and_media_and_nothing_else() -> None:
    gate = gate_of(
        saying(Modify({"text": "ho"}), ON, name="a"),
        saying(Modify({"media": ()}), ON, name="b"),
        saying(Modify({"text": "bye"}), BEFORE, name="c"),
    )
    assert await gate.on_message(SAID) == replace(SAID.inbound, text="ho", media=())
    assert await gate.before_send(SAID, OUT) == replace(OUT, text="bye")


@pytest.mark.parametrize(
    ("stage", "answer", "verdict"),
    [
        (ON, ReplyWith("closed", ("data:,z",)), Replied("h", "closed", ("data:,z",))),
        (ON, Drop("spam"), Dropped("h", "spam", "Message refused by hook h: spam")),
        (ON, Drop(), Dropped("h", "", "Message refused by hook h")),
        (ON, Drop("spam", ""), Dropped("h", "spam", "")),
        (BEFORE, Drop("a name"), Dropped("h", "a name", "Message withheld by hook h: a name")),
        (BEFORE, Drop("a name", "Ask me in private."), Dropped("h", "a name", "Ask me in private.")),
    ],
)
async def test_the_first_that_answers_or_drops_ends_the_round(stage: Stage, answer: Answer, verdict: object) -> None:
    events, later = list[Event](), Asked()
    gate = gate_of(saying(answer, stage), hook("later", later.saying("later"), stage), sink(events))
    judged = await (gate.on_message(SAID) if stage is ON else gate.before_send(SAID, OUT))
    assert (judged, later.names) == (verdict, [])
    ((told, step),) = ((event.payload, event.step) for event in events if isinstance(event.payload, HookModified))
    assert (told.hook, told.stage, step) == ("h", stage, SAID)
    assert told.members == (("reply",) if isinstance(answer, ReplyWith) else ("message",))


class Kept:
    """What hooks have said about one message, by the question."""

    subject = "M1"

    def __init__(self) -> None:
        self.said: dict[AnswerKey, Answer] = {}

    async def find(self, asked: AnswerKey) -> Answer | None:
        return self.said.get(asked)

    async def keep(self, asked: AnswerKey, answer: Answer) -> None:
        self.said[asked] = answer


async def test_what_a_hook_has_said_of_a_message_is_kept_and_counts_again() -> None:
    asked, kept = Asked(), Kept()
    gate = gate_of(hook("h", asked.saying("h", Drop("spam")), ON, BEFORE))
    for _ in range(2):
        assert isinstance(await gate.on_message(SAID, kept), Dropped)
        assert isinstance(await gate.before_send(SAID, OUT, kept), Dropped)
    assert asked.names == ["h", "h"]
    assert [(it.subject, it.stage) for it in kept.said] == [("M1", ON), ("M1", BEFORE)]


async def test_a_message_can_end_the_turn_or_the_whole_conversation() -> None:
    with pytest.raises(TurnAborted, match="hook h aborted the turn at on_message: no"):
        await gate_of(saying(Abort("no"), ON)).on_message(SAID)
    with pytest.raises(SessionAborted, match="at on_message"):
        await gate_of(saying(Abort("no", hard=True), ON)).on_message(SAID)


WHY = "hook h failed at {}: it died"


@pytest.mark.parametrize("policy", ["continue", "deny", "abort"])
@pytest.mark.parametrize("broken", [Failed("it died"), "its answer does not fit"])
async def test_what_a_broken_hook_should_have_judged_goes_where_its_policy_says(
    policy: Policy, broken: Failed | str
) -> None:
    answer = broken if isinstance(broken, Failed) else Abort("at before_send nothing is left to end")
    why = WHY if isinstance(broken, Failed) else "hook h failed at {}: abort_turn is no answer at before_send"
    events = list[Event]()
    gate = gate_of(saying(answer, BEFORE, Rules(on_failure={BEFORE: policy})), sink(events))
    reason = why.format(BEFORE)
    kept = Dropped("h", reason, f"Message withheld: {reason}")
    assert await gate.before_send(SAID, OUT) == (OUT if policy == "continue" else kept)
    (failed,) = (event.payload for event in events if isinstance(event.payload, HookFailed))
    assert failed.let_through == ("what is sent" if policy == "continue" else None)


async def test_a_message_that_nobody_could_judge_is_refused_where_the_policy_says_so() -> None:
    def gate(policy: Policy) -> Gate:
        return gate_of(saying(Failed("it died"), ON, Rules(on_failure={ON: policy})))

    reason = WHY.format(ON)
    assert await gate("continue").on_message(SAID) == SAID.inbound
    assert await gate("deny").on_message(SAID) == Dropped("h", reason, f"Message refused: {reason}")
    with pytest.raises(TurnAborted, match="it died"):
        await gate("abort").on_message(SAID)


async def test_a_hook_changes_only_what_it_may() -> None:
    rules = Rules(may_modify=frozenset({"media"}), on_failure={ON: "deny"})
    gate = gate_of(saying(Modify({"text": "ho"}), ON, rules))
    judged = await gate.on_message(SAID)
    assert isinstance(judged, Dropped)
    assert "it may not modify text" in judged.tell


@pytest.mark.parametrize(
    ("match", "asked"),
    [
        (matching(channels="telegram"), True),
        (matching(channels="slack"), False),
        (matching(chats="-42"), True),
        (matching(chats="!-42"), False),
        (matching(chat_types="direct"), False),
        (matching(senders="501"), True),
        (matching(agents="other"), False),
        (matching(tools="bash"), True),
    ],
)
async def test_who_is_asked_depends_on_the_chat(match: Matcher, asked: bool) -> None:
    gate = gate_of(saying(Drop("x"), ON, Rules(match=match)), saying(Drop("x"), BEFORE, Rules(match=match), "i"))
    assert isinstance(await gate.on_message(SAID), Dropped) is asked
    assert isinstance(await gate.before_send(SAID, OUT), Dropped) is asked
    assert gate.holds_text(STEP, "openai/gpt") is asked


async def test_an_audited_hook_is_asked_and_changes_nothing() -> None:
    events = list[Event]()
    rules = Rules(mode="audit")
    gate = gate_of(
        saying(Drop("spam"), ON, rules), saying(Drop("x"), BEFORE, rules, "i"), sink(events, "gate_decision")
    )
    async with auditing(gate):
        assert await gate.on_message(SAID) == SAID.inbound
        assert await gate.before_send(SAID, OUT) == OUT
        await gate.audits.answered()
    decided = [event.payload for event in events if isinstance(event.payload, GateDecision)]
    assert sorted((it.hook, it.stage, it.action, it.reason, it.audit) for it in decided) == [
        ("h", ON, "drop", "spam", True),
        ("i", BEFORE, "drop", "x", True),
    ]
    assert not gate.holds_text(STEP, "openai/gpt")


async def test_nobody_reads_along_where_an_answer_may_still_be_kept() -> None:
    assert gate_of(saying(Drop("x"), BEFORE, Rules(may_modify=frozenset()))).holds_text(STEP, "openai/gpt")
    assert not gate_of(saying(Drop("x"), ON)).holds_text(STEP, "openai/gpt")


async def test_a_hook_puts_no_secret_into_the_chat() -> None:
    secret = "sk-4711-very-secret-key-value"
    answers: list[tuple[Stage, Answer]] = [
        (ON, ReplyWith(f"it is {secret}")),
        (ON, Drop(f"it says {secret}")),
        (BEFORE, Modify({"text": f"it is {secret}"})),
        (BEFORE, Drop("x", f"it is {secret}")),
    ]
    for stage, answer in answers:
        gate = Gate(redactor=Redactor([secret]))
        gate.mount([saying(answer, stage)])
        judged = await (gate.on_message(SAID) if stage is ON else gate.before_send(SAID, OUT))
        assert "REDACTED" in str(judged)
        assert secret not in str(judged)
