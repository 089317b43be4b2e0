"""Anthropic's messages API. Knows no connection: `http.py` brings the events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from hookgate.protocol.codec import decode, encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.interfaces import Provider
from hookgate.protocol.values import Json, JsonObject, LLMReply, LLMRequest, Message, ProposedCall, ToolSpec, Usage
from hookgate.providers.foreign import count, items, member, object_of, text
from hookgate.providers.http import IDLE_S, Endpoint, open_endpoint
from hookgate.providers.media import Picture, parse_media
from hookgate.providers.names import ToolNames, call_id, new_call_ids, tool_names
from hookgate.providers.thoughts import Block, Thoughts

ANTHROPIC_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
MAX_TOKENS = 4096
"""The API has no default of its own."""

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}


@asynccontextmanager
async def open_anthropic(
    api_key: str | None,
    base_url: str = ANTHROPIC_URL,
    idle_timeout_s: float = IDLE_S,
    headers: Iterable[tuple[str, str]] = (),
) -> AsyncGenerator[Provider, None]:
    """A provider for `{base_url}/v1/messages` with its connections; leaving closes them. `base_url` may end in /v1.

    `idle_timeout_s`: seconds of silence that end a call. Raises ValueError for a URL or header that cannot be.
    """
    key = (api_key or "").strip()
    own = {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})
    root = base_url.strip().rstrip("/").removesuffix("/v1")
    async with open_endpoint(root, own | dict(headers), idle_timeout_s) as endpoint:
        yield _Anthropic(endpoint)


class _Anthropic:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._thoughts = Thoughts()

    async def complete(self, request: LLMRequest, on_text: Callable[[str], None]) -> LLMReply:
        names = tool_names(request)
        reading = _Reading(on_text)
        body = encode(request_members(request, names, self._thoughts))
        await self._endpoint.post("/v1/messages", body, reading)
        if reading.empty:
            raise self._endpoint.site.failure("empty", f"answered with nothing ({reading.finish or 'no reason'})")
        reply = reading.reply(request, names)
        self._thoughts.keep(reply, reading.thoughts())
        return reply


# --- the request --------------------------------------------------------------------------------------------


def request_members(request: LLMRequest, names: ToolNames, thoughts: Thoughts) -> dict[str, object]:
    """The body. Options are members of it; one that is null is left out."""
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    members: dict[str, object] = {
        **request.options,
        "max_tokens": request.options.get("max_tokens") or MAX_TOKENS,
        "model": request.model,
        "system": system or None,
        "messages": _turns(request.messages, names, thoughts),
        "stream": True,
    }
    if request.tools:
        members["tools"] = [_tool(spec, names) for spec in request.tools]
    if thoughts.missing(request.messages):
        members.pop("thinking", None)
    return {name: value for name, value in members.items() if value is not None}


def _turns(messages: Sequence[Message], names: ToolNames, thoughts: Thoughts) -> list[dict[str, object]]:
    """User and assistant in strict alternation, the user first: neighbours of one role are joined."""
    turns: list[tuple[str, list[Block]]] = []
    for message in messages:
        role = "assistant" if message.role == "assistant" else "user"
        blocks = list(_blocks(message, names, thoughts))
        if blocks and turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((role, blocks))
    if turns and turns[0][0] == "assistant":
        turns.insert(0, ("user", [_text_block("(earlier messages are left out)")]))
    return [{"role": role, "content": blocks} for role, blocks in turns]


def _blocks(message: Message, names: ToolNames, thoughts: Thoughts) -> Iterator[Block]:
    """Empty text is left out everywhere: the API refuses it."""
    match message.role:
        case "system":
            return
        case "tool":
            content = [*_texts(message.content), *_media(message.media)]
            yield {"type": "tool_result", "tool_use_id": call_id(message.tool_call_id), "content": content}
        case "user":
            yield from _media(message.media)
            yield from _texts(message.content)
        case "assistant":
            yield from thoughts.before(message)
            yield from _texts(message.content)
            for call in message.tool_calls:
                yield _call(call, names)


def _texts(words: str) -> list[Block]:
    return [_text_block(words)] if words.strip() else []


def _text_block(words: str) -> Block:
    return {"type": "text", "text": words}


def _media(media: Sequence[str]) -> Iterator[Block]:
    for url in media:
        match parse_media(url):
            case Picture(data=""):
                yield {"type": "image", "source": {"type": "url", "url": url}}
            case Picture(media_type=media_type, data=data):
                yield {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}
            case note:
                yield _text_block(note)


def _call(call: ProposedCall, names: ToolNames) -> Block:
    return {
        "type": "tool_use",
        "id": call_id(call.id),
        "name": names.out(call.name),
        "input": _input(call.arguments),
    }


def _input(arguments: str) -> JsonObject:
    """The API takes an object alone; what the model wrote instead is kept as text, so that it sees its mistake."""
    try:
        value: Json = decode(arguments or "{}")
    except BadMessage:
        return {"unreadable": arguments}
    return object_of(value) if isinstance(value, dict) else {"unreadable": arguments}


def _tool(spec: ToolSpec, names: ToolNames) -> dict[str, object]:
    schema: dict[str, object] = {"type": "object", **spec.parameters}
    return {"name": names.out(spec.name), "description": spec.description, "input_schema": schema}


# --- the answer ---------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Open:
    """A content block while its pieces come; `start` is what it was announced with."""

    start: JsonObject
    pieces: list[str] = field(default_factory=list[str])
    signature: str = ""

    @property
    def kind(self) -> str:
        return text(self.start, "type")

    @property
    def written(self) -> str:
        return "".join(self.pieces)

    def thought(self) -> Block:
        if self.kind == "redacted_thinking":
            return dict(self.start)
        return {"type": "thinking", "thinking": self.written, "signature": self.signature}


class _Reading:
    def __init__(self, on_text: Callable[[str], None]) -> None:
        self.finish = ""
        self._on_text = on_text
        self._blocks: dict[int, _Open] = {}
        self._usage: dict[str, int] = {}

    @property
    def complete(self) -> bool:
        return bool(self.finish)

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
            case "message_delta":
                self._count(member(event, "usage"))
                self.finish = text(member(event, "delta"), "stop_reason") or self.finish
            case "message_stop":
                return True
            case _:
                pass  # ping, content_block_stop, and what is invented later
        return False

    def take_whole(self, body: JsonObject) -> None:
        self._count(member(body, "usage"))
        for index, block in enumerate(items(body, "content")):
            self._start(index, block)
        self.finish = text(body, "stop_reason")

    def _count(self, usage: JsonObject) -> None:
        # Of message_start and message_delta each may leave out what the other has said.
        self._usage |= {name: count(usage, name) for name in usage}

    def _start(self, index: int, block: JsonObject) -> None:
        started = self._blocks[index] = _Open(block)
        started.signature = text(block, "signature")
        self._write(started, text(block, "text") or text(block, "thinking"))

    def _add(self, index: int, delta: JsonObject) -> None:
        block = self._blocks.get(index)
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
                block.signature += text(delta, "signature")
            case _:
                pass

    def _write(self, block: _Open, piece: str) -> None:
        block.pieces.append(piece)
        if piece and block.kind == "text":
            self._on_text(piece)

    def _of(self, *kinds: str) -> list[_Open]:
        return [block for _, block in sorted(self._blocks.items()) if block.kind in kinds]

    def _written(self, kind: str) -> str:
        return "".join(block.written for block in self._of(kind))

    def thoughts(self) -> list[Block]:
        return [block.thought() for block in self._of("thinking", "redacted_thinking")]

    def reply(self, request: LLMRequest, names: ToolNames) -> LLMReply:
        uses = self._of("tool_use")
        ids = new_call_ids((text(use.start, "id") for use in uses), request)
        calls = (_proposed(use, given, names) for use, given in zip(uses, ids, strict=True))
        return LLMReply(
            model=request.model,
            content=self._written("text"),
            tool_calls=tuple(calls),
            finish_reason=_FINISH.get(self.finish, self.finish) or "stop",
            usage=_usage(self._usage),
            reasoning=self._written("thinking"),
        )


def _proposed(use: _Open, given: str, names: ToolNames) -> ProposedCall:
    """Arguments come in pieces, or whole with the block's start."""
    arguments = use.written or encode(member(use.start, "input")).decode()
    return ProposedCall(given, names.back(text(use.start, "name")), arguments)


def _usage(counted: dict[str, int]) -> Usage | None:
    """The API counts cached input beside `input_tokens`, hookgate within the prompt."""
    if not counted:
        return None
    read, written = counted.get("cache_read_input_tokens", 0), counted.get("cache_creation_input_tokens", 0)
    prompt = counted.get("input_tokens", 0) + read + written
    return Usage(prompt, counted.get("output_tokens", 0), read, written)
