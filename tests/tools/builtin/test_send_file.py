"""What holds a secret is not sent, in whatever way its text is written; what holds none is."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from hookgate.protocol import call_context
from hookgate.protocol.chat import Chat
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.redaction.redactor import Redactor
from hookgate.store.media import FileMedia
from hookgate.tools.builtin.send_file import SendFile
from hookgate.tools.dispatch import execute
from hookgate.tools.files.workspace import Workspace

KNOWN = "pass wörd of Ann"
TEXT = f"notes\nthe door: {KNOWN}\n"


async def sent(root: Path, content: bytes) -> ToolResult:
    (root / "file").write_bytes(content)
    call_context.work.set(call_context.Work(Chat("test", "1", "ann")))
    tool = SendFile(Workspace(root), FileMedia(root.parent / "sent"), Redactor([KNOWN]))
    return await execute(tool, ToolCall("1", "send_file", {"path": "file"}))


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        TEXT.encode() + b"caf\xe9\n",
        b"\xff" * 65_530 + TEXT.encode(),
        TEXT.encode("utf-16"),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16-be"),
        b"x" + TEXT.encode("utf-16-le"),
        "token: ghp_".encode("utf-16-le") + ("a1" * 18).encode("utf-16-le"),
    ],
)
async def test_a_secret_is_not_sent_however_it_is_written(root: Path, content: bytes) -> None:
    result = await sent(root, content)
    assert result.error is not None
    assert result.error.kind == "permission"
    assert "secret" in result.for_llm
    assert KNOWN not in result.for_llm


NOISE = b"\x84\xce://dnI\xd9\x063\xa7\x8aV!\x96\xa2K[\x82z\x9d\xc8\xc0o\xbe\xf5\xdd\xe7\xbc1@V"
"""As a large picture has it by chance."""


@pytest.mark.parametrize(
    "content",
    [
        b"caf\xe9\n",
        "Grüße\n".encode("utf-16"),
        pytest.param(NOISE, id="noise"),
        b"\0" + random.Random(1).randbytes(100_000),
    ],
)
async def test_what_is_no_utf8_and_holds_none_is_sent(root: Path, content: bytes) -> None:
    assert not (await sent(root, content)).is_error
