"""Which sandbox this machine offers, the best one first: each is tried by a command. What Landlock leaves open."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import structlog

from hookgate.processes.command import Command
from hookgate.processes.once import run_once
from hookgate.protocol.dataclasses import replace
from hookgate.tools.errors import SandboxUnavailable
from hookgate.tools.files.workspace import which_outside

if TYPE_CHECKING:
    from hookgate.tools.shell.sandbox import Sandbox, SandboxOptions

_PROBE_DEADLINE_S = 10.0
_MAX_NAMED = 6
"""Paths that a note or an error lists."""
_SHARED = "Shell commands write only the workspace and a private folder for temporary files"

_log = structlog.get_logger(__name__)


async def choose(environment: Mapping[str, str], limits: SandboxOptions, bare: Sandbox) -> Sandbox:
    """Raises SandboxUnavailable where one is required and none works."""
    if limits.mode == "off":
        return replace(bare, note="The sandbox is switched off: shell commands have all rights of the gateway.")
    open_ = exposed(bare) if limits.mode == "required" else ()
    for candidate in _candidates(bare, environment, strict=limits.mode == "required"):
        if candidate.kind == "landlock" and open_:
            continue
        if await _holds(candidate, environment):
            _log.info("sandbox", kind=candidate.kind, note=candidate.note)
            return candidate
    if open_:
        raise SandboxUnavailable(
            "a sandbox is required, but bwrap does not work on this machine, and Landlock would let shell commands "
            f"change {named(open_)}"
        )
    if limits.mode == "required":
        without = "" if bare.network else " without network"
        raise SandboxUnavailable(
            f"a sandbox{without} is required, but neither bwrap nor Landlock can be one on this machine"
        )
    note = "No sandbox works on this machine: shell commands have all rights of the gateway."
    _log.warning("sandbox", kind="none", note=note)
    return replace(bare, note=note)


def _candidates(bare: Sandbox, environment: Mapping[str, str], *, strict: bool) -> Iterator[Sandbox]:
    """The best one first. `strict`: none that leaves open what should be closed."""
    if program := which_outside("bwrap", environment.get("PATH", os.defpath), bare.workspace):
        yield replace(bare, kind="bwrap", note=f"{_SHARED} (bwrap).", program=program)
    for tcp_open in (False,) if bare.network or strict else (False, True):
        landlock = replace(bare, kind="landlock", tcp_open=tcp_open)
        yield replace(landlock, note=landlock_note(landlock))


def landlock_note(bare: Sandbox) -> str:
    return f"{_SHARED} (Landlock). {_landlock_gaps(bare)}"


def _landlock_gaps(bare: Sandbox) -> str:
    gaps = ["Unix sockets with a path stay reachable."]
    if bare.tcp_open:
        gaps.append("The network stays open: Landlock can close TCP from Linux 6.7 on.")
    elif not bare.network:
        gaps.append("TCP is closed, UDP stays open.")
    if any(path.is_relative_to(bare.workspace) for path in bare.hidden):
        gaps.append("Hidden paths inside the workspace stay readable.")
    if open_ := exposed(bare):
        gaps.append(f"They can change what guards hookgate or tells its models what to do: {named(open_)}.")
    return " ".join(gaps)


def exposed(bare: Sandbox) -> tuple[str, ...]:
    """What is kept inside the workspace, by its path there: Landlock can only grant the workspace as a whole."""
    inside = (path for path in (*bare.kept, *bare.unmade) if path.is_relative_to(bare.workspace))
    return tuple(dict.fromkeys(path.relative_to(bare.workspace).as_posix() for path in inside))


def named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MAX_NAMED} more" if len(paths) > _MAX_NAMED else ""
    return f"{', '.join(paths[:_MAX_NAMED])}{more}"


async def _holds(candidate: Sandbox, environment: Mapping[str, str]) -> bool:
    """Whether a command in it can write where it may, and only there."""
    script = 'printf x > "$1/probe" && ! printf x > "$2/probe"'
    locked = candidate.tmp.with_name("locked")
    # A mount makes the folder that it lies on: not before there is a command that must not make it.
    trial = replace(candidate, unmade=())
    argv = trial.wrap(["/bin/sh", "-c", script, "sh", str(candidate.tmp), str(locked)])
    try:
        # All of it ends with it: bwrap's inner half would wait for the outer one for ever.
        printed = await run_once(Command(argv, candidate.workspace, environment, _PROBE_DEADLINE_S))
    except OSError:
        return False
    written = (candidate.tmp / "probe").exists() and not (locked / "probe").exists()
    return printed.status == 0 and written
