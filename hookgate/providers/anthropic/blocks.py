"""One answer of Anthropic's messages API: its content blocks while their pieces come. Knows no connection."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import JsonObject, LLMReply, LLMRequest, ProposedCall, Usage
from hookgate.protocol.values.delta import CallPiece, Counted, Delta, Thought
from hookgate.providers.anthropic.thoughts import Block
from hookgate.providers.foreign import count, items, member, text
from hookgate.providers.names import NewCallIds, ToolNames

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


@dataclass(slots=True)
class _Open:
    """A content block while its pieces come; `index` and `start` are what it was announced with, `id` is that of its
    call."""

    index: int
    start: JsonObject
    id: str = ""
    pieces: list[str] = field(default_factory=list[str])
    signature: list[str] = field(default_factory=list[str])
    ended: bool = False

    @property
    def kind(self) -> str:
        return text(self.start, "type")

    @property
    def written(self) -> str:
        return "".join(self.pieces)

    @property
    def arguments(self) -> str:
        """They come in pieces, or whole with the block's start."""
        return self.written or encode(member(self.start, "input")).decode()

    def thought(self) -> Block:
        if self.kind == "redacted_thinking":
            return dict(self.start)
        return {"type": "thinking", "thinking": self.written, "signature": "".join(self.signature)}


class Reading:
    """Makes sense of one answer. `on_text` gets its text and its calls as they come."""

    def __init__(self, on_text: Callable[[Delta], None], names: ToolNames, ids: NewCallIds) -> None:
        self.finish = ""
        self._on_text, self._names, self._ids = on_text, names, ids
        self._blocks: list[_Open] = []
        self._latest: dict[int, _Open] = {}
        self._usage: dict[str, int] = {}

    @property
    def complete(self) -> bool:
        return bool(self.finish)

    @property
    def begun(self) -> bool:
        return bool(self._blocks)

    @property
    def empty(self) -> bool:
        return not self._written("text").strip() and not any(self._of("tool_use"))

    def take(self, event: JsonObject) -> bool:
        match event.get("type"):
            case "message_start":
                self._count(member(member(event, "message"), "usage"))
            case "content_block_start":
                self._start(count(event, "index"), member(event, "content_block"))
            case "content_block_delta":
                self._add(count(event, "index"), member(event, "delta"))
            case "content_block_stop":
                self._end(self._latest.get(count(event, "index")))
            case "message_delta":
                self._count(member(event, "usage"))
                self.finish = text(member(event, "delta"), "stop_reason") or self.finish
            case "message_stop":
                return True
            case _:
                pass  # ping, and what is invented later
        return False

    def take_whole(self, body: JsonObject) -> None:
        self._count(member(body, "usage"))
        for index, block in enumerate(items(body, "content")):
            self._start(index, block)
            self._end(self._latest[index])
        self.finish = text(body, "stop_reason")

    def _count(self, usage: JsonObject) -> None:
        # Of message_start and message_delta each may leave out what the other has said.
        self._usage |= {name: count(usage, name) for name in usage}
        if (used := _usage(self._usage)) is not None:
            self._on_text(Counted(used))

    def _start(self, index: int, block: JsonObject) -> None:
        """A number that was given before begins another block: what has been told of the first one stays true."""
        started = self._latest[index] = _Open(index, block)
        self._blocks.append(started)
        started.signature.append(text(block, "signature"))
        if started.kind == "tool_use":
            started.id = self._ids.of(text(block, "id"))
            self._tell(started, "")
        self._write(started, text(block, "text") or text(block, "thinking"))

    def _add(self, index: int, delta: JsonObject) -> None:
        block = self._latest.get(index)
        if block is None:
            return
        match delta.get("type"):
            case "text_delta":
                self._write(block, text(delta, "text"))
            case "thinking_delta":
                self._write(block, text(delta, "thinking"))
            case "input_json_delta":
                self._write(block, text(delta, "partial_json"))
            case "signature_delta":
                block.signature.append(text(delta, "signature"))
            case _:
                pass

    def _write(self, block: _Open, piece: str) -> None:
        block.pieces.append(piece)
        if piece and block.kind == "text":
            self._on_text(piece)
        elif piece and block.kind == "thinking":
            self._on_text(Thought(piece))
        elif piece and block.kind == "tool_use":
            self._tell(block, piece)

    def _tell(self, block: _Open, arguments: str, *, ended: bool = False) -> None:
        if not block.ended:
            self._on_text(CallPiece(block.id, self._name(block), arguments, ended))

    def _name(self, block: _Open) -> str:
        return self._names.back(text(block.start, "name"))

    def _end(self, block: _Open | None) -> None:
        if block is not None and block.kind == "tool_use":
            self._tell(block, "" if block.written else block.arguments, ended=True)
            block.ended = True

    def _of(self, *kinds: str) -> list[_Open]:
        return sorted((block for block in self._blocks if block.kind in kinds), key=lambda block: block.index)

    def _written(self, kind: str) -> str:
        return "".join(block.written for block in self._of(kind))

    def thoughts(self) -> list[Block]:
        return [block.thought() for block in self._of("thinking", "redacted_thinking")]

    def reply(self, request: LLMRequest) -> LLMReply:
        uses = self._of("tool_use")
        for use in uses:
            self._end(use)
        calls = (ProposedCall(use.id, self._name(use), use.arguments) for use in uses)
        return LLMReply(
            model=request.model,
            content=self._written("text"),
            tool_calls=tuple(calls),
            finish_reason=_FINISH.get(self.finish, self.finish) or "stop",
            usage=_usage(self._usage),
            reasoning=self._written("thinking"),
        )


def _usage(counted: dict[str, int]) -> Usage | None:
    """The API counts cached input beside `input_tokens`, hookgate within the prompt."""
    if not counted:
        return None
    read, written = counted.get("cache_read_input_tokens", 0), counted.get("cache_creation_input_tokens", 0)
    prompt = counted.get("input_tokens", 0) + read + written
    return Usage(prompt, counted.get("output_tokens", 0), read, written)
