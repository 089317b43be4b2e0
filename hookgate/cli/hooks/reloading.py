"""`hookgate hooks reload`: a running gateway, and all that share its journal, take over their configuration."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from hookgate.cli.printing import say, say_json, table, width_shown
from hookgate.cli.running import running_for
from hookgate.control.client import call, read_rows
from hookgate.operations.hooks import Reloaded, ReloadedGateway, told
from hookgate.protocol.values import JsonObject

METHOD = "hooks.reload"
COLUMNS = "gateway", "outcome", "what it did"


def reload_hooks(config_file: Path | None, control: Path | None, *, here: bool, as_json: bool) -> int:
    """Raises NothingRunning and ControlFailed, which says what came of it where a gateway has failed."""
    found = running_for(METHOD, config_file, control)
    found.tell()
    answer = cast("JsonObject", call(found.path, METHOD, {"here": True} if here else {}))
    if as_json:
        return say_json(answer)
    [done] = read_rows(Reloaded, [answer])
    gateways = read_rows(ReloadedGateway, answer.get("gateways", []))
    rows = [(it.name, it.outcome, it.why or it.did) for it in gateways]
    for line in table(rows, width_shown(), COLUMNS) if rows else (f"Reloaded: {told(done)}",):
        say(line)
    return 0
