"""The checks of the tools that a hook brings: a gateway would offer each, and the hook answers its calls."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.check.asking import Learnt, WrongAnswer, ask, read_answer, shown
from hookgate.check.golden import owned_call
from hookgate.check.mailbox import Result
from hookgate.check.report import Finding, failed, ok, skipped, warned
from hookgate.check.subject import Subject
from hookgate.protocol.hook.answers import Respond
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import ToolSpec

UNASKED_FIX = "name before_tool in its intercept, and in the stages of its hello where that names any"
RESPOND_FIX = "answer calls of a tool that you brought with respond, errors too"
RESPOND = '{"action":"respond","result":{"for_llm":"..."}}'


async def probe_owned_tools(hook: Subject, known: Learnt) -> Finding:
    tools: tuple[ToolSpec, ...] = known.declared.tools if known.declared else ()
    return await _called("owned tools", tools, hook, known)


async def probe_injected_tools(hook: Subject, known: Learnt) -> Finding:
    """Tools that it adds to a request are called too: a model that reads of one calls it."""
    declared = {spec.name for spec in known.declared.tools} if known.declared else set[str]()
    return await _called(
        "injected tools", [spec for spec in known.injected if spec.name not in declared], hook, known
    )


async def _called(check: str, tools: Sequence[ToolSpec], hook: Subject, known: Learnt) -> Finding:
    if not tools:
        return skipped(check, "none declared" if check == "owned tools" else "none added in before_llm")
    for spec in (it for it in tools if it.name not in known.taken):
        if problem := known.problem(spec):
            fix = "no gateway offers such a tool, and no model sees it: mend its name, description or parameters"
            return failed(check, problem, fix)
        if Stage.BEFORE_TOOL not in known.offered:
            return failed(check, f"each call of {spec.name} fails: the hook is not asked at before_tool", UNASKED_FIX)
        answered = await ask(hook, owned_call(spec), known.limits.long_s)
        try:
            answer = read_answer(Stage.BEFORE_TOOL, answered)
        except WrongAnswer as error:
            return failed(check, str(error), RESPOND_FIX, error.came, RESPOND)
        if not isinstance(answer, Respond):
            what = f"a call of {spec.name} is answered with {answer.action}"
            came = shown(answered.value) if isinstance(answered, Result) else answer.action
            return failed(check, what, RESPOND_FIX, came, RESPOND)
    if taken := [spec.name for spec in tools if spec.name in known.taken]:
        fix = "give it a name of its own, or leave hookgate's out of tools.enabled"
        return warned(check, f"hookgate's own tool stands before it: {', '.join(taken)}", fix)
    unsaid = check == "owned tools" and not known.offer.configured
    asked = '; its configuration needs intercept = ["before_tool"]' if unsaid else ""
    return ok(check, f"respond: {', '.join(spec.name for spec in tools)}{asked}")
