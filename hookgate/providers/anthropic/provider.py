"""Anthropic's messages API. Knows no connection: `endpoint.http` brings the events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager

from hookgate.protocol.codec import Encoded, decode, encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.identity import known_again
from hookgate.protocol.interfaces import Provider
from hookgate.protocol.values import Json, JsonObject, LLMReply, LLMRequest, Message, ProposedCall, ToolSpec
from hookgate.protocol.values.delta import Delta
from hookgate.providers.anthropic.blocks import Reading
from hookgate.providers.anthropic.thoughts import Block, Thoughts
from hookgate.providers.endpoint.connection import USUAL, Endpoint, open_endpoint
from hookgate.providers.endpoint.patience import Deadlines
from hookgate.providers.foreign import object_of
from hookgate.providers.media import Picture, parse_media
from hookgate.providers.names import NewCallIds, ToolNames, call_id, tool_names
from hookgate.providers.openai.options import as_messages_options

ANTHROPIC_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
MAX_TOKENS = 4096
"""The API has no default of its own."""


@asynccontextmanager
async def open_anthropic(
    api_key: str | None,
    base_url: str = ANTHROPIC_URL,
    deadlines: Deadlines = USUAL,
    headers: Iterable[tuple[str, str]] = (),
) -> AsyncGenerator[Provider, None]:
    """A provider for `{base_url}/v1/messages` with its connections; leaving closes them. `base_url` may end in /v1.

    Raises ValueError for a URL or header that cannot be.
    """
    key = (api_key or "").strip()
    own = {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})
    root = base_url.strip().rstrip("/").removesuffix("/v1")
    async with open_endpoint(root, "/v1/messages", own | dict(headers), deadlines) as endpoint:
        yield _Anthropic(endpoint)


class _Anthropic:
    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._thoughts = Thoughts()

    async def complete(self, request: LLMRequest, on_text: Callable[[Delta], None]) -> LLMReply:
        names = tool_names(request)
        reading = Reading(on_text, names, NewCallIds(request))
        body = encode(request_members(request, names, self._thoughts))
        await self._endpoint.post(body, reading)
        if reading.empty:
            raise self._endpoint.site.failure("empty", f"answered with nothing ({reading.finish or 'no reason'})")
        reply = reading.reply(request)
        self._thoughts.keep(reply, reading.thoughts())
        return reply


# --- the request --------------------------------------------------------------------------------------------


def request_members(request: LLMRequest, names: ToolNames, thoughts: Thoughts) -> dict[str, object]:
    """The body. Options are members of it, in whichever words; one that is null is left out."""
    system = "\n\n".join(message.content for message in request.messages if message.role == "system")
    options = as_messages_options(request.options, names)
    limit, budget = options.get("max_tokens"), _budget(options)
    members: dict[str, object] = {
        **options,
        "max_tokens": limit or budget + MAX_TOKENS,
        "model": request.model,
        "system": system or None,
        "messages": _turns(request.messages, names, thoughts),
        "stream": True,
    }
    if request.tools:
        members["tools"] = _tools(request.tools, names)
    # A budget that leaves no room for an answer is refused, with the whole request.
    if thoughts.missing(request.messages) or (isinstance(limit, int) and 0 < limit <= budget):
        members.pop("thinking", None)
    return {name: value for name, value in members.items() if value is not None}


def _budget(options: JsonObject) -> int:
    """Tokens to think with; 0: none are named."""
    thinking = options.get("thinking")
    budget = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else None
    return budget if isinstance(budget, int) else 0


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
            # The API takes a failure in words alone.
            failed = message.is_error and {it["type"] for it in content} == {"text"}
            flags = {"is_error": True} if failed else {}
            yield {"type": "tool_result", "tool_use_id": call_id(message.tool_call_id), "content": content, **flags}
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


@known_again(most=64)
def _tools(specs: Sequence[ToolSpec], names: ToolNames) -> Encoded:
    return Encoded(encode([_tool(spec, names) for spec in specs]))


def _tool(spec: ToolSpec, names: ToolNames) -> dict[str, object]:
    schema: dict[str, object] = {"type": "object", **spec.parameters}
    return {"name": names.out(spec.name), "description": spec.description, "input_schema": schema}
