"""A tool that is any program: `PROGRAM --describe` says what it is, `PROGRAM --call` does it. A process per call.

The program belongs to an operator and stands below a folder that the configuration allows, links followed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import trio

from hookgate.processes.command import Command
from hookgate.processes.once import MAX_OUTPUT_BYTES, Printed, run_once
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import Json, JsonObject, ToolCall, ToolResult, ToolSpec
from hookgate.tools.dynamic.cell.cell import DATA, Cell, open_cell
from hookgate.tools.dynamic.draft import named_well
from hookgate.tools.dynamic.identity import digest, tool_spec
from hookgate.tools.dynamic.made import Workplace
from hookgate.tools.errors import ToolError
from hookgate.tools.failures import failure
from hookgate.tools.shell.sandbox import Sandbox

OP = "register_argv"


@dataclass(frozen=True, slots=True)
class Executable:
    """`path` has no links left in it; `digest` is the hex SHA-256 of its bytes."""

    path: Path
    digest: str


async def find(path: Path, roots: Sequence[Path]) -> Executable:
    """Raises ToolError: not_found, or permission where it is outside the allowed folders or cannot be run."""
    return await trio.to_thread.run_sync(_find, path, roots)


def _find(path: Path, roots: Sequence[Path]) -> Executable:
    real = Path(os.path.realpath(path))
    if not any(real.is_relative_to(os.path.realpath(root)) for root in roots):
        raise ToolError("permission", OP, f"{path} is not below an allowed folder", denied_by="rule:argv_roots")
    if not real.is_file():
        raise ToolError("not_found", OP, f"{path}: there is no such program")
    if not os.access(real, os.X_OK):
        raise ToolError("permission", OP, f"{path} cannot be executed", denied_by="os")
    return Executable(real, sha256(real.read_bytes()).hexdigest())


def _showing(place: Workplace, program: Path) -> Sandbox:
    """Walls that keep the program in sight, wherever it stands."""
    return replace(place.sandbox, shown=(program,))


async def described(program: Executable, place: Workplace) -> JsonObject:
    """What it says of itself: name, description, parameters. Raises ToolError."""
    async with open_cell(_showing(place, program.path), place.environment, program.path.name) as cell:
        printed = await _run(program, "--describe", b"", (cell, place.start_timeout_s))
        said = _object(_output(OP, printed, cell))
    name, description, parameters = said.get("name"), said.get("description"), said.get("parameters")
    if not isinstance(name, str) or not named_well(name):
        raise ToolError("validation", OP, f"{program.path.name} --describe: {str(name)[:80]!r} is no name of a tool")
    if not isinstance(description, str) or not description.strip():
        raise ToolError("validation", OP, f"{program.path.name} --describe: there is no description")
    if not isinstance(parameters, Mapping):
        raise ToolError("validation", OP, f"{program.path.name} --describe: parameters must be a JSON Schema object")
    return {"name": name, "description": description.strip(), "parameters": cast("JsonObject", parameters)}


class ArgvTool:
    """Runs the program that was approved, or nothing: it is read again before each call."""

    def __init__(self, program: Executable, members: JsonObject, roots: Sequence[Path], place: Workplace) -> None:
        self.spec: ToolSpec = tool_spec(members)
        self._program, self._roots, self._place = program, tuple(roots), place

    async def execute(self, call: ToolCall) -> ToolResult:
        if await find(self._program.path, self._roots) != self._program:
            raise ToolError("permission", call.name, "its program was changed since it was approved")
        given = encode(call.arguments)
        async with open_cell(_showing(self._place, self._program.path), self._place.environment, call.name) as cell:
            printed = await _run(self._program, "--call", given, (cell, self._place.call_timeout_s))
            return _result(call.name, _object(_output(call.name, printed, cell)))


def approved(program: Executable, members: JsonObject) -> str:
    """The digest that the catalog keeps."""
    return digest(program.digest, members)


async def _run(program: Executable, flag: str, given: bytes, room: tuple[Cell, float]) -> Printed:
    cell, timeout_s = room
    argv = await cell.command([str(program.path), flag], DATA)
    return await run_once(Command(argv, cell.folder, cell.environment, timeout_s), given)


def _output(op: str, printed: Printed, cell: Cell) -> bytes:
    said = cell.tail.text()
    tail = f"\nIts stderr ends:\n{said}" if said else ""
    if printed.status is None:
        raise ToolError("transient", op, f"it did not end in time and was stopped{tail}")
    if printed.status != 0:
        how = f"exited with status {printed.status}" if printed.status > 0 else "was killed by a signal"
        raise ToolError("unknown", op, f"its program {how}{tail}")
    if printed.overflowed:
        raise ToolError("budget", op, f"it printed more than {MAX_OUTPUT_BYTES} bytes")
    return printed.output


def _object(output: bytes) -> dict[str, Any]:
    """Raises ToolError (unknown) where it is no JSON object."""
    try:
        value = decode(output)
    except BadMessage as error:
        raise ToolError("unknown", "", f"it printed something that is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ToolError("unknown", "", "it printed JSON that is not an object")
    return cast("dict[str, Any]", value)


def _result(name: str, said: dict[str, Any]) -> ToolResult:
    match said:
        case {"error": str(reason)} if reason:
            return failure("unknown", name, reason)
        case {"data": data}:
            return _told(data)
        case _:
            return failure("unknown", name, "it printed neither data nor an error")


def _told(data: Json) -> ToolResult:
    """Text stands as it is; everything else is JSON, and as data always an object."""
    match data:
        case None:
            return ToolResult("ok")
        case str():
            return ToolResult(data)
        case _:
            members: JsonObject = data if isinstance(data, Mapping) else {"result": data}
            return ToolResult(json.dumps(members, ensure_ascii=False), data=members)
