"""What an answer leads to: failure policies, changed values, whose a new tool is. Pure.

The rules are those of `docs/hook-json-protocol.md`: members named replace whole, members left out stay, nothing is
merged deeply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

from hookgate.hooks.rules import AnyPolicy
from hookgate.hooks.verdicts import Dropped
from hookgate.protocol.approval import Terms, Wish
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.hook.answers import (
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
    ReplyWith,
    Respond,
)
from hookgate.protocol.hook.stages import Question, Stage, Subject
from hookgate.protocol.hook.wire import WIRE_NAMES
from hookgate.protocol.identity import known_again
from hookgate.protocol.values import Fault, Finished, LLMRequest, ToolResult, ToolSpec

_CHANGING = (Continue, Modify, Abort, Failed)
_FITTING: Mapping[Stage, tuple[type[Answer], ...]] = {
    Stage.ON_MESSAGE: (*_CHANGING, ReplyWith, Drop),
    Stage.BEFORE_LLM: _CHANGING,
    Stage.AFTER_LLM: _CHANGING,
    Stage.BEFORE_TOOL: (*_CHANGING, Respond, Deny),
    Stage.APPROVE_TOOL: (Approve, Refuse, Ask, Failed),
    Stage.AFTER_TOOL: _CHANGING,
    Stage.BEFORE_SEND: (Continue, Modify, Drop, Failed),
}
_PASSING: Mapping[Stage, str] = {
    Stage.ON_MESSAGE: "the message",
    Stage.BEFORE_LLM: "the request to {0.model}",
    Stage.AFTER_LLM: "the reply of {0.model}",
    Stage.BEFORE_TOOL: "the call of {0.tool}",
    Stage.APPROVE_TOOL: "the call of {0.tool}",
    Stage.AFTER_TOOL: "the result of {0.tool}",
    Stage.BEFORE_SEND: "what is sent",
}


def settled(hook: str, stage: Stage, failure: Failed, policy: AnyPolicy) -> Answer:
    """A failure as the answer that the hook's policy makes of it."""
    reason = f"hook {hook} failed at {stage}: {failure.reason}"
    match policy, stage:
        case _, Stage.APPROVE_TOOL:
            return Refuse(reason)
        case "continue", _:
            return Continue()
        case "withhold", Stage.AFTER_LLM:
            by = f"{hook.removeprefix('zot:')} withheld the reply: {failure.reason}"
            return Modify({"shown": "", "withheld_by": by})
        case "deny", Stage.ON_MESSAGE:
            return Drop(reason, f"Message refused: {reason}")
        case _, Stage.BEFORE_SEND:
            return Drop(reason, f"Message withheld: {reason}")
        case "deny", Stage.BEFORE_TOOL | Stage.AFTER_TOOL:
            return Deny(reason)
        case _:
            return Abort(reason, failed=True)


def let_through(question: Question) -> str:
    """What goes on although the hook that should have judged it has failed, in the words that people read."""
    return _PASSING[question.stage].format(question)


def allowed_at(stage: Stage, answer: Answer) -> Answer:
    """The answer, or a failure where its kind has no meaning at this stage: an approver that says `continue`, say."""
    return answer if isinstance(answer, _FITTING[stage]) else Failed(f"{answer.action} is no answer at {stage}")


def withheld(finished: Finished, hook: str, reason: str) -> Finished:
    """What stands where a result should, when the hook that must see it first has failed."""
    error = Fault("permission", "after_tool", reason, f"hook:{hook}")
    return replace(finished, result=ToolResult(f"Tool result withheld: {reason}", is_error=True, error=error))


@dataclass(frozen=True)
class Author:
    """Who changes a value: its name, what it may change (None: everything), and the providers it may name."""

    hook: str
    may_modify: frozenset[str] | None = None
    providers: frozenset[str] = frozenset()


def modified(subject: Subject, changes: Mapping[str, Any], author: Author) -> tuple[Subject, tuple[str, ...]]:
    """The changed value, and the JSON members that really differ, in the order of its fields. An echo is no change.

    Raises ValueError where the hook changed what its `may_modify` does not list.
    """
    made = dict(changes)
    if isinstance(subject, LLMRequest) and "tools" in made:
        made["tools"] = _owned(subject.tools, made["tools"], author.hook)
    if isinstance(subject, LLMRequest) and "model" in made:
        made["model"] = qualified(made["model"], subject.model, author.providers)
    before = subject.result if isinstance(subject, Finished) else subject
    after = replace(before, **made)
    changed = [it.name for it in fields(before) if getattr(before, it.name) != getattr(after, it.name)]
    names = tuple(WIRE_NAMES.get(name, name) for name in changed)
    forbidden = [name for name in names if author.may_modify is not None and name not in author.may_modify]
    if forbidden:
        raise ValueError(f"it may not modify {', '.join(forbidden)}")
    return replace(subject, result=after) if isinstance(subject, Finished) else cast("Subject", after), names


@known_again(most=64)
def _owned(known: Sequence[ToolSpec], written: Sequence[ToolSpec], hook: str) -> tuple[ToolSpec, ...]:
    """Specs as a hook wrote them, which most add to each request: a known name stays that tool, a new one belongs to
    the hook."""
    before, owned = {spec.name: spec for spec in known}, list[ToolSpec]()
    for spec in written:
        own = before.get(spec.name)
        if own is None:
            owned.append(_own(spec, hook))
        elif (own.description, own.parameters) == (spec.description, spec.parameters):
            owned.append(own)
        else:
            owned.append(replace(own, description=spec.description, parameters=spec.parameters))
    return tuple(owned)


@known_again(most=1024)
def _own(spec: ToolSpec, hook: str) -> ToolSpec:
    """The same one each time, so that what is known of a tool by its identity is known of the next request's."""
    return replace(spec, provider=f"hook:{hook}")


def qualified(model: str, current: str, providers: frozenset[str]) -> str:
    """PROVIDER/MODEL; a name without a known provider means the current one's."""
    prefix = model.partition("/")[0]
    if "/" in model and (prefix in providers or not providers):
        return model
    return f"{current.partition('/')[0]}/{model}"


def injected(before: LLMRequest, after: LLMRequest) -> tuple[str, ...]:
    """Names of the tools that `after` has and `before` has not."""
    known = {spec.name for spec in before.tools}
    return tuple(spec.name for spec in after.tools if spec.name not in known)


def system_changed(before: LLMRequest, after: LLMRequest) -> bool:
    """Whether what the system says differs: worth an event, since it steers everything after it."""
    old, new = ([it.content for it in request.messages if it.role == "system"] for request in (before, after))
    return old != new


def dropped(hook: str, stage: Stage, answer: Drop) -> Dropped:
    """With the line that the chat reads, which a hook that says nothing of it does not leave out."""
    what = "refused" if stage is Stage.ON_MESSAGE else "withheld"
    usual = _with_reason(f"Message {what} by hook {hook}", answer.reason)
    return Dropped(hook, answer.reason, usual if answer.tell is None else answer.tell)


def denial(hook: str, answer: Deny) -> ToolResult:
    """What the model is told of a refused call; the page's exact words."""
    usual = "Tool execution denied by hook"
    text = (answer.reason if answer.bare else _with_reason(usual, answer.reason)) or usual
    return ToolResult(text, is_error=True, error=Fault(answer.kind, "before_tool", answer.reason, f"hook:{hook}"))


def refusal(denied_by: str, reason: str) -> ToolResult:
    """A refused approval; `denied_by` is `hook:NAME` (the page's words), `approval:ID` or `rule:NAME`."""
    asked = "approval hook" if denied_by.startswith("hook:") else "approval"
    text = _with_reason(f"Tool execution denied by {asked}", reason)
    return ToolResult(text, is_error=True, error=Fault("permission", "approve_tool", reason, denied_by))


def wish(hook: str, answer: Ask) -> Wish:
    """What a hook wants people asked."""
    terms = Terms(required=answer.required, self_approval=answer.may_self_approve)
    return Wish(f"hook:{hook}", answer.title, answer.text, answer.approvers, answer.ttl_s, terms=terms)


def not_responded(hook: str) -> ToolResult:
    return unanswered(hook, "did not respond to the call of its own tool")


def not_asked(hook: str) -> ToolResult:
    """Of a call of its own tool where it does not stand at before_tool."""
    return unanswered(hook, "takes no before_tool calls")


def unanswered(hook: str, what: str) -> ToolResult:
    """The result of a call that the owner of its tool has not answered."""
    reason = f"hook {hook} {what}"
    return ToolResult(f"ERROR (fatal) {hook}: {reason}", is_error=True, error=Fault("fatal", hook, reason))


def _with_reason(text: str, reason: str) -> str:
    return f"{text}: {reason}" if reason else text
