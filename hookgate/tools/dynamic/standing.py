"""Whether a kept tool may start again: what is known of it in, one state out. Pure."""

from __future__ import annotations

from hookgate.protocol.catalog import RowState, ToolRow
from hookgate.protocol.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Facts:
    """`digest` of what lies on disk now, None where nothing does; `holder`: the provider that has the name already,
    or empty; `lacking`: why it may not have the packages that it requires."""

    digest: str | None
    holder: str = ""
    lacking: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """`running`: it can be called. A tool that is `ok` and does not run has failed to start."""

    row: ToolRow
    state: RowState
    reason: str = ""
    running: bool = False


def standing(row: ToolRow, facts: Facts) -> Standing:
    if not row.enabled:
        return Standing(row, "disabled", "it is switched off")
    if facts.digest is None:
        return Standing(row, "missing", f"{row.source} is gone")
    if facts.digest != row.sha256:
        return Standing(row, "changed", f"{row.source} is not what was approved")
    if facts.holder:
        return Standing(row, "shadowed", f"{facts.holder} has a tool of this name")
    if facts.lacking:
        return Standing(row, "needs_approval", facts.lacking)
    if not row.lasts:
        return Standing(row, "needs_approval", "the model made it, and its approval counted for that run alone")
    return Standing(row, "ok")
