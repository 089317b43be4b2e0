"""What happens in a session, told in the protocol's words as it happens. Runs nothing, waits for nothing.

Two sources are joined: what the loop tells watchers inside the process, and what it sends to its channel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count

import trio

from hookgate.acp.looks import Looks, came_to, shown
from hookgate.embedding.metered import Ledger
from hookgate.protocol.acp.answers import StopReason
from hookgate.protocol.acp.updates import Picture, Speaker, Spent, Text, Tool, Update, chunks
from hookgate.protocol.chat import Outbound
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.events.event import Event as Told
from hookgate.protocol.events.inside import (
    CallEnded,
    CallProgressed,
    CallWritten,
    ReplyEnded,
    StepBegan,
    ThoughtWritten,
)
from hookgate.protocol.events.payloads import GateDecision, LlmRetry, Payload, ToolExecStart, TurnEnd
from hookgate.protocol.values import ToolCall
from hookgate.protocol.values.delta import CallPiece

HEARS: tuple[type[Payload], ...] = (
    StepBegan,
    CallWritten,
    ThoughtWritten,
    LlmRetry,
    ReplyEnded,
    ToolExecStart,
    CallProgressed,
    CallEnded,
    TurnEnd,
    GateDecision,
)
TAIL_CHARS = 4000
"""Of what a running call prints; its result has it all."""
PRINTS_EVERY_S = 0.25
AGAIN = "\n\n(The answer broke off, and begins again.)\n\n"
VOID = "The model's reply broke off, and it is asked again."
CallKey = tuple[str, str]
"""Of a call without a result: its turn, and the model's id."""
NEVER_RAN = "The turn ended before this call did."


@dataclass(frozen=True)
class Scene:
    """What a narration needs to know of its session. `filled`: tokens of the conversation and of the model's window,
    0 where nobody knows that; `full`: the editor is far behind."""

    looks: Looks
    ledger: Ledger
    filled: Callable[[], tuple[int, int]]
    full: Callable[[], bool]


@dataclass
class _Known:
    """A call without a result; `id`: the editor's, `call` None: the model still writes it."""

    id: str
    call: ToolCall | None = None
    printed: str = ""
    told_at: float = 0.0


class Narration:
    """Of one session. `key` is its session key; `tell` takes an update and never waits."""

    def __init__(self, key: str, scene: Scene, tell: Callable[[Update], None]) -> None:
        self._key, self._scene, self._tell = key, scene, tell
        self._numbers, self._message = count(1), 0
        self._streamed: list[str] = []
        self._said = ""
        # The model's ids may come again in every reply.
        self._calls: dict[CallKey, _Known] = {}
        self.begin()

    def begin(self) -> None:
        """A prompt: what has become of earlier ones does not count."""
        self.quiet = False
        """Somebody has stopped it, and knows that."""
        self._status = self._stop = ""
        self._refused = False

    @property
    def stop_reason(self) -> StopReason:
        """Why the last turn has ended; who has cancelled it knows better."""
        if self._refused:
            return "refusal"
        if self._status == "step_limit":
            return "max_turn_requests"
        return "max_tokens" if (self._stop, self._status) == ("length", "completed") else "end_turn"

    def call_id(self, call: str) -> str:
        """As the editor knows it; empty: it has not heard of it."""
        return next((it.id for (_, id_), it in reversed(self._calls.items()) if id_ == call), "")

    def adopt(self, call: ToolCall) -> str:
        """The editor hears of a call that was made before this session was opened."""
        self._propose(("", call.id), call)
        return self.call_id(call.id)

    # --- from the loop ---

    def hear(self, told: Told) -> None:
        step = told.step
        if step is None or step.session_key != self._key or step.extension:
            return
        # Of what another agent does for the turn the calls are told, and its words are the turn's to tell.
        if not step.parent_turn_id:
            self._speak(told.payload)
        turn = step.turn_id
        match told.payload:
            case CallWritten(piece=piece):
                self._write((turn, piece.id), piece)
            case LlmRetry():
                self._put_down(turn)
            case ReplyEnded() as reply:
                if reply.stop in ("error", "aborted"):
                    self._put_down(turn)
                for call in reply.asked:
                    self._propose((turn, call.id), call)
            case ToolExecStart(ToolCallID=call) if known := self._calls.get(self._of(turn, call)):
                self._tell(Tool(known.id, status="in_progress"))
            case CallProgressed(call_id=call, piece=piece) if known := self._calls.get(self._of(turn, call)):
                self._print(known, piece)
            case CallEnded() as ended:
                self._ended(self._of(turn, ended.call.id), ended)
            case TurnEnd():
                self._drop(turn)
            case _:
                pass

    def _speak(self, payload: Payload) -> None:
        """What is the turn's own."""
        match payload:
            case StepBegan():
                self._begin_message()
            case ThoughtWritten(piece=piece):
                self._show(Text(piece), "agent_thought_chunk")
            case ReplyEnded() as reply:
                self._stop = reply.stop
                if reply.visible:
                    self._say(reply.visible)
                used, size = self._scene.filled()
                if reply.usage is not None and size:
                    self._tell(Spent(used, size, self._scene.ledger.total.cost_usd))
            case TurnEnd(Status=status):
                self._status = status
            case GateDecision(action="hard_abort", audit=None):
                self._refused = True
            case _:
                pass

    # --- calls ---

    def _of(self, turn: str, call: str) -> CallKey:
        """One that was adopted is of no turn."""
        return (turn, call) if (turn, call) in self._calls or ("", call) not in self._calls else ("", call)

    def _write(self, key: CallKey, piece: CallPiece) -> None:
        """It has a name from its first piece on; the rest is told when it is whole."""
        if key not in self._calls:
            known = self._calls[key] = self._new()
            self._tell(Tool(known.id, begins=True, title=piece.name, status="pending"))

    def _propose(self, key: CallKey, call: ToolCall) -> None:
        begins = key not in self._calls
        known = self._calls.setdefault(key, self._new())
        known.call = call
        self._tell(replace(self._scene.looks.proposed(call), id=known.id, begins=begins, status="pending"))

    def _new(self) -> _Known:
        return _Known(f"call-{next(self._numbers)}")

    def _put_down(self, turn: str) -> None:
        """The reply is over, or begins again: no call that it was writing will be made."""
        self._fail([key for key, it in self._calls.items() if key[0] == turn and it.call is None], VOID)

    def _drop(self, turn: str) -> None:
        self._fail([key for key in self._calls if key[0] in (turn, "")], NEVER_RAN)

    def _fail(self, keys: Iterable[CallKey], why: str) -> None:
        for key in keys:
            self._tell(Tool(self._calls.pop(key).id, status="failed", shown=(Text(why),)))

    def _print(self, known: _Known, piece: str) -> None:
        known.printed, now = (known.printed + piece)[-TAIL_CHARS:], trio.current_time()
        if now - known.told_at >= PRINTS_EVERY_S and not self._scene.full():
            known.told_at = now
            self._tell(Tool(known.id, shown=(Text(known.printed),)))

    def _ended(self, key: CallKey, ended: CallEnded) -> None:
        """Of a file that was changed the diff stays; of a call that hooks have changed it is told what ran."""
        call, looks = ended.call, self._scene.looks
        if key not in self._calls:
            self._propose(key, call)
        known = self._calls.pop(key)
        same = known.call is not None and (known.call.name, known.call.arguments) == (call.name, call.arguments)
        told = Tool(known.id) if same else replace(looks.proposed(call), id=known.id, shown=None)
        changed = looks.changed(call)
        if ended.outcome.is_error or not changed:
            told = replace(told, shown=came_to(ended.outcome))
        elif not same:
            told = replace(told, shown=changed)
        self._tell(replace(told, status="failed" if ended.outcome.is_error else "completed"))

    # --- from the channel ---

    def stream(self, text: str) -> None:
        self._streamed.append(text)
        self._chunk(text)

    def restart(self) -> None:
        """What was told cannot be taken back."""
        if self._streamed:
            self._chunk(AGAIN)
        self._begin_message()

    def sent(self, outbound: Outbound) -> None:
        """An answer was told as the model's reply."""
        if outbound.kind == "notice" and self.quiet:
            return
        if outbound.kind == "answer":
            self._say(outbound.text)
        else:
            self._begin_message()
            self._chunk(outbound.text)
        for it in shown("", outbound.media):
            self._show(it)

    def _say(self, text: str) -> None:
        """Unless it was read along, or told before."""
        if text != self._said and not "".join(self._streamed).rstrip().endswith(text.strip()):
            self._chunk(text)
        self._said = text

    def _begin_message(self) -> None:
        self._message = next(self._numbers)
        self._said = ""
        self._streamed.clear()

    def _chunk(self, text: str) -> None:
        self._show(Text(text))

    def _show(self, content: Text | Picture, speaker: Speaker = "agent_message_chunk") -> None:
        for chunk in chunks(speaker, content, f"message-{self._message}"):
            self._tell(chunk)
