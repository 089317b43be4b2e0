"""An extension asked at the stages it intercepts: question to frame, reply to Answer, and the system prompts it gave.

It does not know how its mount treats a failure; a system prompt that cannot be had is none.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping

from hookgate.hooks.zot.calls import Calls, Lost
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.answers import CONTINUE, Answer, Failed, Modify
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import LLMReply, LLMRequest, Step, ToolCall
from hookgate.protocol.zot.answers import (
    judged_call,
    judged_message,
    judged_turn,
    prompt_problem,
    system_prompt,
    with_system_prompt,
)
from hookgate.protocol.zot.frames import InterceptReply
from hookgate.protocol.zot.host import (
    Intercept,
    InterceptAgentStart,
    InterceptAssistantMessage,
    InterceptToolCall,
    InterceptTurnStart,
)

MAX_PROMPTS = 1024
"""Sessions whose system prompt is remembered; the one unused for longest is asked about again."""
STAGES: Mapping[str, Stage] = {
    "tool_call": Stage.BEFORE_TOOL,
    "turn_start": Stage.BEFORE_LLM,
    "before_agent_start": Stage.BEFORE_LLM,
    "assistant_message": Stage.AFTER_LLM,
}


def stages_of(intercepts: frozenset[str]) -> frozenset[Stage]:
    return frozenset(STAGES[name] for name in intercepts if name in STAGES)


@dataclass(frozen=True)
class Origin:
    """Whose interception it is, and the project it belongs to."""

    extension: str
    project_dir: str


class Interception:
    """`intercepts` grows with every `subscribe`. `warn` tells people, in the chat given."""

    def __init__(self, origin: Origin, calls: Calls, warn: Callable[[str, Chat], None]) -> None:
        self.intercepts: frozenset[str] = frozenset()
        self._origin = origin
        self._calls = calls
        self._warn = warn
        self._prompts: OrderedDict[str, tuple[str, str | None]] = OrderedDict()

    async def judge(self, question: Question, timeout_s: float) -> Answer:
        """Every way not to get an answer is Failed; a stage that is not intercepted lets things pass."""
        match question.subject:
            case ToolCall() as call if question.stage is Stage.BEFORE_TOOL and "tool_call" in self.intercepts:
                return await self._call(question.step, call, timeout_s)
            case LLMRequest() as request:
                return await self._turn(question.step, request, timeout_s)
            case LLMReply() as reply if "assistant_message" in self.intercepts:
                return await self._message(question.step, reply, timeout_s)
            case _:
                return CONTINUE

    def forget_prompt(self, session: str) -> None:
        """The session was cleared: its system prompt is asked about again."""
        self._prompts.pop(session, None)

    async def _call(self, step: Step, call: ToolCall, timeout_s: float) -> Answer:
        reply = await self._ask(
            lambda call_id: InterceptToolCall(call_id, call.id, call.name, call.arguments, step.extension),
            timeout_s,
            step.chat,
        )
        return Failed(reply.reason) if isinstance(reply, Lost) else judged_call(reply)

    async def _message(self, step: Step, reply: LLMReply, timeout_s: float) -> Answer:
        """Asked about what people would see by now: another extension may have rewritten or withheld it."""
        text = reply.content if reply.shown is None else reply.shown
        if not text.strip():
            return CONTINUE
        said = await self._ask(lambda call_id: InterceptAssistantMessage(call_id, text), timeout_s, step.chat)
        return Failed(said.reason) if isinstance(said, Lost) else judged_message(said, self._origin.extension)

    async def _turn(self, step: Step, request: LLMRequest, timeout_s: float) -> Answer:
        changed: Answer = CONTINUE
        if "before_agent_start" in self.intercepts:
            prompt = await self._prompt(step, request, timeout_s)
            if prompt is not None and prompt != system_prompt(request):
                changed = Modify({"messages": with_system_prompt(request, prompt)})
        if "turn_start" not in self.intercepts:
            return changed
        reply = await self._ask(lambda call_id: InterceptTurnStart(call_id, step.iteration + 1), timeout_s, step.chat)
        if isinstance(reply, Lost):
            return Failed(reply.reason)
        verdict = judged_turn(reply)
        return changed if verdict is CONTINUE else verdict

    # --- before_agent_start: once per session, and again for another model ---

    async def _prompt(self, step: Step, request: LLMRequest, timeout_s: float) -> str | None:
        """The session's system prompt as the extension wants it; None: as it is."""
        # Another agent that works on a task has a prompt of its own.
        session = step.turn_id if step.parent_turn_id else step.session_key
        model, prompt = self._prompts.get(session, ("", None))
        if model != request.model:
            prompt = await self._asked_prompt(step, request, timeout_s)
            self._prompts[session] = (request.model, prompt)
            if len(self._prompts) > MAX_PROMPTS:
                self._prompts.popitem(last=False)
        self._prompts.move_to_end(session)
        return prompt

    async def _asked_prompt(self, step: Step, request: LLMRequest, timeout_s: float) -> str | None:
        provider, _, model = request.model.partition("/")
        reply = await self._ask(
            lambda call_id: InterceptAgentStart(
                call_id,
                system_prompt=system_prompt(request),
                session_id=step.session_key,
                agent_run_id=step.turn_id,
                cwd=self._origin.project_dir,
                provider=provider,
                model=model,
            ),
            timeout_s,
            step.chat,
        )
        prompt = None if isinstance(reply, Lost) else reply.system_prompt
        problem = reply.reason if isinstance(reply, Lost) else reply.problem or prompt_problem(prompt or "")
        if problem:
            self._warn(f"before_agent_start: {problem}; keeping current system prompt", step.chat)
            return None
        return prompt

    async def _ask(self, frame: Callable[[str], Intercept], timeout_s: float, chat: Chat) -> InterceptReply | Lost:
        return await self._calls.ask(InterceptReply, frame, timeout_s, chat)
