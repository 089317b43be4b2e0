"""Stage calls in a file, a line each: written for its owner alone, read without holding more than a line.

The lines are those of an event file, so that one serves as a recording too. What is asked again, and what the answers
mean, is not known here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from errno import EINVAL
from pathlib import Path
from typing import IO, Any, cast

from hookgate.protocol.codec import decode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.events.payloads import StageCall
from hookgate.protocol.hook.asked import read_question
from hookgate.protocol.hook.kinds import kind_of
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import Json

MAX_LINE_BYTES = 64 * 1024 * 1024
MARK = b"[REDACTED:"
"""How what stands for a secret begins."""


@dataclass(frozen=True)
class Recorded:
    """One call as it was: who was asked what, and what its answer counted for. `redacted`: something in it stands for
    a secret that was there. `audit`: its answers did not count."""

    line: int
    hook: str
    question: Question
    answer: Mapping[str, Json]
    failed: bool
    redacted: bool
    audit: bool


@dataclass(frozen=True)
class Broken:
    """A line that is no stage call and should be one; `why` names what is wrong."""

    line: int
    why: str


def open_recording(path: Path) -> IO[bytes]:
    """For its owner alone, unbuffered: a crash loses no line. Raises OSError, FileExistsError too: what was recorded
    before is nobody's to overwrite."""
    return open(path, "xb", buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600))


@dataclass(frozen=True)
class Line:
    """Whose stage call a line of an event file is."""

    hook: str
    redacted: bool


def look(line: bytes) -> Line | None:
    """None: it is another event, or broken."""
    if StageCall.kind.encode() not in line:
        return None
    with suppress(BadMessage):
        match decode(line):
            case {"kind": StageCall.kind, "payload": {"hook": str(hook)}}:
                return Line(hook, MARK in line)
            case _:
                pass
    return None


def read_recording(path: Path) -> Iterator[Recorded | Broken]:
    """From the first line to the last; events of other kinds are passed over. Raises OSError."""
    with open_events(path) as file:
        for number, line in enumerate(bounded_lines(file), start=1):
            if line is None:
                yield Broken(number, f"it is longer than {MAX_LINE_BYTES} bytes")
            elif line.strip() and (read := _read(number, line)) is not None:
                yield read


def open_events(path: Path) -> IO[bytes]:
    """A regular file: a device has no end, and a pipe may have nobody at its other one. Raises OSError."""
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(EINVAL, "it is no regular file", str(path))
    return file


def bounded_lines(file: IO[bytes]) -> Iterator[bytes | None]:
    """None for one that is longer than MAX_LINE_BYTES."""
    while line := file.readline(MAX_LINE_BYTES):
        if len(line) == MAX_LINE_BYTES and not line.endswith(b"\n"):
            _skip(file)
            yield None
        else:
            yield line


def _skip(file: IO[bytes]) -> None:
    while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
        pass


def _read(number: int, line: bytes) -> Recorded | Broken | None:
    try:
        event = decode(line)
        if not isinstance(event, dict):
            raise BadMessage(f"it is {kind_of(event)}, and no event")
        members = cast("dict[str, Any]", event)
        if "kind" not in members or not isinstance(members.get("payload"), dict):
            raise BadMessage("it is no event: `kind` or `payload` is missing")
        if members["kind"] != StageCall.kind:
            return None
        return _recorded(number, members["payload"], MARK in line)
    except BadMessage as error:
        return Broken(number, " ".join(str(error).split()))


def _recorded(number: int, payload: dict[str, Any], redacted: bool) -> Recorded:
    hook, stage, params, answer = (payload.get(name) for name in ("hook", "stage", "params", "answer"))
    if not (isinstance(hook, str) and isinstance(params, dict) and isinstance(answer, dict)):
        raise BadMessage("its payload lacks hook, params or answer")
    if stage not in set(Stage):
        raise BadMessage(f"{str(stage)[:80]!r} is no stage")
    question = read_question(Stage(stage), cast("dict[str, Any]", params))
    said = cast("dict[str, Json]", answer)
    flags = (payload.get("failed") is True, redacted, payload.get("audit") is True)
    return Recorded(number, hook, question, said, *flags)
