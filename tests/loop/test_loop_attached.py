"""Files that messages refer to, in the request that a provider gets."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from hookgate.loop.model import attached
from hookgate.loop.model.attached import with_files
from hookgate.protocol.media import MediaReference
from hookgate.protocol.values import LLMRequest, Message
from hookgate.store.media import FileMedia


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
