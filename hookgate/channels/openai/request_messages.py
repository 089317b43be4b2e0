"""What a client says, in the words of the transcript: messages of a request, its tools and its options. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from hookgate.channels.openai.completions.wire import ChatMessage, CompletionRequest, Part
from hookgate.channels.openai.errors import bad_request
from hookgate.channels.openai.wire import Function
from hookgate.protocol.chat.client_input import CLIENT
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json, Message, ProposedCall, ToolSpec

BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class RequestMessages:
    """`messages`: in order, without instructions, which are the `system` text; the last is somebody's word, or a
    result."""

    system: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Tail:
    """What a request adds to its conversation: `messages` that come before, then what is said. `replaces`: the entry
    that it takes the place of; 0: it goes at the end."""

    messages: tuple[Message, ...]
    text: str
    media: tuple[str, ...] = ()
    replaces: int = 0


def read_messages(messages: Sequence[ChatMessage]) -> RequestMessages:
    """Raises ApiError."""
    system, said = list[str](), list[Message]()
    for number, it in enumerate(messages):
        where = f"messages[{number}]"
        text, media = _content(it.content, f"{where}.content")
        if it.role in ("system", "developer"):
            system.append(text)
        elif it.role == "tool" and not it.tool_call_id:
            raise bad_request("a tool's result has to name its call", f"{where}.tool_call_id")
        elif it.role == "user" and not (text.strip() or media):
            raise bad_request("a user's message has to have a content", f"{where}.content")
        else:
            role = "user" if it.role == "user" else "assistant" if it.role == "assistant" else "tool"
            calls = tuple(ProposedCall(c.id, c.function.name, c.function.arguments) for c in it.tool_calls or ())
            kept = calls if role == "assistant" else ()
            said.append(Message(role, text, kept, it.tool_call_id or "" if role == "tool" else "", media))
    if not said or said[-1].role == "assistant":
        raise bad_request("the last message has to be a user's, or a tool's result", "messages")
    return RequestMessages(BETWEEN.join(filter(None, system)), tuple(said))


def _content(content: str | list[Part] | None, where: str) -> tuple[str, tuple[str, ...]]:
    """Text and pictures."""
    if content is None or isinstance(content, str):
        return content or "", ()
    texts, media = list[str](), list[str]()
    for number, part in enumerate(content):
        if part.type in ("text", "input_text", "output_text", "refusal") and part.text is not None:
            texts.append(part.text)
        elif part.type == "image_url" and part.image_url is not None:
            if not part.image_url.url.startswith(("data:", "https://")):
                raise bad_request("a picture comes as a data: or https: address", f"{where}[{number}].image_url.url")
            media.append(part.image_url.url)
        else:
            raise bad_request(f"a part of the type {part.type!r} is not taken here", f"{where}[{number}].type")
    return "\n".join(texts), tuple(media)


def check_history(messages: Iterable[Message]) -> None:
    """Each result answers a call of the reply before it, and each call has one. Raises ApiError."""
    waiting = set[str]()
    for it in messages:
        if it.role == "tool":
            if it.tool_call_id not in waiting:
                raise bad_request(f"no call before it has the id {it.tool_call_id!r}", "messages")
            waiting.discard(it.tool_call_id)
        elif waiting:
            raise bad_request(f"the call {min(waiting)!r} has no result", "messages")
        waiting |= {call.id for call in it.tool_calls}
    if waiting:
        raise bad_request(f"the call {min(waiting)!r} has no result", "messages")


def joined(messages: Sequence[Message]) -> tuple[tuple[Message, ...], str, tuple[str, ...]]:
    """What comes before what is said at the end, that as one text, and its pictures."""
    begins = len(messages)
    while begins and messages[begins - 1].role == "user":
        begins -= 1
    spoken = messages[begins:]
    media = tuple(url for it in spoken for url in it.media)
    return tuple(messages[:begins]), BETWEEN.join(filter(None, (it.content for it in spoken))), media


def tools_of(functions: Mapping[str, Function], ours: Container[str]) -> tuple[ToolSpec, ...]:
    """The client's own; `functions` by where each stands in the request. Raises ApiError."""
    found: dict[str, ToolSpec] = {}
    for place, function in functions.items():
        name, where = function.name, f"{place}.name"
        if name in ours:
            raise bad_request(f"this gateway has a tool {name!r} of its own: give yours another name", where)
        if name in found:
            raise bad_request(f"two tools have the name {name!r}", where)
        parameters = function.parameters or {"type": "object", "properties": {}}
        found[name] = ToolSpec(name, function.description or "", parameters, provider=CLIENT)
    return tuple(found.values())


def may_be_called(
    tools: tuple[ToolSpec, ...], ours: Container[str], choice: Json, where: str
) -> tuple[ToolSpec, ...]:
    """The client's own that are offered. `choice`: as the member `tool_choice` has it for completions; `where`: what
    it names a function by. Raises ApiError."""
    match choice:
        case "none":
            return ()
        case str() if choice not in ("auto", "required"):
            raise bad_request(f"{choice[:64]!r} is none of 'none', 'auto', 'required'", "tool_choice")
        case {"type": "function", "function": {"name": str(name)}}:
            if name not in ours and all(it.name != name for it in tools):
                raise bad_request(f"there is no tool {name[:64]!r}: it is none of tools, and none of ours", where)
        case {"type": "function"}:
            raise bad_request("it names no function", where)
        case _:
            pass
    return tools


def options_of(request: CompletionRequest) -> dict[str, Json]:
    """Those that go to the model, as they stand but for the limit, which has two names."""
    most = [it for it in (request.max_tokens, request.max_completion_tokens) if it is not None]
    options: dict[str, Json] = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "presence_penalty": request.presence_penalty,
        "frequency_penalty": request.frequency_penalty,
        "max_tokens": min(most) if most else None,
        "stop": [*request.stop] if isinstance(request.stop, list) else request.stop,
        "seed": request.seed,
        "response_format": request.response_format,
        "reasoning_effort": request.reasoning_effort,
        "parallel_tool_calls": request.parallel_tool_calls,
        "tool_choice": request.tool_choice,
    }
    return {name: value for name, value in options.items() if value is not None}
