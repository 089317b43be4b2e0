"""The tools that a server offers: every page of the list, the caps, the names and digests. Registers nothing."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

import structlog

from hookgate.protocol.codec import canonical
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.match import Globs
from hookgate.protocol.values import JsonObject, ToolSpec
from hookgate.tools.errors import BadSpec
from hookgate.tools.mcp.connect_request import plain
from hookgate.tools.mcp.names import exposed
from hookgate.tools.mcp.server import ConnectFailed, ServerSpec
from hookgate.tools.schema.check import check_schema
from hookgate.tools.schema.spec import check_spec

if TYPE_CHECKING:
    from mcp_types import ListToolsResult, Tool

log = structlog.get_logger("hookgate.mcp")

MAX_TOOLS = 64
MAX_PAGES = 50
MAX_LISTED = 2000


@dataclass(frozen=True, slots=True)
class Offer:
    """One tool that can be taken. `raw` is the server's name for it; `digest` is of (name, description, schema)."""

    raw: str
    digest: str
    spec: ToolSpec


@dataclass(frozen=True, slots=True)
class Offered:
    """An offer as it stands in a connection: `taken` or waiting; `new`: nobody has agreed to a tool of this name;
    `before`: what was taken under this name last, as far as that is known."""

    offer: Offer
    taken: bool
    new: bool
    before: Offer | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """`skipped` says which tools cannot be taken, and why."""

    offers: tuple[Offer, ...]
    skipped: tuple[str, ...] = ()


class Pages(Protocol):
    async def page(self, cursor: str | None) -> ListToolsResult:
        """One page of tools/list. Raises ConnectFailed."""
        ...


async def listed(pages: Pages, spec: ServerSpec, taken: Collection[str]) -> Listing:
    """Every tool that `spec.tools` covers. `taken`: names of tools that others have registered.

    Raises ConnectFailed: too many tools or pages, or no list at all.
    """
    found: dict[str, Tool] = {}
    seen: set[str] = set()
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await pages.page(cursor)
        for tool in page.tools:
            found.setdefault(tool.name, tool)
        cursor = page.next_cursor or None
        if cursor is None or cursor in seen or len(found) > MAX_LISTED:
            break
        seen.add(cursor)
    if cursor is not None:
        raise ConnectFailed(f"its list of tools does not end: {len(found)} tools on {len(seen)} pages so far")
    return _judged(spec, found, taken)


def _judged(spec: ServerSpec, found: dict[str, Tool], taken: Collection[str]) -> Listing:
    wanted = {raw: tool for raw, tool in found.items() if Globs(spec.tools).covers(raw)}
    if len(wanted) > MAX_TOOLS:
        raise ConnectFailed(f"it offers {len(wanted)} tools, more than {MAX_TOOLS}: choose some with `tools`")
    names = exposed(spec.name, wanted, taken)
    offers: list[Offer] = []
    skipped: list[str] = []
    for raw, tool in sorted(wanted.items()):
        try:
            offers.append(_offer(spec, names[raw], tool))
        except BadSpec as error:
            skipped.append(f"{plain(raw[:80])}: {error}"[:300])
    for line in skipped:
        log.warning("mcp_tool_skipped", connection=spec.name, what=line)
    return Listing(tuple(offers), tuple(skipped))


def _offer(server: ServerSpec, name: str, tool: Tool) -> Offer:
    """Raises BadSpec for a tool that no model can be offered."""
    description = tool.description or tool.title or ""
    trusted = _covers(server.read_only, tool.name)
    hinted = tool.annotations is not None and tool.annotations.read_only_hint is True
    spec = ToolSpec(
        name,
        description,
        tool.input_schema,
        mutates=not trusted,
        affects_workspace=not trusted,
        pure=trusted and hinted and _covers(server.pure, tool.name),
        timeout_s=server.timeout_s,
        provider=server.provider,
        access="none",
        output_schema=_usable(server, tool),
    )
    check_spec(spec)
    return Offer(tool.name, digest(tool.name, description, tool.input_schema), spec)


def digest(raw: str, description: str, schema: JsonObject) -> str:
    """What an approval of a tool is bound to."""
    return sha256(canonical([raw, description, schema])).hexdigest()


def _covers(globs: tuple[str, ...], raw: str) -> bool:
    """No globs vouch for nothing, where Globs without a pattern would cover everything."""
    return bool(globs) and Globs(globs).covers(raw)


def _usable(server: ServerSpec, tool: Tool) -> JsonObject | None:
    """The output schema, unless it cannot be one: that costs its results the check, not the tool."""
    if tool.output_schema is None:
        return None
    try:
        check_schema(tool.output_schema)
    except BadSpec as error:
        log.warning("mcp_output_schema", connection=server.name, tool=tool.name[:80], problem=str(error)[:200])
        return None
    return tool.output_schema
