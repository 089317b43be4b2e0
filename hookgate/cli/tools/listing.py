"""`hookgate tools list` and `show`: of the running gateway, else of what the configuration would register."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path

from hookgate.cli.printing import say, say_rows, table, width_shown
from hookgate.cli.running import asked, running_or_none
from hookgate.config import ConfigError
from hookgate.operations import tools
from hookgate.operations.tools import Listed
from hookgate.protocol.dataclasses import dataclass

HERE = "No hookgate of this configuration is running; this is what it would register."
NAMED = "This is what hookgate would register with these extensions."
COLUMNS = ("name", "provider", "version", "flags", "shadowed by")


@dataclass(frozen=True)
class Source:
    """Whose tools: of the hookgate at `control`, else of one that runs with this file, else of none that runs yet.
    `ext`: of none, with these folders of extensions besides."""

    config_file: Path | None
    control: Path | None
    ext: tuple[Path, ...] = ()


def list_tools(source: Source, *, as_json: bool) -> int:
    """Raises ConfigError, RequiredHookFailed, ControlFailed, and NothingRunning for an explicit `source.control`."""
    rows, where = _rows(source, as_json=as_json)
    return say_rows(rows, lambda: [where, *_table(rows)], as_json=as_json)


def show_tool(name: str, source: Source, *, as_json: bool) -> int:
    """1 where there is no such tool. Raises as list_tools."""
    # There is one line of a tool, and so the question whose tool it is: on stderr, as for programs.
    rows, _where = _rows(source, as_json=True)
    found = [row for row in rows if row.name == name]
    if not found:
        from difflib import get_close_matches

        close = get_close_matches(name, [row.name for row in rows])
        say(f"there is no tool {name!r}" + (f"; close: {', '.join(dict.fromkeys(close))}" if close else ""))
        return 1
    return say_rows(found, lambda: ["\n\n".join("\n".join(_described(row)) for row in found)], as_json=as_json)


def _rows(source: Source, *, as_json: bool) -> tuple[Sequence[Listed], str]:
    if source.control is not None and source.ext:
        raise ConfigError("--control asks a hookgate that runs, which --ext is not for: give one of them")
    found = None if source.ext else running_or_none(source.config_file, source.control)
    if found is not None:
        return asked("tools.list", Listed, found, tell=as_json)
    from hookgate.program.signals import run_interruptibly

    return run_interruptibly(_started_rows, source), NAMED if source.ext else HERE


async def _started_rows(source: Source) -> Sequence[Listed]:
    from hookgate.cli.tools.started import open_without_model
    from hookgate.program.signals import open_until_signal

    rows: Sequence[Listed] = ()
    opened = open_without_model(source.config_file, named=source.ext)
    async with open_until_signal(signal.SIGTERM, signal.SIGHUP), opened as runtime:
        rows = await tools.list_tools(runtime)
    return rows


# --- for people ---------------------------------------------------------------------------------------------


def _table(rows: Sequence[Listed]) -> list[str]:
    """Rows of the catalog that do not run come after, with their reason."""
    running = [row for row in rows if row.state == "ok"]
    lines = table(map(_cells, running), width_shown(), COLUMNS) if running else ["no tools"]
    waiting = [f"  {row.name}  {row.provider}  {row.state}: {row.reason}" for row in rows if row not in running]
    return [*lines, *(["not started:", *waiting] if waiting else [])]


def _cells(row: Listed) -> tuple[str, ...]:
    flags = [":".join(("approval", *_limits(row))) if flag == "approval" else flag for flag in row.flags]
    return row.name, row.provider, str(row.version or ""), ",".join(flags), row.shadowed_by


def _limits(row: Listed) -> Sequence[str]:
    """The origins of the calls that are asked about, where no rule is about all of them."""
    origins = row.approval_origins
    return ["/".join(sorted({it for of in origins for it in of}))] if origins and all(origins) else []


def _rules(row: Listed) -> str:
    """A gateway of an older version has no origins."""
    origins = row.approval_origins or [()] * len(row.approval)
    limits = [f" (calls of origin {', '.join(of)})" if of else "" for of in origins]
    return ", ".join(f"{rule}{limit}" for rule, limit in zip(row.approval, limits, strict=True))


def _described(row: Listed) -> list[str]:
    lines = [f"{row.name}  ({row.provider})"]
    if row.state != "ok":
        return [*lines, f"not started, {row.state}: {row.reason}"]
    if row.shadowed_by:
        return [*lines, f"shadowed by {row.shadowed_by}"]
    lines += [f"description: {row.description or '(none)'}"]
    lines += [f"the model reads instead: {row.override}"] if row.override else []
    lines += [f"flags: {_cells(row)[3] or '-'}", f"timeout: {row.timeout_s:.10g} s"]
    lines += [f"approval: a person is asked by rule {_rules(row)}"] if row.approval else []
    wishes = {name: wish for name, wish in row.preference.items() if wish not in (None, {}, [])}
    lines += [f"preference: {json.dumps(wishes, ensure_ascii=False)}"] if wishes else []
    return [*lines, f"schema: {json.dumps(row.parameters, indent=2, ensure_ascii=False)}"]
