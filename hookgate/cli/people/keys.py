"""`hookgate keys`: keys of programs are made, listed and revoked, in a running gateway or in the journal's file."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from hookgate.channels.printable import printable
from hookgate.cli.people.backend import KEYS, Backend
from hookgate.cli.people.roles import note_unnamed
from hookgate.cli.printing import failed, moment, say, say_rows, table, width_shown, write
from hookgate.control.client import read_rows
from hookgate.operations.keys import KeyRow, NewKey
from hookgate.operations.refused import OperationRefused
from hookgate.program.endings import FAILED
from hookgate.protocol.values import Json

COLUMNS = ("holder", "roles", "made")


def list_keys(config_file: Path | None, control: Path | None, *, as_json: bool) -> int:
    """Raises ConfigError, ControlFailed and StoreFailed, as all do."""
    rows = Backend(config_file, control, KEYS).rows(KeyRow, KEYS)
    cells = ((it.holder, " ".join(it.roles), _said(it)) for it in rows)
    lines = table(cells, width_shown(), COLUMNS, headed=False) or ["nobody has a key"]
    return say_rows(rows, lambda: map(printable, lines), as_json=as_json)


def _said(it: KeyRow) -> str:
    idle = "" if it.opens else "; opens nothing: the configuration has nothing of that name that takes keys"
    return f"made by {it.by}, {moment(it.at)}{idle}"


def add_key(config_file: Path | None, control: Path | None, params: Mapping[str, Json]) -> int:
    """The key alone goes to stdout, so that a script can keep it. `params`: as `operations.keys.add` takes them."""
    backend = Backend(config_file, control, KEYS)
    try:
        answer = backend.answer("keys.add", params)
    except OperationRefused as error:
        failed(str(error))
        return FAILED
    [made] = read_rows(NewKey, [answer])
    write(f"{made.key}\n")
    sys.stderr.write(
        printable(f"{made.holder}, roles: {' '.join(made.roles) or '(none)'}; nobody is shown it again\n")
    )
    note_unnamed(filter(None, (str(params["role"]),)), config_file, control)
    return 0


def revoke_key(config_file: Path | None, control: Path | None, name: str, channel: str) -> int:
    backend = Backend(config_file, control, KEYS)
    try:
        rows = backend.rows(KeyRow, "keys.revoke", name=name, channel=channel)
    except OperationRefused as error:
        failed(str(error))
        return FAILED
    for it in rows:
        kept = f"; the roles {' '.join(it.roles)} stay with the person" if it.roles else ""
        say(printable(f"the key of {it.holder} opens nothing any more{kept}"))
    return 0
