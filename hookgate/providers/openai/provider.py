"""Chat completions as OpenAI defined them and as Ollama, vLLM, llama.cpp, OpenRouter and others speak them.

Strict in what it sends, lenient in what it reads. Knows no connection: `endpoint.http` brings the events.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

from hookgate.protocol.codec import Encoded, encode
from hookgate.protocol.identity import known_again
from hookgate.protocol.interfaces import Provider
from hookgate.protocol.values import JsonObject, LLMReply, LLMRequest, Message, ProposedCall, ToolSpec, Usage
from hookgate.protocol.values.delta import Counted, Delta, Thought
from hookgate.providers.endpoint.connection import USUAL, Endpoint, open_endpoint
from hookgate.providers.endpoint.patience import Deadlines
from hookgate.providers.foreign import count, items, member, text
from hookgate.providers.media import Picture, parse_media
from hookgate.providers.names import NewCallIds, ToolNames, tool_names
from hookgate.providers.openai.options import as_completions_options, limit_word
from hookgate.providers.openai.slots import Slots

OPENAI_URL = "https://api.openai.com/v1"

_FINISH = {
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "end_turn": "stop",
    "eos": "stop",
}


@asynccontextmanager
async def open_openai(
    base_url: str,
    api_key: str | None = None,
    deadlines: Deadlines = USUAL,
    headers: Iterable[tuple[str, str]] = (),
) -> AsyncGenerator[Provider, None]:
    """A provider for `{base_url}/chat/completions`, with its connections; leaving closes them.

    Raises ValueError for a URL or header that cannot be.
    """
    key = (api_key or "").strip()
    own = {"Authorization": f"Bearer {key}"} if key else {}
    async with open_endpoint(base_url, "/chat/completions", own | dict(headers), deadlines) as endpoint:
        yield _OpenAI(endpoint, limit_word(base_url))


class _OpenAI:
    def __init__(self, endpoint: Endpoint, limit: str) -> None:
        self._endpoint, self._limit = endpoint, limit

    async def complete(self, request: LLMRequest, on_text: Callable[[Delta], None]) -> LLMReply:
        names = tool_names(request)
        reading = _Reading(on_text, Slots(on_text, names, NewCallIds(request)))
        await self._endpoint.post(encode(request_members(request, names, self._limit)), reading)
        if reading.finish == "error":
            raise self._endpoint.site.failure("server", "broke off its answer without saying why")
        if reading.empty:
            raise self._endpoint.site.failure("empty", f"answered with nothing ({reading.finish or 'no reason'})")
        return reading.reply(request)


# --- the request --------------------------------------------------------------------------------------------


def request_members(request: LLMRequest, names: ToolNames, limit: str) -> dict[str, object]:
    """The body. Options are members of it; one that is null is left out, `stream_options` too. `limit`: the word for
    the longest answer."""
    members: dict[str, object] = {
        "stream_options": {"include_usage": True},
        **as_completions_options(request.options, limit),
        "model": request.model,
        "messages": _messages(request.messages, names),
        "stream": True,
    }
    if request.tools:
        members["tools"] = _tools(request.tools, names)
    return {name: value for name, value in members.items() if value is not None}


def _messages(messages: Sequence[Message], names: ToolNames) -> list[dict[str, object]]:
    """Tool messages hold text alone, and must follow their call together: their media comes after them."""
    held, made = list[str](), list[dict[str, object]]()
    for message in messages:
        if message.role == "tool":
            held += message.media
        elif held:
            made.append(_media_of_tools(held))
            held = []
        made.append(_message(message, names))
    return [*made, _media_of_tools(held)] if held else made


def _media_of_tools(media: Sequence[str]) -> dict[str, object]:
    return {"role": "user", "content": _parts("Attached by the tools above:", media)}


def _message(message: Message, names: ToolNames) -> dict[str, object]:
    match message.role:
        case "user" if message.media:
            return {"role": "user", "content": _parts(message.content, message.media)}
        case "assistant" if message.tool_calls:
            calls = [_call(call, names) for call in message.tool_calls]
            return {"role": "assistant", "content": message.content or None, "tool_calls": calls}
        case "tool":
            return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
        case role:
            return {"role": role, "content": message.content}


def _parts(words: str, media: Sequence[str]) -> list[dict[str, object]]:
    parts: list[dict[str, object]] = [{"type": "text", "text": words}] if words else []
    for url in media:
        match parse_media(url):
            case Picture():
                parts.append({"type": "image_url", "image_url": {"url": url}})
            case note:
                parts.append({"type": "text", "text": note})
    return parts


def _call(call: ProposedCall, names: ToolNames) -> dict[str, object]:
    function = {"name": names.out(call.name), "arguments": call.arguments or "{}"}
    return {"id": call.id, "type": "function", "function": function}


@known_again(most=64)
def _tools(specs: Sequence[ToolSpec], names: ToolNames) -> Encoded:
    return Encoded(encode([_tool(spec, names) for spec in specs]))


def _tool(spec: ToolSpec, names: ToolNames) -> dict[str, object]:
    # OpenAI refuses an object schema without `properties`.
    parameters: dict[str, object] = {"type": "object", "properties": {}, **spec.parameters}
    function: dict[str, object] = {
        "name": names.out(spec.name),
        "description": spec.description,
        "parameters": parameters,
    }
    return {"type": "function", "function": function}


# --- the answer ---------------------------------------------------------------------------------------------


class _Reading:
    def __init__(self, on_text: Callable[[Delta], None], slots: Slots) -> None:
        self.finish = ""
        self._on_text = on_text
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._slots = slots
        self._usage: Usage | None = None

    @property
    def complete(self) -> bool:
        return bool(self.finish)

    @property
    def begun(self) -> bool:
        return bool(self._text or self._reasoning or self._slots)

    @property
    def empty(self) -> bool:
        return not self._slots and not "".join(self._text).strip()

    def take(self, event: JsonObject) -> bool:
        if used := _usage(member(event, "usage")):
            self._usage = used
            self._on_text(Counted(used))
        for choice in items(event, "choices"):
            if count(choice, "index") == 0:
                self._take_choice(choice)
        return False

    def take_whole(self, body: JsonObject) -> None:
        self.take(body)

    def _take_choice(self, choice: JsonObject) -> None:
        delta = member(choice, "delta") or member(choice, "message")
        if thought := text(delta, "reasoning_content") or text(delta, "reasoning"):
            self._reasoning.append(thought)
            self._on_text(Thought(thought))
        for piece in (_words(delta), text(delta, "refusal")):
            if piece:
                self._text.append(piece)
                self._on_text(piece)
        for call in items(delta, "tool_calls"):
            self._slots.take(call)
        finish = text(choice, "finish_reason").lower()
        self.finish = _FINISH.get(finish, finish) or self.finish
        if self.finish:
            self._slots.end()

    def reply(self, request: LLMRequest) -> LLMReply:
        """The model's name is the one asked for: some servers answer with a file name or a date."""
        calls = self._slots.calls()
        return LLMReply(
            model=request.model,
            content="".join(self._text),
            tool_calls=calls,
            finish_reason=_finish(self.finish, bool(calls)),
            usage=self._usage,
            reasoning="".join(self._reasoning),
        )


def _finish(given: str, has_calls: bool) -> str:
    """Servers disagree on what ends a reply with calls; `length` stays, for its last call may be cut."""
    if has_calls and given != "length":
        return "tool_calls"
    return "stop" if given in ("", "tool_calls") else given


def _words(delta: JsonObject) -> str:
    """Text; some servers write a list of parts."""
    return text(delta, "content") or "".join(text(part, "text") for part in items(delta, "content"))


def _usage(usage: JsonObject) -> Usage | None:
    if not usage:
        return None
    cached = count(member(usage, "prompt_tokens_details"), "cached_tokens")
    return Usage(count(usage, "prompt_tokens"), count(usage, "completion_tokens"), cached)
