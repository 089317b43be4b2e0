"""`hookgate tools decode` and `extract`: the readers of a model's text as filters, one JSON string a line.

Each line is answered before the next is read, so memory is one line's and a person at a pipe sees the answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, BinaryIO

from hookgate.protocol.codec import decode, encode
from hookgate.protocol.errors import BadMessage

if TYPE_CHECKING:
    from hookgate.tools.extract import Mode

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Of a line with its end: the longest text that is read at all, with every character escaped, is far shorter."""

Answered = dict[str, object]
"""The members of one line of JSON."""


def decode_lines() -> int:
    """For each text `{"class", "value", "steps"}`; of arguments that no step reads also `reason`."""
    return _answer_lines(_decoded)


def extract_lines(names: str, mode: Mode) -> int:
    """For each text `{"class", "calls", "rest"}`; also `problems` where a call was begun and cannot be made."""
    from hookgate.tools.extract import extract_calls

    declared = frozenset(name.strip() for name in names.split(",") if name.strip())

    def extracted(text: str) -> Answered:
        found = extract_calls(text, declared, mode)
        calls = [{"name": call.name, "arguments": call.arguments} for call in found.calls]
        problems = [{"name": problem.name, "reason": problem.reason} for problem in found.problems]
        answer: Answered = {"class": found.klass, "calls": calls, "rest": found.rest}
        return {**answer, "problems": problems} if problems else answer

    return _answer_lines(extracted)


def _decoded(text: str) -> Answered:
    from hookgate.tools.repair import Undecodable, decode_arguments

    try:
        read = decode_arguments(text)
    except Undecodable as error:
        return {"class": "REJECT", "value": None, "steps": [], "reason": str(error)}
    return {"class": read.step, "value": read.value, "steps": read.steps}


# --- lines --------------------------------------------------------------------------------------------------


def _answer_lines(answer: Callable[[str], Answered]) -> int:
    """1 where a line was no JSON string; the others are answered all the same."""
    status = 0
    for number, line in enumerate(_lines(sys.stdin.buffer), start=1):
        try:
            text = _text(line)
        except BadMessage as error:
            sys.stderr.write(f"line {number}: {error}\n")
            sys.stderr.flush()
            status = 1
            continue
        sys.stdout.buffer.write(encode(answer(text)) + b"\n")
        sys.stdout.buffer.flush()
    return status


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Each line; None for one that is too long."""
    while line := stream.readline(MAX_LINE_BYTES):
        if line.endswith(b"\n") or len(line) < MAX_LINE_BYTES:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES)
        yield None


def _text(line: bytes | None) -> str:
    if line is None:
        raise BadMessage(f"it has more than {MAX_LINE_BYTES} bytes")
    try:
        value: object = decode(line)
    except BadMessage as error:
        raise BadMessage(f"not JSON: {error}") from None
    if not isinstance(value, str):
        raise BadMessage("JSON, but no string")
    return value
