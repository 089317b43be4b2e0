"""Files that messages refer to, in the request that a provider gets."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import trio
from PIL import Image

from hookgate.loop.execution_policy import Around
from hookgate.loop.model import attached
from hookgate.loop.model.attached import kept, with_files
from hookgate.protocol.chat import Chat
from hookgate.protocol.media import MediaReference
from hookgate.protocol.values import LLMRequest, Message, ToolCall, ToolResult
from hookgate.store.media import FileMedia, MediaLimits
from tests.loop.recording import Bench, FunctionTool, asks_for, says


async def test_the_last_files_that_have_room_go_with_the_request_and_others_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileMedia(tmp_path)
    old, new = [str(await store.keep(text * 90)) for text in (b"old", b"new")]
    gone, other = str(MediaReference("text/plain", "0" * 64)), "https://example.org/a.png"
    monkeypatch.setattr(attached, "MAX_BYTES", 400)
    messages = (Message("user", "one", media=(old, other)), Message("user", "two", media=(gone, new)))
    first, last = (await with_files(LLMRequest("m", messages), store)).messages
    assert (first.media, "[1 of" in first.content) == ((other,), True)
    assert last.media == (f"data:text/plain;base64,{b64encode(b'new' * 90).decode()}",)
    assert last.content == "two\n[1 of the attached files cannot be sent any more]"


async def test_a_picture_of_a_tool_is_kept_as_whoever_asked_had_sent_it(tmp_path: Path) -> None:
    file, url = io.BytesIO(), "data:image/png;base64,"
    Image.new("1", (2, 2)).save(file, "PNG")
    picture, chat = f"{url}{b64encode(file.getvalue()).decode()}", Chat("web", "ann", "ann")
    large = f"{url}{b64encode(file.getvalue() + bytes(500)).decode()}"
    around = Around(media=FileMedia(tmp_path, MediaLimits(user_quota=400)), keeps_pictures=True)
    others = ("https://example.org/a.png", f"{url}no base64", "data:text/html;base64,QQ==", large)
    [reference, *left] = await kept((picture, *others), around, chat)
    assert tuple(left) == others
    # The model is sent what the tool has returned.
    [message] = (await with_files(LLMRequest("m", (Message("tool", "", media=(reference,)),)), around.media)).messages
    assert (message.media, reference[:16]) == ((picture,), "media:image/png:")
    assert await kept((picture,), replace(around, keeps_pictures=False), chat) == (picture,)


async def test_a_transcript_refers_to_it_and_the_model_is_sent_it(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    file = io.BytesIO()
    Image.new("1", (2, 2)).save(file, "PNG")
    picture = f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"

    async def run(_call: ToolCall) -> ToolResult:
        await trio.lowlevel.checkpoint()
        return ToolResult("a picture", media=(picture,))

    around = Around(media=FileMedia(tmp_path), keeps_pictures=True)
    made = bench(asks_for("t"), says("x"), tools=[FunctionTool("t", run)], around=around)
    assert await made.play() == ["x"]
    assert made.provider.requests[1].messages[-1].media == (picture,)
    [session] = made.gateway.sessions.values()
    assert [it.media[0][:16] for it in session.transcript.messages if it.media] == ["media:image/png:"]
