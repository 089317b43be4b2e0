"""A harmless question that a hook's own `match` covers: hooks are not asked what they would never be asked."""

from __future__ import annotations

from collections.abc import Iterable

from hookgate.assembly.preflight.check import built_in
from hookgate.check.golden import sample
from hookgate.protocol.chat import Chat, ChatMessage, Inbound
from hookgate.protocol.hook.match import Globs
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import Finished, LLMReply, LLMRequest, Message, Step, ToolCall, ToolResult, ToolSpec
from hookgate.sections import Config
from hookgate.sections.section import MatchSection

MODEL = "scripted/doctor"
WORDS = "hello from hookgate doctor"


def question(config: Config, match: MatchSection, stage: Stage) -> Question:
    """As close to the match as its patterns show. Nothing is run, whatever is answered."""
    step, spec = _step(config, match), _tool(match)
    arguments = sample(spec.parameters)
    call = ToolCall("call_doctor", spec.name, arguments if isinstance(arguments, dict) else {})
    match stage:
        case Stage.ON_MESSAGE:
            return Question(stage, step, ChatMessage(WORDS))
        case Stage.BEFORE_SEND:
            return Question(stage, step, ChatMessage(WORDS, kind="answer"))
        case Stage.BEFORE_LLM:
            return Question(stage, step, LLMRequest(step.model, (Message("user", WORDS),), (spec,)))
        case Stage.AFTER_LLM:
            return Question(stage, step, LLMReply(step.model, WORDS))
        case Stage.BEFORE_TOOL | Stage.APPROVE_TOOL:
            return Question(stage, step, call)
        case Stage.AFTER_TOOL:
            return Question(stage, step, Finished(call, ToolResult(WORDS), 1_000_000))


def _step(config: Config, match: MatchSection) -> Step:
    chat = Chat(
        _covered(match.channels, ("cli",)),
        _covered(match.chats, ("terminal",)),
        _covered(match.senders, ("user",)),
        _covered(match.chat_types, ("direct",)),
        _covered(match.threads, ("",)),
    )
    model, role = _covered(match.models, (config.agent.model or MODEL,)), _covered(match.roles, ("",))
    roles = (role,) if role else ()
    return Step(config.agent.name, "turn-doctor", Inbound(chat, WORDS), model=model, roles=roles)


def _tool(match: MatchSection) -> ToolSpec:
    specs = {spec.name: spec for spec in built_in().snapshot().specs}
    name = _covered(match.tools, ("bash", *specs))
    return specs.get(name, ToolSpec(name, "", {"type": "object", "properties": {}}))


def _covered(patterns: tuple[str, ...], usual: Iterable[str]) -> str:
    """The first usual value that the patterns cover, else one that is spelled like a pattern."""
    globs = Globs(patterns)
    spelled = (pattern.replace("*", "") for pattern in patterns if not pattern.startswith("!"))
    candidates = (*usual, *spelled)
    return next((value for value in candidates if value and globs.covers(value)), candidates[0])
