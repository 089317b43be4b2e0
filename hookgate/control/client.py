"""The calling side of the control socket: find the hookgate that runs, ask it one thing, wait for the answer.

Plain blocking sockets, so that the command that uses it starts quickly.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar, cast

from hookgate.control.place import ControlUnavailable, check_private, is_live
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import Json

DEADLINE_S = 70.0
"""Longer than the gateway gives a call: what it has to say of a slow one should be heard."""
READ_BYTES = 1 << 16
NO_ANSWER = 0
"""The code of a ControlFailed that the other side did not send."""


T = TypeVar("T")


class NothingRunning(Exception):
    """No hookgate listens; the text is one line."""


class ControlFailed(Exception):
    """The call was not answered with a result. `code` is JSON-RPC's, or NO_ANSWER; `message` is one line."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def socket_path(directory: Path) -> Path:
    """Where this process's own control socket belongs."""
    return directory / f"{os.getpid()}.sock"


def find_socket(directory: Path, explicit: Path | None = None) -> Path:
    """The socket to call: `explicit`, else the newest live `PID.sock` in the directory. Raises NothingRunning."""
    if explicit is not None:
        if not is_live(explicit):
            raise NothingRunning(f"no hookgate is running at {explicit}")
        return explicit
    for path in live_sockets(directory):
        return path
    raise NothingRunning(f"no hookgate is running (no control socket answers in {directory})")


def live_sockets(directory: Path) -> Iterator[Path]:
    """Those of all gateways that run, the newest first. Raises NothingRunning where others may write there."""
    return (path for path in _newest_first(directory) if is_live(path))


def call(
    path: Path,
    method: str,
    params: Mapping[str, Json] | list[Json] | None = None,
    *,
    deadline_s: float | None = None,
) -> Json:
    """The result of one call, within DEADLINE_S seconds or those that are given.

    Raises NothingRunning and ControlFailed.
    """
    deadline_s = DEADLINE_S if deadline_s is None else deadline_s
    request: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": method}
    if params is not None:
        request["params"] = params
    deadline = monotonic() + deadline_s
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        _connect(connection, path)
        try:
            line = _exchange(connection, encode(request) + b"\n", deadline)
        except TimeoutError:
            raise ControlFailed(NO_ANSWER, f"no answer within {deadline_s:g} s") from None
        except OSError as error:
            raise ControlFailed(NO_ANSWER, f"the connection broke: {error.strerror or error}") from None
    return _result(line)


def read_rows(shape: type[T], answer: Json) -> tuple[T, ...]:
    """The frozen values that an operation gave, of their members in JSON; a gateway of an older version may lack
    those that have a usual value, one of a newer version has more. Raises ControlFailed."""
    known = {it.name for it in fields(cast("type[Any]", shape))}
    try:
        rows = cast("list[dict[str, Any]]", answer)
        return tuple(shape(**{name: value for name, value in row.items() if name in known}) for row in rows)
    except (TypeError, AttributeError):
        raise ControlFailed(NO_ANSWER, f"the answer is no list of {shape.__name__}") from None


def _newest_first(directory: Path) -> list[Path]:
    """Candidates only from a folder that nobody else can put a socket into."""
    try:
        check_private(directory)
    except ControlUnavailable as error:
        raise NothingRunning(f"no hookgate is running ({error})") from None
    dated: list[tuple[int, Path]] = []
    for path in directory.glob("*.sock"):
        # Without those whose hookgate ended just now; a link may lead out of this folder.
        with suppress(OSError):
            if path.stat().st_uid == os.geteuid():
                dated.append((path.lstat().st_mtime_ns, path))
    return [path for _, path in sorted(dated, reverse=True) if path.stem.isdecimal()]


def _connect(connection: socket.socket, path: Path) -> None:
    connection.settimeout(DEADLINE_S)
    try:
        connection.connect(os.fspath(path))
    except OSError as error:
        raise NothingRunning(f"no hookgate is running at {path}: {error.strerror or error}") from None


def _exchange(connection: socket.socket, request: bytes, deadline: float) -> bytes:
    """One line each way. Raises OSError, TimeoutError included."""
    # A server that closes before it has read everything has said why.
    with suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(request)
    chunks: list[bytes] = []
    while not (chunks and b"\n" in chunks[-1]):
        connection.settimeout(max(deadline - monotonic(), 0.001))
        chunk = connection.recv(READ_BYTES)
        if not chunk:
            raise ControlFailed(NO_ANSWER, "the connection was closed before an answer came")
        chunks.append(chunk)
    return b"".join(chunks).split(b"\n", 1)[0]


def _result(line: bytes) -> Json:
    try:
        answer = decode(line)
    except BadMessage as error:
        raise ControlFailed(NO_ANSWER, f"the answer is not JSON: {error}") from None
    match answer:
        case {"error": {"code": int(code), "message": str(message), **more}}:
            raise ControlFailed(code, _explained(message, cast("dict[str, Any]", more)))
        case {"result": result}:
            return cast("Json", result)
        case _:
            raise ControlFailed(NO_ANSWER, "the answer is no JSON-RPC response")


def _explained(message: str, more: dict[str, Any]) -> str:
    detail = more.get("data")
    return f"{message}: {detail}" if isinstance(detail, str) else message
