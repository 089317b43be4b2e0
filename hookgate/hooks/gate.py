"""The gate: every hook, in order, at every stage. The only thing the loop knows about hooks.

Who is asked, and what becomes of the answers, is the walk's (`walk.py`). The gate does not know how a hook is
reached, nor what the loop does with its verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar, cast

import trio

from hookgate.hooks import decision
from hookgate.hooks.asking import Asking
from hookgate.hooks.audit import Audits
from hookgate.hooks.chains import Chains
from hookgate.hooks.emitter import Emitter
from hookgate.hooks.offered import Fits, Offered, fitting
from hookgate.hooks.recordings import Recordings
from hookgate.hooks.rules import Mount
from hookgate.hooks.stats import Stats
from hookgate.hooks.verdicts import Answered, Denied, Dropped, Replied
from hookgate.hooks.walk import Walk, abort
from hookgate.protocol.approval import Wish
from hookgate.protocol.chat import ChatMessage, Inbound, Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.events.payloads import HookModified
from hookgate.protocol.hook.answers import Abort, Answer, Ask, Deny, Drop, Refuse, ReplyWith, Respond
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.interfaces import Recall, Redactor
from hookgate.protocol.values import Finished, LLMReply, LLMRequest, Step, ToolCall, ToolResult, ToolSpec

M = TypeVar("M", Inbound, Outbound)
S = TypeVar("S", LLMRequest, LLMReply, Finished)


class Gate:
    """Hooks can be exchanged at any time (`mount`)."""

    def __init__(
        self,
        providers: frozenset[str] = frozenset(),
        redactor: Redactor | None = None,
        spec_problem: Callable[[ToolSpec], str | None] = lambda _spec: None,
    ) -> None:
        self.events = Emitter(redactor)
        self._asking = Asking(self.events, self.redacted)
        self.audits = Audits(self._asking.ask)
        self.recordings = Recordings(self.events)
        self._offered = Offered(spec_problem, self.events.emit)
        self._redactor = redactor
        self._walk = Walk(self._asking, self.audits, self.events, self._offered, providers, redactor, Chains())

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """In the order in which they are asked."""
        return self._walk.chains.mounts

    @property
    def chains(self) -> Chains:
        """The hooks that stand now: who asks later whether others have come keeps it."""
        return self._walk.chains

    @property
    def stats(self) -> Mapping[str, Stats]:
        """How each hook has done, by its name."""
        return self._asking.stats

    def redacted(self, text: str) -> str:
        """As others may read it."""
        return text if self._redactor is None else self._redactor.text(text)

    def mount(self, mounts: Sequence[Mount]) -> None:
        """Replace all hooks at once."""
        self._walk.chains = Chains(mounts)
        self._asking.mount(self.mounts)
        self.events.listen(self.mounts)

    def offered(self, step: Step, request: LLMRequest, fits: Fits = lambda _spec: True) -> LLMRequest:
        """With the tools that hooks have declared, where they match. `fits`: whether whoever asks may have it."""
        return self._offered.declared(self._walk.chains.at[Stage.BEFORE_TOOL], step, request, fits)

    def holds_text(self, step: Step, model: str) -> bool:
        """Whether a hook may still change what the model says, or keep it, so that nobody may read along."""
        for stage in (Stage.AFTER_LLM, Stage.BEFORE_SEND):
            for mount in self._walk.chains.at[stage]:
                allowed = mount.rules.may_modify if stage is Stage.AFTER_LLM else None
                changes = mount.answers_at(stage) and (allowed is None or "content" in allowed)
                if changes and mount.rules.match.matches(step, "", model):
                    return True
        return False

    @property
    def judges_messages(self) -> bool:
        """Whether a hook stands before turns: then no message joins a conversation before it has been asked."""
        return bool(self._walk.chains.at[Stage.ON_MESSAGE])

    async def on_message(
        self, step: Step, kept: Recall | None = None, *, steers: bool = False
    ) -> Inbound | Replied | Dropped:
        """The step's inbound as the hooks left it. `steers`: it joins a turn that runs. Raises TurnAborted."""
        said = step.inbound
        message = ChatMessage(said.text, said.media, "steer" if steers else "message", said.message_id)
        return await self._message(Question(Stage.ON_MESSAGE, step, message), said, kept)

    async def before_send(self, step: Step, outbound: Outbound, kept: Recall | None = None) -> Outbound | Dropped:
        """What goes to the chat, as the hooks left it; Dropped: it is withheld. hookgate's own lines are not asked
        about."""
        message = ChatMessage(outbound.text, outbound.media, outbound.kind, in_reply_to=step.inbound.message_id)
        passed = await self._message(Question(Stage.BEFORE_SEND, step, message), outbound, kept)
        assert not isinstance(passed, Replied)  # noqa: S101 - no answer at that stage
        return passed

    async def _message(self, question: Question, message: M, kept: Recall | None) -> M | Replied | Dropped:
        (asked, ended), stage = await self._walk.over(question, kept=kept), question.stage
        match ended:
            case Mount(name=hook), ReplyWith(text=text, media=media):
                self.events.emit(HookModified(hook, stage, ("reply",)), question.step)
                return Replied(hook, self.redacted(text), media)
            case Mount(name=hook), Drop() as drop:
                self.events.emit(HookModified(hook, stage, ("message",)), question.step)
                dropped = decision.dropped(hook, stage, drop)
                return replace(dropped, reason=self.redacted(dropped.reason), tell=self.redacted(dropped.tell))
            case _:
                passed = cast("ChatMessage", asked.subject)
                return replace(message, text=passed.text, media=passed.media)

    async def before_llm(self, step: Step, request: LLMRequest, fits: Fits = lambda _spec: True) -> LLMRequest:
        """The request as the hooks left it, the tools that hooks own included where they fit."""
        passed = fitting(await self._passed(step, Stage.BEFORE_LLM, self.offered(step, request, fits)), fits)
        self._offered.remember(self._walk.chains.at[Stage.BEFORE_TOOL], step, passed)
        return passed

    def brought(self, extension: str, tools: Iterable[str]) -> None:
        """An extension, by its name as a hook, has registered these tools."""
        self._offered.brought(extension, tools)

    def others_absent(self, why: Callable[[str], str]) -> None:
        """Whom to ask for why a tool, by its name, is not there just now that was brought by no hook."""
        self._offered.absent = why

    def away(self, step: Step, tool: str, model: str) -> str:
        """Why a tool that the model was offered cannot be called now, its hook or extension being started again, or
        its server connected; else empty."""
        return self._offered.away(self._walk.chains.at[Stage.BEFORE_TOOL], step, tool, model)

    async def after_llm(self, step: Step, reply: LLMReply) -> LLMReply:
        return await self._passed(step, Stage.AFTER_LLM, reply)

    async def after_tool(self, step: Step, finished: Finished) -> ToolResult:
        return (await self._passed(step, Stage.AFTER_TOOL, finished)).result

    async def _passed(self, step: Step, stage: Stage, subject: S) -> S:
        """A patch never changes the kind of a value, and only calls and messages have answers that end a walk."""
        if not self._walk.chains.at[stage]:
            return subject
        asked, _ended = await self._walk.over(Question(stage, step, subject))
        return cast("S", asked.subject)

    async def before_tool(
        self, step: Step, call: ToolCall, owner_of: Callable[[str], str] | None = None
    ) -> ToolCall | Answered | Denied:
        """The call as the hooks left it, for approval and execution, or why it does not run. All are asked but the
        owner of the tool that the call is for by then, which answers in `answer_owned`."""
        if not self._walk.chains.mounts:
            return call
        asked, ended = await self._walk.over(Question(Stage.BEFORE_TOOL, step, call), owner_of)
        passed = asked.subject
        assert isinstance(passed, ToolCall)  # noqa: S101 - a patch never changes the kind of a value
        match ended:
            case None:
                return passed
            case mount, Respond(call=said, result=result):
                self.events.emit(HookModified(mount.name, Stage.BEFORE_TOOL, ("result",), passed.name), step)
                return Answered(
                    passed, replace(passed, **said), result, mount.name, mount.rules.may_respond_unapproved
                )
            case mount, answer:
                return Denied(passed, decision.denial(mount.name, cast("Deny", answer)))

    async def judged_by_guards(self, step: Step, call: ToolCall) -> Denied | None:
        """By hookgate's own alone: what hooks have made of a call may be read as another one."""
        _, ended = await self._walk.by_guards(Question(Stage.BEFORE_TOOL, step, call))
        if ended is None:
            return None
        mount, answer = ended
        return Denied(call, decision.denial(mount.name, cast("Deny", answer)))

    async def approve_tool(self, step: Step, call: ToolCall) -> ToolResult | tuple[Wish, ...]:
        """The refusing result, or who wants a person asked; an empty tuple: approved, or nobody to ask. Approvers are
        asked side by side, and the first refusal cancels the rest."""
        if not self._walk.chains.at[Stage.APPROVE_TOOL]:
            return ()
        question = Question(Stage.APPROVE_TOOL, step, call)
        self._walk.audit(question)
        matching = self._walk.chains.matching(question)
        approvers = [mount for mount in matching if mount.answers_at(question.stage)]
        answers: dict[str, Answer] = {}
        if len(approvers) == 1:
            answers[approvers[0].name] = await self._asking.ask(approvers[0], question)
        elif approvers:
            async with trio.open_nursery() as nursery:

                async def ask(mount: Mount) -> None:
                    answers[mount.name] = answer = await self._asking.ask(mount, question)
                    if isinstance(answer, Refuse):
                        nursery.cancel_scope.cancel()

                for mount in approvers:
                    nursery.start_soon(ask, mount)
        for name, answer in answers.items():
            if isinstance(answer, Refuse):
                return decision.refusal(f"hook:{name}", answer.reason)
        asks = [(mount.name, it) for mount in approvers if isinstance(it := answers[mount.name], Ask)]
        return tuple(decision.wish(name, it) for name, it in asks)

    async def answer_owned(self, step: Step, call: ToolCall, spec: ToolSpec) -> ToolResult:
        """Run an injected tool: its owner's before_tool, with the tool's own timeout, must respond."""
        owner = spec.owner
        mount = next((it for it in self._walk.chains.at[Stage.BEFORE_TOOL] if it.name == owner), None)
        if mount is None or not mount.stands_at(Stage.BEFORE_TOOL):
            return decision.not_asked(owner)
        match await self._asking.ask(mount, Question(Stage.BEFORE_TOOL, step, call), spec.timeout_s):
            case Respond(result=result):
                return result
            case Deny() as answer:
                return decision.denial(mount.name, answer)
            case Abort() as answer:
                abort(mount, Stage.BEFORE_TOOL, answer)
            case _:
                return decision.not_responded(spec.owner)
