"""What happens in a conversation, told in the order and the words of RPC's events. Runs nothing, waits for nothing.

Two sources are joined: what the loop tells watchers inside the process, and what it sends to its channel.
"""

from __future__ import annotations

from collections.abc import Callable

import trio

from hookgate.embedding.history import redacted_object, timestamp
from hookgate.embedding.metered import Ledger
from hookgate.loop.sessions.transcript import NO_RESULT
from hookgate.protocol.chat import Outbound
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event as Told
from hookgate.protocol.events.inside import CallEnded, CallProgressed, CallWritten, Prompted, ReplyEnded, StepBegan
from hookgate.protocol.events.payloads import GateDecision, LlmRetry, Payload, TurnEnd
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.rpc import events
from hookgate.protocol.rpc.blocks import CallBlock, Text, result_content, said
from hookgate.protocol.values import ToolCall
from hookgate.protocol.values.delta import CallPiece
from hookgate.protocol.zot.names import EXTENSION

HEARS: tuple[type[Payload], ...] = (
    Prompted,
    StepBegan,
    CallWritten,
    LlmRetry,
    ReplyEnded,
    CallProgressed,
    CallEnded,
    TurnEnd,
    GateDecision,
)
OWN = "hookgate"
"""In the place of an extension's name where hookgate itself has something to say."""
CANCELLED = "context canceled"
"""zot's word for a turn that was aborted."""
WITHHELD = " withheld the reply"
PARAGRAPH = 2
"""Line breaks before one."""

Tell = Callable[[events.Event], None]


@dataclass(frozen=True)
class Scene:
    """What a narration needs to know of the conversation."""

    redactor: Redactor
    ledger: Ledger
    max_steps: int


class Narration:
    """Of one prompt, from the message to `done`."""

    """`scope`: the run of that prompt; once it is cancelled notices about it are no news."""

    def __init__(self, scene: Scene, tell: Tell, scope: trio.CancelScope) -> None:
        self._scene, self._tell, self._scope = scene, tell, scope
        self._open = False
        self._speaking, self._has_text, self._line_breaks = False, False, PARAGRAPH
        # Calls of the reply that is coming, by id: whether they are still being written.
        self._written: dict[str, bool] = {}
        self._unanswered: dict[str, None] = {}
        self._failures: list[str] = []
        self._status = ""
        self._blocked_by_extension = False

    # --- from the loop ---

    def hear(self, told: Told) -> None:
        match told.payload:
            case Prompted(inbound=inbound, at=at):
                self._tell(events.UserMessage(said(inbound.text, inbound.media), _time(at, told)))
            case StepBegan(number=number):
                self._open, self._speaking, self._has_text, self._line_breaks = True, False, False, PARAGRAPH
                self._scene.ledger.begin()
                self._tell(events.TurnStart(number))
            case CallWritten(piece=piece):
                self._write(piece)
            case LlmRetry():
                self._put_down()
            case ReplyEnded() as reply:
                self._reply(reply, _time(reply.at, told))
            case CallProgressed(call_id=call_id, piece=text):
                self._tell(events.ToolProgress(call_id, text))
            case CallEnded() as ended:
                self._unanswered.pop(ended.call.id, None)
                outcome = ended.outcome
                self._tell(events.ToolResult(ended.call.id, outcome.is_error, result_content(outcome)))
            case TurnEnd(Status=status):
                self._status = status
            case GateDecision(action="abort_turn", stage=Stage.BEFORE_LLM, hook=hook, audit=None):
                self._blocked_by_extension = hook.startswith(EXTENSION)
            case _:
                pass

    def hear_task(self, told: Told) -> None:
        """What an agent does that works on a task for this one: it costs, and the call that waits for it tells."""
        if isinstance(told.payload, ReplyEnded):
            ledger = self._scene.ledger
            self._spent(ledger.price(told.step.model if told.step else "", told.payload.usage))

    def text(self, piece: str) -> None:
        self._speak()
        self._has_text = True
        self._tell(events.TextDelta(piece))
        ends = len(piece) - len(piece.rstrip("\n"))
        self._line_breaks = ends + (self._line_breaks if ends == len(piece) else 0)

    def restart(self) -> None:
        """The reply is written anew. Whoever shows one message at a time begins it again, as zot does when one
        starts; whoever only prints what comes has a paragraph between the two."""
        if missing := "\n" * (PARAGRAPH - self._line_breaks):
            self._tell(events.TextDelta(missing))
        self._line_breaks = PARAGRAPH
        self._tell(events.AssistantStart())

    def sent(self, outbound: Outbound) -> None:
        """What the loop has to say to people besides the model's own words."""
        text = outbound.text
        match outbound.kind:
            case "error":
                self._failures.append(text)
            case "output" if text:
                self._tell(events.ExtDisplay(OWN, text))
            case "notice" if not self._scope.cancel_called:
                self._tell(_note(text))
            case _:
                pass

    def end(self, failure: str = "") -> None:
        """It is over, whatever ended it. `failure`: where the loop could not say so itself."""
        if failure:
            self._failures.append(failure)
        for call_id in self._unanswered:
            self._tell(events.ToolResult(call_id, True, (Text(NO_RESULT),)))
        if self._open:
            self._close(self._failures[0] if self._failures else "")
        for failure in self._failures if not self._blocked_by_extension else ():
            self._tell(events.ErrorEvent(self._worded(failure)))
        self._tell(events.Done())

    # --- one model call ---

    def _reply(self, reply: ReplyEnded, time: str) -> None:
        """The partial text of a reply that broke off counts as a message, if there is any."""
        if reply.stop not in ("error", "aborted"):
            self._whole(reply, time)
        else:
            self._put_down()
            since = self._scene.ledger.since
            if self._speaking or reply.stop == "aborted" or since != events.Spent():
                self._spent(since)
            self._message(reply.visible, (), time)
        failure = reply.failure or (CANCELLED if reply.stop == "aborted" else "")
        self._open = False
        self._tell(events.TurnEnd(reply.stop, failure))

    def _whole(self, reply: ReplyEnded, time: str) -> None:
        self._speak()
        if not self._has_text and reply.visible and reply.visible.strip():
            # A hook has said it, and nothing came word by word: many clients print nothing but deltas.
            self.text(reply.visible)
        calls = tuple(self._call(call) for call in reply.asked)
        written = self._put_down()
        for call in calls:
            if call.id not in written:
                self._write(CallPiece(call.id, call.name, encode(call.args).decode(), ended=True))
        self._written.clear()
        self._spent(self._scene.ledger.since)
        self._message(reply.visible, calls, time)
        for call in calls:
            self._tell(events.ToolCall(call.id, call.name, call.args))
        self._unanswered = {call.id: None for call in calls}

    def _write(self, piece: CallPiece) -> None:
        self._speak()
        if piece.id not in self._written:
            self._tell(events.ToolUseStart(piece.id, piece.name))
        if piece.arguments:
            self._tell(events.ToolUseArgs(piece.id, piece.arguments))
        if piece.ended:
            self._tell(events.ToolUseEnd(piece.id))
        self._written[piece.id] = not piece.ended

    def _put_down(self) -> frozenset[str]:
        """The reply is over, or begins again: no call goes on. Which there were."""
        for call_id, unfinished in self._written.items():
            if unfinished:
                self._tell(events.ToolUseEnd(call_id))
        written, self._written = frozenset(self._written), {}
        return written

    def _call(self, call: ToolCall) -> CallBlock:
        return CallBlock(call.id, call.name, redacted_object(call.arguments, self._scene.redactor))

    def _spent(self, now: events.Spent) -> None:
        counts = (now.input, now.output, now.cache_read, now.cache_write, now.cost_usd)
        self._tell(events.UsageEvent(*counts, self._scene.ledger.total))

    def _message(self, visible: str | None, calls: tuple[CallBlock, ...], time: str) -> None:
        """Nothing where there is neither text that may be seen nor a call."""
        content = (*said(visible or ""), *calls)
        if content:
            self._tell(events.AssistantMessage(content, time))

    def _speak(self) -> None:
        """Once a call, as soon as the model is heard: an endpoint that refuses has not begun to answer."""
        if not self._speaking:
            self._speaking = True
            self._tell(events.AssistantStart())

    def _close(self, failure: str) -> None:
        self._open = False
        stop = "aborted" if self._scope.cancel_called else "error"
        self._tell(events.TurnEnd(stop, CANCELLED if self._scope.cancel_called else failure))

    def _worded(self, failure: str) -> str:
        return f"max steps ({self._scene.max_steps}) exceeded" if self._status == "step_limit" else failure


def _note(text: str) -> events.ExtNotify:
    extension, withheld, _ = text.partition(WITHHELD)
    return events.ExtNotify(extension if withheld else OWN, "warn", text)


def _time(at: float, told: Told) -> str:
    """The message's own where it is stored already."""
    return timestamp(at) if at else told.time
