"""`hookgate tools list` and `show`: of the running gateway, else of what the configuration would register."""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from hookgate import config as configuration
from hookgate.cli.hooks.inspect import say
from hookgate.cli.running import running
from hookgate.control.client import NothingRunning, call

Members = Mapping[str, Any]
"""One tool as JSON: the members of `tools_rows.Listed`."""

HERE = "No hookgate is running; this is what the configuration would register."
COLUMNS = ("name", "provider", "version", "flags", "shadowed by")


def list_tools(config_file: Path | None, control: Path | None, *, as_json: bool) -> int:
    """Raises ConfigError, RequiredHookFailed, ControlFailed, and NothingRunning for an explicit `control`."""
    rows, where = _rows(config_file, control, as_json=as_json)
    if as_json:
        say(_json(rows))
        return 0
    say(where)
    for line in _table(rows):
        say(line)
    return 0


def show_tool(name: str, config_file: Path | None, control: Path | None, *, as_json: bool) -> int:
    """1 where there is no such tool. Raises as list_tools."""
    # There is one line of a tool, and so the question whose tool it is: on stderr, as for programs.
    rows, _where = _rows(config_file, control, as_json=True)
    found = [row for row in rows if row["name"] == name]
    if not found:
        from difflib import get_close_matches

        close = get_close_matches(name, [row["name"] for row in rows])
        say(f"there is no tool {name!r}" + (f"; close: {', '.join(dict.fromkeys(close))}" if close else ""))
        return 1
    if as_json:
        say(_json(found))
        return 0
    for number, row in enumerate(found):
        say(("\n" if number else "") + "\n".join(_described(row)))
    return 0


def _rows(config_file: Path | None, control: Path | None, *, as_json: bool) -> tuple[Sequence[Members], str]:
    try:
        found = running(config_file, control)
    except NothingRunning:
        if control is not None:
            raise
    else:
        if as_json:
            found.tell()
        return cast("list[Members]", call(found.path, "tools.list")), found.title
    import trio

    return trio.run(_started_rows, config_file), HERE


async def _started_rows(config_file: Path | None) -> Sequence[Members]:
    from hookgate.assembly.tools import all_rules
    from hookgate.cli.tools.started import open_without_model
    from hookgate.operations.tools import listed
    from hookgate.program.signals import open_until_signal
    from hookgate.store import open_catalog

    rows: Sequence[Members] = ()
    async with open_until_signal(signal.SIGTERM, signal.SIGHUP), open_without_model(config_file) as runtime:
        config = runtime.settings.config
        file = configuration.store_file(config)
        # Looking makes no file.
        async with open_catalog(file) if file.exists() else nullcontext() as catalog:
            found = listed(runtime, all_rules(config), catalog, configuration.workspace_key(config))
            rows = [asdict(row) for row in found]
    return rows


# --- for people ---------------------------------------------------------------------------------------------


def _json(rows: Sequence[Members]) -> str:
    from hookgate.protocol.codec import encode

    return encode(rows).decode()


def _table(rows: Sequence[Members]) -> list[str]:
    """Columns as wide as they must be; rows of the catalog that do not run come after, with their reason."""
    running = [row for row in rows if row["state"] == "ok"]
    cells = [COLUMNS, *(_cells(row) for row in running)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(COLUMNS))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in cells]
    waiting = [
        f"  {row['name']}  {row['provider']}  {row['state']}: {row['reason']}" for row in rows if row not in running
    ]
    return [*(lines if running else ["no tools"]), *(["not started:", *waiting] if waiting else [])]


def _cells(row: Members) -> tuple[str, ...]:
    flags = [name for name, key in FLAGS.items() if row[key]]
    flags += [":".join(("approval", *_limits(row)))] if row["approval"] else []
    version = str(row["version"]) if row["version"] else "-"
    return row["name"], row["provider"], version, ",".join(flags) or "-", row["shadowed_by"] or "-"


FLAGS = {"read-only": "read_only", "pure": "pure", "reserved": "reserved"}


def _limits(row: Members) -> Sequence[str]:
    """The origins of the calls that are asked about, where no rule is about all of them."""
    origins: Sequence[Sequence[str]] = row.get("approval_origins", [])
    return ["/".join(sorted({it for of in origins for it in of}))] if origins and all(origins) else []


def _rules(row: Members) -> str:
    """A gateway of an older version has no origins."""
    origins: Sequence[Sequence[str]] = row.get("approval_origins") or [()] * len(row["approval"])
    limits = [f" (calls of origin {', '.join(of)})" if of else "" for of in origins]
    return ", ".join(f"{rule}{limit}" for rule, limit in zip(row["approval"], limits, strict=True))


def _described(row: Members) -> list[str]:
    lines = [f"{row['name']}  ({row['provider']})"]
    if row["state"] != "ok":
        return [*lines, f"not started, {row['state']}: {row['reason']}"]
    if row["shadowed_by"]:
        return [*lines, f"shadowed by {row['shadowed_by']}"]
    lines += [f"description: {row['description'] or '(none)'}"]
    lines += [f"the model reads instead: {row['override']}"] if row["override"] else []
    lines += [f"flags: {_cells(row)[3]}", f"timeout: {row['timeout_s']:g} s"]
    lines += [f"approval: a person is asked by rule {_rules(row)}"] if row["approval"] else []
    wishes = {name: wish for name, wish in row["preference"].items() if wish not in (None, {}, [])}
    lines += [f"preference: {json.dumps(wishes, ensure_ascii=False)}"] if wishes else []
    return [*lines, f"schema: {json.dumps(row['parameters'], indent=2, ensure_ascii=False)}"]
