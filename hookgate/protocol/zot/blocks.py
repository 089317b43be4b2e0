"""Blocks of content: an extension's answer as the result that a model gets, and any result as extensions see it."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Sequence

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.values import Fault, Json, JsonObject, ToolResult
from hookgate.protocol.zot.frames import Block, ToolReply

NO_CONTENT = "(extension returned no content)"
SO_FAR = "Until then it had come to this:"
STOPPED = f"The turn ended before this call did. {SO_FAR}"
DEFAULT_IMAGE = "image/png"
MAX_RESULT_BYTES = 256 * 1024
MAX_RESULT_BLOCKS = 128


def tool_result(extension: str, tool: str, reply: ToolReply) -> ToolResult:
    """Texts joined by a line break, images as media; never empty."""
    texts: list[str] = []
    pictures: list[str] = []
    is_error = reply.is_error
    for block in reply.content:
        match block.type:
            case "text" if block.text:
                texts.append(block.text)
            case "text":
                pass
            case "image":
                problem = _undecodable(block)
                if problem:
                    texts.append(f"extension {extension}/{tool} returned undecodable image: {problem}")
                    is_error = True
                else:
                    pictures.append(f"data:{block.mime_type or DEFAULT_IMAGE};base64,{block.data}")
            case unknown:
                texts.append(f'[unknown block type "{unknown}" from extension {extension}]')
    text = "\n".join(texts) or _described(pictures) or NO_CONTENT
    fault = Fault("unknown", tool, text) if is_error else None
    return ToolResult(text, is_error=is_error, media=tuple(pictures), error=fault)


def tool_failed(extension: str, fault: Fault, so_far: ToolResult | None = None) -> ToolResult:
    """`fault.op` is the tool; its reason says what became of the call. `so_far`: what it had come to by then."""
    text = f"extension {extension}/{fault.op} failed: {fault.reason}"
    error = replace(fault, reason=text)
    if so_far is None or so_far.for_llm == NO_CONTENT:
        return ToolResult(text, is_error=True, error=error)
    return ToolResult(f"{text}\n{SO_FAR}\n{so_far.for_llm}", is_error=True, error=error, media=so_far.media)


def tool_stopped(tool: str, so_far: ToolResult) -> ToolResult:
    """Of a call that ended with its turn; empty where nothing was said."""
    if so_far.for_llm == NO_CONTENT:
        return ToolResult("")
    text = f"{STOPPED}\n{so_far.for_llm}"
    return replace(so_far, for_llm=text, is_error=True, error=Fault("unknown", tool, STOPPED))


def _undecodable(block: Block) -> str:
    if not block.data:
        return "it is empty"
    try:
        b64decode(block.data, validate=True)
    except (binascii.Error, ValueError) as error:
        return str(error)
    return ""


def _described(pictures: list[str]) -> str:
    """A result needs a text: a model that sees no images should know that there were some."""
    return f"({len(pictures)} image{'' if len(pictures) == 1 else 's'})" if pictures else ""


# --- a result as an event shows it --------------------------------------------------------------------------


def result_members(text: str, pictures: Sequence[str], *, is_error: bool) -> JsonObject:
    """The `result` of a tool_result event: at most MAX_RESULT_BYTES and MAX_RESULT_BLOCKS, `data:` URLs as images."""
    blocks: list[Json] = [{"type": "text", "text": text}] if text else []
    blocks += [block for url in pictures if (block := _picture(url))]
    kept = _within(blocks)
    members: dict[str, Json] = {"content": kept, "is_error": is_error}
    return members if kept == blocks else members | {"truncated": True}


def _picture(url: str) -> JsonObject | None:
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:"):
        return None
    return {"type": "image", "mime_type": head.removeprefix("data:").removesuffix(";base64"), "data": data}


def _within(blocks: Sequence[Json]) -> list[Json]:
    """The first blocks that fit; of a text that does not, as much as surely does: six bytes a character."""
    kept: list[Json] = []
    room = MAX_RESULT_BYTES
    for block in blocks[:MAX_RESULT_BLOCKS]:
        size = len(encode(block))
        match block:
            case _ if size <= room:
                kept.append(block)
                room -= size
            case {"type": "text", "text": str(text)}:
                kept.append({"type": "text", "text": text[: room // 6]})
                room = 0
            case _:
                pass
    return kept
