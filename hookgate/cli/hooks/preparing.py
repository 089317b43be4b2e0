"""A made-up call as a gateway would ask about it: what it makes of the arguments before any hook sees them."""

from __future__ import annotations

from hookgate.assembly.preflight.check import built_in
from hookgate.assembly.tools.opening import selection
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import Finished, ToolCall
from hookgate.rehearsal.subject import Subject
from hookgate.rehearsal.verdict import Verdict
from hookgate.sections import Config
from hookgate.tools.dispatch import settled_arguments
from hookgate.tools.names import ALL
from hookgate.tools.schema.spec import spec_problem


async def prepared(config: Config, subject: Subject, question: Question, *, recorded: bool) -> tuple[Question, str]:
    """With the arguments as hooks see them, and why a gateway would make no such call; empty: it would, or it is not
    known here what the tool takes. One that was `recorded` has been made. Raises ConfigError."""
    # A tool that hookgate has not may be one that the hook adds to requests.
    if question.tool not in ALL:
        await subject.learn(question)
    return (question, "") if recorded else _as_called(config, subject, question)


def left_unfit(config: Config, subject: Subject, asked: Question, verdict: Verdict) -> str:
    """Why a gateway would not make the call that a hook has made of this one; empty as for `prepared`."""
    if verdict.decision != "changed" or asked.stage is not Stage.BEFORE_TOOL:
        return ""
    return _as_called(config, subject, replace(asked, subject=verdict.after))[1]


def _as_called(config: Config, subject: Subject, question: Question) -> tuple[Question, str]:
    call, registry = question.call, built_in()
    spec = call and (registry.snapshot().spec(call.name) or subject.brought(call.name))
    if call is None or spec is None:
        return question, ""
    if problem := spec_problem(spec):
        return question, problem
    rules = selection(config.tools, registry).rules(spec, question.step.chat.channel)
    settled = settled_arguments(spec, call, rules)
    if not isinstance(settled, ToolCall):
        return question, settled.error.reason if settled.error is not None else settled.for_llm
    asked = question.subject
    return replace(question, subject=replace(asked, call=settled) if isinstance(asked, Finished) else settled), ""
