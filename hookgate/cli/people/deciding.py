"""`hookgate approvals`: what waits is listed and decided, in a running gateway or in the journal's file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from hookgate.channels.printable import printable
from hookgate.cli.journal.file import journal_of
from hookgate.cli.journal.place import JournalChoice
from hookgate.cli.printing import failed, say, say_rows, table, width_shown
from hookgate.cli.running import Running, all_ours, running_for, running_or_none
from hookgate.config import FILE_NAME
from hookgate.control.client import ControlFailed, NothingRunning, call, read_rows
from hookgate.operations.approvals import PendingRequest, decide, waiting_rows
from hookgate.program.endings import FAILED
from hookgate.program.signals import run_interruptibly
from hookgate.protocol.approval import GRANTS, OPERATOR, Outcome, usual_title
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json
from hookgate.store.places import JournalPlace, is_there, open_journal_at, open_look_at, refuse_missing


@dataclass(frozen=True)
class DecisionOptions:
    """`request`: an id, or as much of it as means one alone."""

    request: str
    approved: bool
    reason: str
    grant: str


LISTING = "approvals.list"
COLUMNS = ("request", "session", "tool", "asked by", "arguments")


def list_waiting(config_file: Path | None, control: Path | None, *, as_json: bool) -> int:
    """Raises ConfigError, ControlFailed and StoreFailed, as both do."""
    waiting, title = _waiting(config_file, control, as_json=as_json)
    rows = ((it.request, it.session, it.tool, _asked(it), encode(it.arguments).decode()) for it in waiting)
    lines = table(rows, width_shown(), COLUMNS, headed=False) or ["nothing waits for people"]
    return say_rows(waiting, lambda: [*title, *lines], as_json=as_json)


def _asked(it: PendingRequest) -> str:
    """By whom, with a title of its own where it has one; who has allowed it, where several have to."""
    title = "" if it.title == usual_title(it.tool, it.extension) else f": {it.title}"
    so_far = f", {len(it.allowed)} of {it.required}" if it.required > 1 else ""
    return f"{it.asked_by}{title}{so_far}{' (' + ', '.join(it.allowed) + ')' if it.allowed else ''}"


def decide_request(said: DecisionOptions, config_file: Path | None, control: Path | None) -> int:
    try:
        running = running_for("approvals.decide", config_file, control)
    except NothingRunning:
        if control is not None or not (config_file or Path(FILE_NAME).exists()):
            raise
        file = journal_of(JournalChoice(config_file))
        if not is_there(file):
            raise
        outcome = run_interruptibly(_decide_stored, file, said)
    else:
        running.tell()
        outcome = _decide_running(_sockets(running, config_file, control), said)
    (say if outcome.counted else failed)(printable(outcome.text))
    return 0 if outcome.counted else FAILED


def _waiting(
    config_file: Path | None, control: Path | None, *, as_json: bool
) -> tuple[tuple[PendingRequest, ...], tuple[str, ...]]:
    """And whose they are, where that is not plain."""
    running = running_or_none(config_file, control)
    if running is not None:
        if as_json:
            running.tell()
        held = _held(_sockets(running, config_file, control))
        return tuple(row for row, _path in held.values()), (running.title,) if running.strange else ()
    from hookgate.store.journal.decisions import open_requests

    file = journal_of(JournalChoice(config_file))
    if not is_there(file):
        return (), ()
    with open_look_at(file) as tables:
        return waiting_rows(open_requests(tables)), ()


def _sockets(running: Running, config_file: Path | None, control: Path | None) -> list[Path]:
    """Of this one, and unless it was named or is another's, of what else runs of this configuration or workspace."""
    named = control is not None or running.strange
    others = () if named else all_ours(config_file, LISTING)
    return [running.path, *(it for it in others if it != running.path)]


def _held(paths: Sequence[Path]) -> dict[str, tuple[PendingRequest, Path]]:
    """By its id all that waits there, each with the socket where it is decided. Those that share a database have the
    same."""
    held = dict[str, tuple[PendingRequest, Path]]()
    for path in paths:
        try:
            rows = read_rows(PendingRequest, call(path, LISTING))
        except (NothingRunning, ControlFailed):
            if path == paths[0]:
                raise
            # One of the others that ends meanwhile has nothing that waits.
            continue
        held |= {row.request: (row, path) for row in rows if row.request not in held}
    return held


def _decide_running(paths: Sequence[Path], said: DecisionOptions) -> Outcome:
    """By the one that has it; what no longer waits any of them may know."""
    from hookgate.approvals.decide import UNKNOWN, meant

    held = _held(paths)
    found = [it for it in held if it.startswith(said.request)]
    id_ = meant(said.request, found) if found else said.request
    if isinstance(id_, Outcome):
        return id_
    given: dict[str, Json] = {"request": id_, "approved": said.approved, "reason": said.reason, "grant": said.grant}
    outcome = UNKNOWN
    for path in [held[id_][1]] if found else paths:
        outcome = Outcome(**cast("dict[str, Any]", call(path, "approvals.decide", given)))
        if outcome.state != "unknown":
            break
    return outcome


async def _decide_stored(file: JournalPlace, said: DecisionOptions) -> Outcome:
    """By the same function as everywhere; without a configuration's rules, since an operator may always."""
    from hookgate.approvals.requests import Approvals
    from hookgate.approvals.surroundings import Surroundings
    from hookgate.protocol.approval import Decision

    refuse_missing(file)
    decision = Decision(said.approved, OPERATOR.id, said.reason, GRANTS[said.grant])
    async with open_journal_at(file) as journal:
        approvals = Approvals((), journal, Surroundings(lambda _payload, _step: None))
        return await decide(approvals, said.request, decision)
