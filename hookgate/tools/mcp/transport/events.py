"""Server-sent events out of bytes: sans I/O, with a cap. Knows nothing of what the events say."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r")
# Both come back to the server or decide how long it is waited for: what no header and no clock can hold is left out.
_NAME = re.compile(r"[\x20-\x7e]{1,1000}")
_MILLISECONDS = re.compile(r"[0-9]{1,9}")


class TooLong(ValueError):
    """One event holds more than the cap."""


@dataclass(slots=True)
class Event:
    """`data` is None where the event had none. `id` and `retry` as they were sent, empty where they were not or
    are of no use."""

    data: str | None = None
    kind: str = "message"
    id: str = ""
    retry: str = ""


class Events:
    def __init__(self, max_bytes: int) -> None:
        self._max = max_bytes
        self._rest: list[bytes] = []
        self._size = 0
        self._event = Event()
        self._data: list[str] = []

    def feed(self, data: bytes) -> list[Event]:
        """The events that this chunk completes. Raises TooLong."""
        self._rest.append(data)
        self._size += len(data)
        if self._size > self._max:
            raise TooLong(f"more than {self._max} bytes")
        if b"\n" not in data and b"\r" not in data:
            return []
        text = b"".join(self._rest)
        # A CR at the very end may be the first half of a line end.
        held = b"\r" if text.endswith(b"\r") else b""
        *lines, rest = _LINE_END.split(text.removesuffix(held))
        self._rest = [rest + held]
        done: list[Event] = []
        for line in lines:
            self._take(line.decode("utf-8", "replace"), done)
        if done:
            self._size = len(rest) + len(held)
        return done

    def _take(self, line: str, done: list[Event]) -> None:
        if not line:
            self._event.data = "\n".join(self._data) if self._data else None
            if self._event != Event():
                done.append(self._event)
            self._event, self._data = Event(), []
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._data.append(value)
            case "event":
                self._event.kind = value
            case "id" if _NAME.fullmatch(value):
                self._event.id = value
            case "retry" if _MILLISECONDS.fullmatch(value):
                self._event.retry = value
            case _:
                pass
