"""Server-sent events out of bytes that come in any pieces."""

from __future__ import annotations

import pytest

from hookgate.providers.sse import Events

STREAM = (
    "\ufeffdata: one\n\n: still there\n\ndata:two\ndata: lines\n\nevent: error\ndata: {}\nid: 7\nretry: 1\n\n"
    "event: bare\n\ndata\n\ndata:  kept \nother: x\n\nid: 8\n\ndata: smörgås\n\ndata: never ended"
)
FOUND = [
    ("", "one"),
    ("", "two\nlines"),
    ("error", "{}"),
    ("bare", ""),
    ("", ""),
    ("", " kept "),
    ("", "smörgås"),
]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_events_are_the_same_wherever_the_stream_is_cut(end: str) -> None:
    stream = STREAM.replace("\n", end).encode()
    for size in (*range(1, 12), len(stream)):
        events = Events()
        pieces = (stream[at : at + size] for at in range(0, len(stream), size))
        assert [it for piece in pieces for it in events.take(piece)] == FOUND
        assert events.waiting == len("data: never ended")


def test_what_is_no_utf_8_is_shown_to_be_none() -> None:
    assert list(Events().take(b"data: \xff\xfe!\n\n")) == [("", "\ufffd\ufffd!")]
