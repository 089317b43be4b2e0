"""MCP connections of a running gateway, or of a configuration whose roster is open: seen, approved, forgotten."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hookgate.assembly.tools.opening import More
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.approval import OPERATOR
from hookgate.protocol.catalog import ConnectionStatus
from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.errors import ToolError

if TYPE_CHECKING:
    from hookgate.tools.mcp.roster import Roster


@dataclass(frozen=True)
class ConnectionToApprove:
    """What there is to approve: `text` for a person, `row` and `tools` for approving just that."""

    name: str
    text: str
    row: str
    tools: Mapping[str, str]


@dataclass(frozen=True)
class Approved:
    """`tools`: how many can be called; `waiting`: those that were not shown yet."""

    name: str
    tools: int
    waiting: tuple[str, ...]


async def list_connections(more: More) -> tuple[ConnectionStatus, ...]:
    """MCP connections, by name."""
    if more.roster is None:
        return ()
    from hookgate.tools.mcp.overview import overview

    return overview(more.roster)


async def show_connection(more: More, name: str) -> ConnectionToApprove:
    """What a person has to see of an MCP connection before it is approved."""
    from hookgate.tools.mcp.review import review

    with _refusals():
        roster = _roster(more)
        shown = roster.shown(name)
        return ConnectionToApprove(name, review(roster, name), shown.row, dict(shown.tools))


async def approve_connection(more: More, name: str, row: str, tools: dict[str, str]) -> Approved:
    """Approve an MCP connection: what was shown of it is taken, now and after every restart; anything else is
    refused."""
    from hookgate.tools.mcp.roster import SeenDigests

    with _refusals():
        status = await _roster(more).approve(SeenDigests(name, row, tools), OPERATOR.id)
    return Approved(name, len(status.tools), tuple(status.waiting))


async def forget_connection(more: More, name: str) -> bool:
    """End an MCP connection that is not the configuration's, and keep it no more. Whether there was one."""
    with _refusals():
        return await _roster(more).forget(name)


def _roster(more: More) -> Roster:
    if more.roster is None:
        raise OperationRefused("there are no MCP connections here: the configuration asks for none")
    return more.roster


@contextmanager
def _refusals() -> Generator[None]:
    try:
        yield
    except ToolError as error:
        raise OperationRefused(error.reason) from None
