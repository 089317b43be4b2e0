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

from hookgate.loop.attachments import kept, sendable
from hookgate.loop.calls.execution_policy import Around
from hookgate.loop.model import attached
from hookgate.loop.model.attached import with_files
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import ChannelLimits
from hookgate.protocol.chat.media import MediaReference
from hookgate.protocol.values import LLMRequest, Message, ToolCall, ToolResult, ToolSpec
from hookgate.store.media import FileMedia, MediaLimits
from tests.loop.recording import Bench, FunctionTool, asks_for, says


def drawn(shade: int = 0) -> bytes:
    file = io.BytesIO()
    Image.new("L", (2, 2), shade).save(file, "PNG")
    return file.getvalue()


def data(content: bytes, type_: str = "image/png") -> str:
    return f"data:{type_};base64,{b64encode(content).decode()}"


async def test_pictures_go_with_the_request_while_there_is_room_and_what_is_none_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FileMedia(tmp_path)
    old, new, voice = [str(await store.keep(it)) for it in (drawn(), drawn(9), b"RIFF....WAVEfmt data")]
    gone, other = str(MediaReference("image/png", "0" * 64)), "https://example.org/a.png"
    monkeypatch.setattr(attached, "MAX_BYTES", len(data(drawn(9))) + 10)
    messages = (Message("user", "one", media=(old, other)), Message("user", "two", media=(gone, new, voice)))
    first, last = (await with_files(LLMRequest("m", messages), store)).messages
    assert (first.media, "[1 of" in first.content) == ((other,), True)
    assert last.media == (data(drawn(9)),)
    named, missing = f"[attached: {voice}]", "[1 of the attached files cannot be sent any more]"
    assert last.content == f"two\n{named}\n{missing}"
    sender = ToolSpec("send_file", "", {"type": "object"})
    told = (await with_files(LLMRequest("m", messages[1:], (sender,)), store)).messages[0].content
    blind = (await with_files(LLMRequest("m", messages[:1]), store, sees=False)).messages[0]
    assert (blind.content, blind.media) == (f"one\n[attached: {old}]\n[attached: {other}]", ())
    assert told == f"two\n[attached: {gone}]\n[attached: {new}]\n{named}\n{missing}"


async def test_files_of_a_tool_are_kept_as_whoever_asked_had_sent_them(tmp_path: Path) -> None:
    picture, chat = data(drawn()), Chat("web", "ann", "ann")
    around = Around(media=FileMedia(tmp_path, MediaLimits(user_quota=400)), keeps_files=True)
    others = ("https://example.org/a.png", "data:image/png;base64,no base64", data(drawn() + bytes(500)))
    report = data(b"hi", "text/plain;name=a.txt")
    [reference, text, *left] = await kept((picture, report, *others), around, chat)
    assert tuple(left) == others
    assert (text[:17], text[-6:]) == ("media:text/plain:", ":a.txt")
    # The model is sent what the tool has returned.
    [message] = (await with_files(LLMRequest("m", (Message("tool", "", media=(reference,)),)), around.media)).messages
    assert (message.media, reference[:16]) == ((picture,), "media:image/png:")
    assert await kept((picture,), replace(around, keeps_files=False), chat) == (picture,)


async def test_what_a_channel_cannot_bring_is_a_line_that_says_why(tmp_path: Path) -> None:
    around = Around(media=FileMedia(tmp_path), keeps_files=True)
    zip_in_picture = drawn() + b"PK\x05\x06" + bytes(18)
    media = (
        data(b"hi", "text/plain;name=a.txt"),
        "https://example.org/a.png",
        data(b"much too long", "text/plain;name=b.txt"),
        data(zip_in_picture),
        f"media:image/png:{'0' * 64}:gone.png",
        "file:///etc/passwd",
    )
    sent = await sendable(Outbound(Chat("t", "1"), "Look:", media), around, ChannelLimits(media_out=10))
    assert [it[:12] for it in sent.outbound.media] == ["media:text/p", "https://exam"]
    assert sent.told.text.splitlines() == [
        "Look:",
        "[b.txt: not sent, it has 13 bytes, and at most 10 are taken here]",
        "[image/png: not sent, the file is an archive besides what it looks like (image/png)]",
        "[gone.png: not sent, it is not there any more]",
        "[a file: not sent, it is no address of a file]",
    ]


async def test_a_transcript_refers_to_it_and_the_model_is_sent_it(
    bench: Callable[..., Bench], tmp_path: Path
) -> None:
    file = io.BytesIO()
    Image.new("1", (2, 2)).save(file, "PNG")
    picture = f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"

    async def run(_call: ToolCall) -> ToolResult:
        await trio.lowlevel.checkpoint()
        return ToolResult("a picture", media=(picture,))

    around = Around(media=FileMedia(tmp_path), keeps_files=True)
    made = bench(asks_for("t"), says("x"), tools=[FunctionTool("t", run)], around=around)
    assert await made.play() == ["x"]
    assert made.provider.requests[1].messages[-1].media == (picture,)
    [session] = made.gateway.sessions.values()
    assert [it.media[0][:16] for it in session.transcript.messages if it.media] == ["media:image/png:"]
