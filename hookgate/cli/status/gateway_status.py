"""The status of a running gateway, asked for once or again and again, and printed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from types import FrameType
from typing import Any, cast

from hookgate.channels.printable import char_columns, printable
from hookgate.cli.printing import failed, folded, say, say_json, screen_size, width_shown, write
from hookgate.cli.running import Running, looked_at
from hookgate.cli.status.lines import report
from hookgate.control.client import NO_ANSWER, ControlFailed, NothingRunning, call, read_rows
from hookgate.operations.approvals import PendingRequest
from hookgate.operations.channels import ChannelStatus
from hookgate.operations.gateways import GatewayStatus, TurnStatus
from hookgate.operations.hooks import HookStatus
from hookgate.operations.status import Calls, Queues, Sessions, Status
from hookgate.program.endings import FAILED
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.journal.views import AuditView, DeadLetter, Outgoing, StoreView
from hookgate.protocol.values import Json

NONE_RUNS = 2
EVERY_S = 1.0
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""The terminal's other screen, without a cursor; and back."""
HOME, END_OF_LINE, END_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


@dataclass(frozen=True)
class StatusQuery:
    config_file: Path | None
    control: Path | None
    as_json: bool

    @property
    def gateway(self) -> Running:
        """Raises NothingRunning."""
        return looked_at(self.config_file, self.control)


def show(asked: StatusQuery) -> int:
    """Raises ControlFailed."""
    try:
        found = asked.gateway
    except NothingRunning as error:
        failed(str(error))
        return NONE_RUNS
    answer = call(found.path, "status")
    status = _read(answer)
    if asked.as_json:
        found.tell()
        say_json(answer)
    else:
        for line in [found.title, *report(status, width_shown())] if found.strange else report(status, width_shown()):
            say(line)
    return FAILED if status.problems else 0


LISTS = {
    **{"turns": TurnStatus, "hooks": HookStatus, "approvals": PendingRequest},
    **{"letters": DeadLetter, "channels": ChannelStatus},
}
VALUES = {"sessions": Sessions, "queues": Queues, "store": StoreView, "audit": AuditView, "calls": Calls}


def _read(answer: Json) -> Status:
    """As the gateway's own version says it, as far as this one knows that. Raises ControlFailed."""
    try:
        members = {**cast("dict[str, Any]", answer)}
        members |= {name: read_rows(shape, members[name]) for name, shape in LISTS.items()}
        members |= {name: read_rows(shape, [members[name]])[0] for name, shape in VALUES.items()}
        queues = members["queues"]
        members["gateways"] = tuple(_gateway(it) for it in cast("list[dict[str, Any]]", members.get("gateways", [])))
        members["queues"] = replace(queues, outgoing=read_rows(Outgoing, queues.outgoing))
        return read_rows(Status, [members])[0]
    except (TypeError, KeyError) as error:
        raise ControlFailed(NO_ANSWER, f"the answer is no status: {error}") from None


def _gateway(said: dict[str, Any]) -> GatewayStatus:
    """Raises ControlFailed and what is wrong with its shape."""
    lists = ("turns", "hooks", "channels")
    members: dict[str, Any] = said | {name: read_rows(LISTS[name], said[name]) for name in lists}
    [its] = read_rows(GatewayStatus, [members])
    return its


def watch_on(asked: StatusQuery) -> int:
    """Until Ctrl-C, also while no gateway runs. On a terminal each takes the place of the one before."""
    if asked.as_json or not sys.stdout.isatty():
        return _one_after_the_other(asked)
    with _other_screen():
        while True:
            columns, rows = screen_size()
            folds = (row for line in _lines(asked, columns) for row in folded(line, columns))
            lines = [_cut(row, columns - 1) for row in folds]
            left = len(lines) - (rows - 1)
            shown = lines if left <= 0 else [*lines[: rows - 2], f"... {left + 1} more lines"]
            write(HOME + "".join(f"{line}{END_OF_LINE}\r\n" for line in shown) + END_OF_SCREEN)
            sleep(EVERY_S)


def _lines(asked: StatusQuery, width: int | None) -> list[str]:
    try:
        return report(_read(call(asked.gateway.path, "status")), width)
    except (NothingRunning, ControlFailed) as error:
        return printable(str(error)).splitlines()


def _one_after_the_other(asked: StatusQuery) -> int:
    with _ends_in_order():
        while True:
            if asked.as_json:
                show(asked)
            else:
                say("\n".join([*_lines(asked, None), ""]))
            sys.stdout.flush()
            sleep(EVERY_S)
    return 0


@contextmanager
def _ends_in_order() -> Generator[None]:
    """Ctrl-C is how it ends, and SIGTERM ends it no other way."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _other_screen() -> Generator[None]:
    """What stood on the terminal stands there again afterwards."""
    with _ends_in_order():
        try:
            write(ENTER)
            yield
        finally:
            os.write(sys.stdout.fileno(), LEAVE.encode())


def _cut(line: str, columns: int) -> str:
    """No line goes on in the next row."""
    taken = 0
    for place, char in enumerate(line):
        taken += char_columns(char)
        if taken > columns:
            return line[:place]
    return line
