"""`hookgate people`: who is known is listed and changed, in a running gateway or in the journal's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import cast

from hookgate.channels.printable import printable
from hookgate.cli.people.backend import CODES, PEOPLE, Backend
from hookgate.cli.people.roles import note_unnamed
from hookgate.cli.printing import failed, moment, say, say_json, table, width_shown
from hookgate.control.client import read_rows
from hookgate.loop.doors.guests import ListedPerson
from hookgate.operations.people import OpenCode
from hookgate.operations.refused import OperationRefused
from hookgate.program.endings import FAILED
from hookgate.protocol.values import Json

COLUMNS = ("name", "ids", "roles", "known")


def list_people(config_file: Path | None, control: Path | None, *, as_json: bool) -> int:
    backend = Backend(config_file, control, PEOPLE)
    known, codes = backend.rows(ListedPerson, PEOPLE), backend.rows(OpenCode, CODES)
    if as_json:
        return say_json({"people": [asdict(it) for it in known], "codes": [asdict(it) for it in codes]})
    lines = table([*map(_row, known), *_waiting(codes)], width_shown(), COLUMNS, headed=False)
    for line in lines or ["nobody is known"]:
        say(printable(line))
    return 0


def _row(it: ListedPerson) -> tuple[str, ...]:
    since = f"let in by {it.by}, {moment(it.at)}" if it.by else "by the configuration"
    shadowed = "" if it.counts else "; does not count: the configuration names somebody else so"
    return it.name, " ".join(it.ids), " ".join(it.roles), f"{since}{shadowed}"


def _waiting(codes: Sequence[OpenCode]) -> Iterator[tuple[str, ...]]:
    for it in codes:
        yield "?", it.sender, "", f"waits with the code {it.code}, until {moment(it.until)}"


def change_people(config_file: Path | None, control: Path | None, method: str, params: Mapping[str, Json]) -> int:
    try:
        answer = Backend(config_file, control, PEOPLE).answer(method, params)
    except OperationRefused as error:
        failed(str(error))
        return FAILED
    if answer is True:
        say(printable(f"{params['name']} is not known any more"))
    else:
        [person] = read_rows(ListedPerson, [answer])
        note_unnamed(cast("list[str]", params.get("roles", ())), config_file, control)
        say(printable(f"{person.name}: {' '.join(person.ids)}, roles: {' '.join(person.roles) or '(none)'}"))
    return 0
