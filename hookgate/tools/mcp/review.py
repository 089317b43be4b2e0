"""A connection as it is shown to whoever vouches for it: what it runs, and every tool that waits. Changes nothing."""

from __future__ import annotations

from hookgate.protocol.codec import encode
from hookgate.tools.errors import ToolError
from hookgate.tools.mcp.connect_request import plain, read_row, what_it_does
from hookgate.tools.mcp.listing import Offer, Offered
from hookgate.tools.mcp.roster import Roster

STARTS = "It does not run here: it is started now. Tools that were not approved before are shown then."


def review(roster: Roster, name: str) -> str:
    """For a connection that `Roster.shown` gives. Names and texts of the server stand on one line each."""
    row, live = roster.row(name), roster.connections.get(name)
    offered = live.offered if live is not None else ()
    lines: list[str] = []
    if row is not None:
        try:
            lines.append(what_it_does(read_row(row)))
        except ToolError as error:
            lines.append(error.reason)
    if live is None:
        lines.append(STARTS)
    # What nobody has vouched for yet is shown whole, also where the model may call it already.
    vouched = row is not None and row.approved_by is not None
    whole = [it for it in offered if not (it.taken and vouched)]
    for it in whole:
        lines += _tool(it)
    rest = [plain(it.offer.raw) for it in offered if it not in whole]
    return "\n".join([*lines, *([f"Approved before, and unchanged: {', '.join(rest)}"] if rest else [])])


def _tool(it: Offered) -> list[str]:
    lines = [f"Tool {plain(it.offer.raw)}{_how(it)}: {plain(it.offer.spec.description)}", f"  {_arguments(it.offer)}"]
    if it.before is None or it.taken:
        return lines
    if it.before.spec.description != it.offer.spec.description:
        lines.append(f"  description before: {plain(it.before.spec.description)}")
    if it.before.spec.parameters != it.offer.spec.parameters:
        lines.append(f"  before: {_arguments(it.before)}")
    return lines


def _how(it: Offered) -> str:
    if it.taken:
        return ""
    if it.new:
        return " (new)"
    return " (changed)" if it.before else " (changed since it was approved; what it was is not known any more)"


def _arguments(offer: Offer) -> str:
    return f"arguments: {plain(encode(offer.spec.parameters).decode('utf-8', 'replace'))}"
