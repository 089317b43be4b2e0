"""What an answer leads to: a table of policies by stages, patches, ownership, and the words of a denial."""

from __future__ import annotations

from typing import Any

import pytest

from hookgate.hooks.decision import (
    Author,
    allowed_at,
    denial,
    injected,
    let_through,
    modified,
    qualified,
    refusal,
    settled,
    system_changed,
    withheld,
)
from hookgate.hooks.rules import Policy, Rules
from hookgate.protocol.chat import Chat, ChatMessage, Inbound
from hookgate.protocol.hook.answers import (
    CONTINUE,
    Abort,
    Answer,
    Approve,
    Ask,
    Continue,
    Deny,
    Drop,
    Failed,
    Modify,
    Refuse,
    Respond,
)
from hookgate.protocol.hook.stages import Question, Stage, Subject
from hookgate.protocol.values import (
    Fault,
    Finished,
    LLMReply,
    LLMRequest,
    Message,
    Step,
    ToolCall,
    ToolResult,
    ToolSpec,
)

S = Stage
WHY = "hook guard failed at {}: it died"


@pytest.mark.parametrize(
    ("policy", "stage", "kind"),
    [
        ("continue", S.BEFORE_LLM, Continue),
        ("continue", S.AFTER_LLM, Continue),
        ("continue", S.BEFORE_TOOL, Continue),
        ("continue", S.AFTER_TOOL, Continue),
        ("continue", S.APPROVE_TOOL, Refuse),
        ("deny", S.BEFORE_LLM, Abort),
        ("deny", S.AFTER_LLM, Abort),
        ("deny", S.BEFORE_TOOL, Deny),
        ("deny", S.AFTER_TOOL, Deny),
        ("deny", S.APPROVE_TOOL, Refuse),
        ("continue", S.ON_MESSAGE, Continue),
        ("deny", S.ON_MESSAGE, Drop),
        ("abort", S.ON_MESSAGE, Abort),
        ("continue", S.BEFORE_SEND, Continue),
        ("deny", S.BEFORE_SEND, Drop),
        ("abort", S.BEFORE_SEND, Drop),
        ("abort", S.BEFORE_LLM, Abort),
        ("abort", S.AFTER_LLM, Abort),
        ("abort", S.BEFORE_TOOL, Abort),
        ("abort", S.AFTER_TOOL, Abort),
        ("abort", S.APPROVE_TOOL, Refuse),
    ],
)
def test_a_failure_becomes_what_the_policy_makes_of_it(policy: Policy, stage: Stage, kind: type[Answer]) -> None:
    answer = settled("guard", stage, Failed("it died"), policy)
    assert type(answer) is kind
    if not isinstance(answer, Continue):
        assert getattr(answer, "reason", "") == WHY.format(stage)
    assert not getattr(answer, "hard", False)


@pytest.mark.parametrize("policy", ["continue", "deny", "abort"])
def test_no_configuration_lets_a_failed_approver_pass(policy: Policy) -> None:
    assert Rules(on_failure={S.APPROVE_TOOL: policy}).policy(S.APPROVE_TOOL) == "deny"


def test_a_reply_that_an_extension_should_have_judged_is_withheld_in_its_name() -> None:
    failed = settled("zot:guard", S.AFTER_LLM, Failed("it died"), "withhold")
    assert failed == Modify({"shown": "", "withheld_by": "guard withheld the reply: it died"})


@pytest.mark.parametrize(
    ("stage", "subject", "said"),
    [
        (S.BEFORE_TOOL, ToolCall("c1", "act", {}), "the call of act"),
        (S.APPROVE_TOOL, ToolCall("c1", "act", {}), "the call of act"),
        (S.AFTER_TOOL, Finished(ToolCall("c1", "act", {}), ToolResult("x"), 1), "the result of act"),
        (S.BEFORE_LLM, LLMRequest("p/m", ()), "the request to p/m"),
        (S.AFTER_LLM, LLMReply("p/m", "x"), "the reply of p/m"),
        (S.ON_MESSAGE, ChatMessage("x"), "the message"),
        (S.BEFORE_SEND, ChatMessage("x"), "what is sent"),
    ],
)
def test_what_goes_on_without_its_judge_is_named(stage: Stage, subject: Subject, said: str) -> None:
    step = Step("a", "t", Inbound(Chat("cli", "1", "me"), "x"), model="p/m")
    assert let_through(Question(stage, step, subject)) == said


def test_interceptors_continue_by_default_and_wait_as_long_as_the_design_says() -> None:
    assert {Rules().policy(stage) for stage in Stage if stage is not S.APPROVE_TOOL} == {"continue"}
    assert (Rules().timeouts[S.BEFORE_TOOL], Rules().timeouts[S.APPROVE_TOOL]) == (5.0, 60.0)
    assert Rules(timeout_s={S.BEFORE_TOOL: 0.5}).timeouts[S.BEFORE_TOOL] == 0.5


ANSWERS: list[Answer] = [CONTINUE, Modify({}), Respond(ToolResult("x")), Deny("x"), Abort("x"), Abort("x", hard=True)]
APPROVALS: list[Answer] = [Approve(), Refuse("x"), Ask()]


@pytest.mark.parametrize("answer", [*ANSWERS, *APPROVALS])
@pytest.mark.parametrize("stage", Stage)
def test_an_answer_of_the_wrong_kind_is_a_failure(stage: Stage, answer: Answer) -> None:
    narrow = isinstance(answer, Respond | Deny)
    fits = answer in APPROVALS if stage is S.APPROVE_TOOL else answer in ANSWERS and not narrow
    if stage is S.BEFORE_SEND:
        fits = isinstance(answer, Continue | Modify)
    if fits or (narrow and stage is S.BEFORE_TOOL):
        assert allowed_at(stage, answer) is answer
    else:
        assert allowed_at(stage, answer) == Failed(f"{answer.action} is no answer at {stage}")


def test_a_failure_fits_everywhere() -> None:
    assert all(allowed_at(stage, Failed("x")) == Failed("x") for stage in Stage)


def test_a_withheld_result_keeps_nothing_of_the_one_it_replaces() -> None:
    secret = ToolResult("secret", "secret", False, False, True, ("secret",), ("secret",), True)
    found = withheld(Finished(ToolCall("c", "t", {}), secret, 5), "redact", "it died")
    assert "secret" not in str(found)
    assert (found.result.for_llm, found.result.is_error) == ("Tool result withheld: it died", True)
    assert found.result.error == Fault("permission", "after_tool", "it died", "hook:redact")


BASH = ToolSpec("bash", "runs", {"type": "object"}, mutates=True, timeout_s=7)
READ = ToolSpec("read", "reads", {"type": "object"}, mutates=False, affects_workspace=False)
REQUEST = LLMRequest("openai/gpt", (Message("system", "s"), Message("user", "u")), (BASH, READ), {"t": 1})
CALL = ToolCall("c1", "bash", {"command": "ls", "cwd": "/"})
DONE = Finished(CALL, ToolResult("out", "shown"), 5)


@pytest.mark.parametrize(
    ("subject", "changes", "names"),
    [
        (CALL, {}, ()),
        (CALL, {"name": "bash"}, ()),
        (CALL, {"name": "read"}, ("tool",)),
        (CALL, {"arguments": {"command": "ls", "cwd": "/"}}, ()),
        (CALL, {"arguments": {"command": "pwd"}}, ("arguments",)),
        (DONE, {"for_llm": "out"}, ()),
        (DONE, {"for_llm": "new", "is_async": True}, ("for_llm", "async")),
        (REQUEST, {"messages": REQUEST.messages, "options": {"t": 1}}, ()),
        (REQUEST, {"options": {}}, ("options",)),
        (LLMReply("m", "x"), {"reasoning": "r", "content": "x"}, ("reasoning_content",)),
    ],
)
def test_only_members_that_really_differ_are_changed(
    subject: Any, changes: dict[str, Any], names: tuple[str]
) -> None:
    after, found = modified(subject, changes, Author("h"))
    assert found == names
    assert (after == subject) is not bool(names)


def test_members_named_replace_whole_and_members_left_out_stay() -> None:
    after, _ = modified(CALL, {"arguments": {"command": "pwd"}}, Author("h"))
    assert after == ToolCall("c1", "bash", {"command": "pwd"})
    after, _ = modified(DONE, {"for_llm": "new"}, Author("h"))
    assert isinstance(after, Finished)
    assert (after.result.for_llm, after.result.for_user, after.call) == ("new", "shown", CALL)


def test_what_may_modify_does_not_list_is_refused_and_an_echo_of_it_is_not() -> None:
    author = Author("h", frozenset({"arguments"}))
    assert modified(CALL, {"name": "bash", "arguments": {}}, author)[1] == ("arguments",)
    with pytest.raises(ValueError, match="it may not modify tool"):
        modified(CALL, {"name": "read", "arguments": {}}, author)
    with pytest.raises(ValueError, match="it may not modify for_llm, async"):
        modified(DONE, {"for_llm": "x", "is_async": True}, Author("h", frozenset()))


def test_a_new_tool_belongs_to_the_hook_and_a_known_one_stays_what_it_is() -> None:
    written = [ToolSpec("bash", "runs", {"type": "object"}, provider=""), ToolSpec("weather", "w", {}, provider="")]
    after, names = modified(REQUEST, {"tools": tuple(written)}, Author("sky"))
    assert isinstance(after, LLMRequest)
    assert after.tools[0] is BASH
    assert (after.tools[1].owner, after.tool("read")) == ("sky", None)
    assert names == ("tools",)
    assert injected(REQUEST, after) == ("weather",)


def test_a_rewritten_description_does_not_make_a_tool_the_hooks_own() -> None:
    closed = {"type": "object", "additionalProperties": False}
    written = (ToolSpec("bash", "runs anything", closed, mutates=False, provider=""), READ)
    after, names = modified(REQUEST, {"tools": written}, Author("sky"))
    assert isinstance(after, LLMRequest)
    bash = after.tools[0]
    assert (bash.description, bash.parameters) == ("runs anything", closed)
    assert (bash.owner, bash.mutates, bash.timeout_s) == ("", True, 7)
    assert names == ("tools",)


def test_a_tool_of_another_hook_stays_that_hooks_tool() -> None:
    owned = ToolSpec("weather", "w", {}, provider="hook:sky")
    before = LLMRequest("a/b", (), (owned,))
    after, _ = modified(before, {"tools": (ToolSpec("weather", "better", {}, provider=""),)}, Author("thief"))
    assert isinstance(after, LLMRequest)
    assert after.tools[0].owner == "sky"


@pytest.mark.parametrize(
    ("model", "providers", "full"),
    [
        ("gpt-5", {"openai"}, "openai/gpt-5"),
        ("anthropic/x", {"openai", "anthropic"}, "anthropic/x"),
        ("meta/llama", {"openai"}, "openai/meta/llama"),
        ("anything/x", set[str](), "anything/x"),
        ("x", set[str](), "openai/x"),
        ("openai/gpt", {"openai"}, "openai/gpt"),
        ("openai/meta/llama", {"openai"}, "openai/meta/llama"),
    ],
)
def test_a_bare_model_means_the_current_provider(model: str, providers: set[str], full: str) -> None:
    assert qualified(model, "openai/gpt", frozenset(providers)) == full
    assert qualified(model, "openai/meta/llama", frozenset(providers)) == full


def test_an_echoed_model_is_no_change() -> None:
    assert modified(REQUEST, {"model": "openai/gpt"}, Author("h", providers=frozenset({"openai"})))[1] == ()


def test_a_changed_system_message_is_noticed_and_a_changed_user_message_is_not_one() -> None:
    system = LLMRequest("m", (Message("system", "evil"), Message("user", "u")))
    user = LLMRequest("m", (Message("system", "s"), Message("user", "other")))
    assert system_changed(REQUEST, system)
    assert not system_changed(REQUEST, user)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Deny("no rm"), "Tool execution denied by hook: no rm"),
        (Deny(""), "Tool execution denied by hook"),
        (Deny("no rm", bare=True), "no rm"),
        (Deny("", bare=True), "Tool execution denied by hook"),
    ],
)
def test_a_denial_is_told_in_the_pages_words(answer: Deny, text: str) -> None:
    result = denial("guard", answer)
    assert (result.for_llm, result.is_error) == (text, True)
    assert result.error == Fault("permission", "before_tool", answer.reason, "hook:guard")


@pytest.mark.parametrize(
    ("denied_by", "reason", "text"),
    [
        ("hook:policy", "no", "Tool execution denied by approval hook: no"),
        ("hook:policy", "", "Tool execution denied by approval hook"),
        ("approval:A1", "no", "Tool execution denied by approval: no"),
        ("rule:shell", "", "Tool execution denied by approval"),
    ],
)
def test_a_refusal_is_told_in_the_pages_words(denied_by: str, reason: str, text: str) -> None:
    result = refusal(denied_by, reason)
    assert (result.for_llm, result.is_error) == (text, True)
    assert result.error == Fault("permission", "approve_tool", reason, denied_by)
