"""The control methods about MCP connections, for a running gateway: `mcp.list`, `mcp.show`, `mcp.approve` and
`mcp.forget`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hookgate.operations.methods import ControlError, Method, Methods
from hookgate.protocol.values import Json
from hookgate.tools.errors import ToolError

if TYPE_CHECKING:
    from hookgate.tools.mcp.roster import Roster

OPERATOR = "operator"


@contextmanager
def _refusals() -> Generator[None]:
    try:
        yield
    except ToolError as error:
        raise ControlError(error.reason) from None


def mcp_methods(roster: Roster | None) -> Methods:
    """`roster` None: the configuration has no MCP connections."""

    def there() -> Roster:
        if roster is None:
            raise ControlError("there are no MCP connections here: the configuration asks for none")
        return roster

    async def mcp_list() -> Json:
        """A row per connection, the members of `overview`."""
        from hookgate.tools.mcp.overview import overview

        return list[Json](overview(roster)) if roster is not None else []

    async def mcp_show(name: str) -> Json:
        """What there is to approve: `text` for a person, `row` and `tools` for `mcp.approve`."""
        from hookgate.tools.mcp.review import review

        with _refusals():
            shown = there().shown(name)
        return {"name": name, "text": review(there(), name), "row": shown.row, "tools": dict(shown.tools)}

    async def mcp_approve(name: str, row: str, tools: dict[str, str]) -> Json:
        """Take what `mcp.show` gave, now and after every restart; anything else is refused. `tools`: how many can be
        called; `waiting`: those that were not shown yet."""
        from hookgate.tools.mcp.roster import Shown

        with _refusals():
            status = await there().approve(Shown(name, row, tools), OPERATOR)
        return {"name": name, "tools": len(status.tools), "waiting": list[Json](status.waiting)}

    async def mcp_forget(name: str) -> Json:
        """End a connection that is not the configuration's, and keep it no more. Whether there was one."""
        with _refusals():
            return await there().forget(name)

    return {
        "mcp.list": Method(mcp_list, changes=False),
        "mcp.show": Method(mcp_show, changes=False),
        "mcp.approve": Method(mcp_approve, changes=True),
        "mcp.forget": Method(mcp_forget, changes=True),
    }
