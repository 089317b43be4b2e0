"""The control methods about tools, for a running gateway: `tools.list` and `tools.refresh`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from hookgate.approvals.rules import Rule
from hookgate.assembly.app import Runtime
from hookgate.config import workspace_key
from hookgate.operations.methods import ControlError, Method, Methods
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.values import Json
from hookgate.store import Store, StoredDescriptions, Without


def tool_methods(
    runtime: Runtime,
    catalog: Store | Without,
    descriptions: StoredDescriptions,
    rules: Callable[[], Sequence[Rule]],
) -> Methods:
    """`rules` gives the approval rules in force at that moment."""
    workspace = workspace_key(runtime.settings.config)

    async def tools_list() -> Json:
        """A row per tool, the members of `Listed`."""
        from hookgate.operations.tools import listed

        return [asdict(row) for row in listed(runtime, rules(), catalog, workspace)]

    async def tools_refresh() -> Json:
        """Take over what another process wrote to the store: the descriptions' revision after it."""
        try:
            revision = await descriptions.refresh()
        except StoreFailed as error:
            raise ControlError(str(error)) from None
        return {"revision": revision}

    return {"tools.list": Method(tools_list, changes=False), "tools.refresh": Method(tools_refresh, changes=True)}
