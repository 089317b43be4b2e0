"""One MCP connection over its whole life: connect, register its tools, notice the loss, connect again.

A single task owns it (`run`); its tools, and whoever lists or ends it, only look or ask.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from time import monotonic

import structlog
import trio

from hookgate.processes.backoff import backoff_s
from hookgate.protocol.values import JsonObject, ToolCall, ToolResult, ToolSpec
from hookgate.tools.errors import BadSpec, NameConflict, ToolError
from hookgate.tools.mcp.listing import Listing, Offer, Offered, listed
from hookgate.tools.mcp.live import Live, Refused, Revision, leaves, open_live, reason_of
from hookgate.tools.mcp.notices import Notices
from hookgate.tools.mcp.results import Answered, tool_result
from hookgate.tools.mcp.server import ConnectFailed, ServerListeners, ServerSpec, ServerState, ServerStatus, State
from hookgate.tools.mcp.taken import TakenTools
from hookgate.tools.mcp.transport.ending import Ending
from hookgate.tools.mcp.transport.tap import LIST_CHANGED, Tap
from hookgate.tools.registry import Registry

log = structlog.get_logger("hookgate.mcp")

FIRST_DELAY_S, LONGEST_DELAY_S = 1.0, 60.0
STEADY_S = 60.0
"""A connection that held this long was a good one: the next loss starts from the first delay again."""
SETTLE_S = 0.2
"""A server that changes its tools often changes several: they are listed once."""
BETWEEN_LISTS_S = 1.0


class McpTool:
    """One tool of a connection, as the registry has it."""

    def __init__(self, connection: Connection, offer: Offer) -> None:
        self._connection, self._offer = connection, offer

    @property
    def spec(self) -> ToolSpec:
        return self._offer.spec

    async def execute(self, call: ToolCall) -> ToolResult:
        return await self._connection.call(self._offer, call)


class Connection:
    """`approved`: digests of the tools that a person agreed to, by the server's names; None: every tool is taken.

    `tried` is set after the first attempt, `closed` when the owner is done.
    """

    def __init__(
        self, spec: ServerSpec, registry: Registry, told: ServerListeners, approved: Mapping[str, str] | None = None
    ) -> None:
        self.spec = spec
        self.state: State = "connecting"
        self.error = ""
        self.restarts = 0
        self.tried, self.closed = trio.Event(), trio.Event()
        self._told = told
        self._tools = TakenTools(spec, registry, approved, partial(McpTool, self))
        self._live: Live | None = None
        self._revision: Revision = "legacy"
        self._was_up = self._lasting = self._missed = False
        self._leaving = trio.Event()
        self._attempt = trio.CancelScope()
        self._changed = trio.Event()
        self._notices = Notices(spec.name, told.on_notification)

    # --- what others ask ------------------------------------------------------------------------------------

    @property
    def status(self) -> ServerStatus:
        listing, taken = self._tools.listing, self._tools.taken
        waiting = tuple(offer.raw for offer in listing.offers if offer.raw not in taken)
        return ServerStatus(
            name=self.spec.name,
            transport=self.spec.transport,
            state=self.state,
            origin=self.spec.origin,
            tools=self._tools.names,
            waiting=waiting if self._live else (),
            skipped=listing.skipped,
            error=self.error,
            restarts=self.restarts,
            hashes={offer.raw: offer.digest for offer in listing.offers},
        )

    @property
    def offered(self) -> tuple[Offered, ...]:
        """What its server offers, taken or waiting."""
        return self._tools.offered

    def lacks(self, tool: str) -> bool:
        """Whether this one went when the server was lost, which is being connected again. Before it has been up, any
        of its names may be one that a conversation knows from an earlier run."""
        known = tool in self._tools.lost if self._was_up else tool.startswith(f"{self.spec.name}__")
        return self._live is None and self.state != "closed" and known

    def leave(self) -> None:
        """Ask the owner to end it; `closed` tells when it has."""
        self._leaving.set()
        if self._live is None:
            self._attempt.cancel()

    async def call(self, offer: Offer, call: ToolCall) -> ToolResult:
        """Raises ToolError."""
        live = self._live
        if live is None:
            reason = self.error or self.state
            raise ToolError("transient", call.name, f"the MCP server {self.spec.name} is not connected: {reason}")
        answer = await live.call(call.name, offer.raw, call.arguments)
        return tool_result(Answered(self.spec.name, call.name, offer.spec.output_schema), answer)

    def approve(self, digests: Mapping[str, str]) -> None:
        """Take the tools of these digests, by the server's names, and no others. Raises BadSpec, NameConflict."""
        self._tools.approve(digests)
        if self._live is not None:
            self._tools.take(self._tools.listing)
            self._become("up")

    # --- the owner ------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until it is left or cancelled; a connection that the model made also ends if its first attempt fails.

        Raises nothing: `error` says what went wrong last.
        """
        losses = 0
        try:
            while not self._leaving.is_set():
                since = monotonic()
                with self._attempt:
                    await self._run_once()
                self._attempt = trio.CancelScope()
                if not self._worth_another_try():
                    self._tell_end()
                    break
                losses = 0 if monotonic() - since > STEADY_S else losses
                await self._pause(losses)
                losses += 1
                self.restarts += 1
                self._become("connecting")
        finally:
            self._pop()
            self._become("closed")
            self.closed.set()

    def _worth_another_try(self) -> bool:
        return not (self._leaving.is_set() or self._lasting or (self.spec.origin == "model" and not self._was_up))

    def _tell_end(self) -> None:
        """Where nobody has asked for it: what the file says will never do."""
        if self._lasting and not self._leaving.is_set():
            log.warning("mcp_given_up", connection=self.spec.name, reason=self.error)

    async def _pause(self, losses: int) -> None:
        delay = backoff_s(losses + 1, FIRST_DELAY_S, LONGEST_DELAY_S)
        # Of a series of attempts only the first is news.
        self._missed = self._missed or not losses
        tell = log.info if losses else log.warning
        tell("mcp_down", connection=self.spec.name, reason=self.error, retry_in_s=round(delay, 2))
        with trio.move_on_after(delay):
            await self._leaving.wait()

    async def _run_once(self) -> None:
        """One connection to its end; the other revision of the protocol where the server refuses this one."""
        for _ in range(2):
            if not await self._refused():
                break
            self._revision = "auto" if self._revision == "legacy" else "legacy"
        if not self._leaving.is_set():
            self._become("down")

    async def _refused(self) -> bool:
        ending = Ending(lambda: self._lost(ending))
        refused = False
        try:
            await self._run_live(Tap(self.spec.name, ending, self._hear))
        except* Exception as group:
            errors = tuple(leaves(group))
            refused = any(isinstance(error, Refused) for error in errors)
            self._lasting = any(isinstance(error, ConnectFailed) and error.lasting for error in errors)
            self.error = reason_of(errors, ending)
        finally:
            self._pop()
        self.error = "" if self._leaving.is_set() else self.error or ending.reason
        return refused

    async def _run_live(self, tap: Tap) -> None:
        async with open_live(self.spec, tap, self._revision) as live:
            await self._first_listing(live)
            if not tap.ending.event.is_set():
                self._live, self._was_up, self.error = live, True, ""
                self._become("up")
                if self._missed:
                    log.warning("mcp_back", connection=self.spec.name)
                self._missed = False
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._run_follower, live)
                nursery.start_soon(live.run_subscription)
                nursery.start_soon(self._notices.run)
                nursery.start_soon(_cancel_at, tap.ending.event, nursery.cancel_scope)
                nursery.start_soon(_cancel_at, self._leaving, nursery.cancel_scope)
            self._pop()

    async def _first_listing(self, live: Live) -> None:
        """All or nothing. Raises ConnectFailed."""
        listing = await self._list(live)
        try:
            self._tools.begin(listing)
        except (BadSpec, NameConflict) as error:
            raise ConnectFailed(f"its tools cannot be registered: {error}", lasting=True) from None

    async def _run_follower(self, live: Live) -> None:
        """List the tools again whenever the server says that they have changed."""
        while True:
            await self._changed.wait()
            await trio.sleep(SETTLE_S)
            self._changed = trio.Event()
            before = self._tools.taken
            try:
                self._tools.take(await self._list(live))
            except (ConnectFailed, BadSpec, NameConflict) as error:
                # What is registered stays: it is the last list that made sense.
                log.warning("mcp_list_not_taken", connection=self.spec.name, reason=str(error))
            else:
                if self._tools.taken != before:
                    self._become("up")
            await trio.sleep(BETWEEN_LISTS_S)

    async def _list(self, live: Live) -> Listing:
        with trio.move_on_after(self.spec.connect_timeout_s):
            return await listed(live, self.spec, self._tools.others())
        raise ConnectFailed(f"it did not list its tools within {self.spec.connect_timeout_s:g} s")

    # --- what the owner and the tap do at once ----------------------------------------------------------------

    def _hear(self, method: str, params: JsonObject) -> None:
        if method == LIST_CHANGED:
            self._changed.set()
        else:
            self._notices.put(method, params)

    def _lost(self, ending: Ending) -> None:
        """The tools go at once: a model should not be offered what cannot run."""
        was_up = self._live is not None
        self._pop()
        if was_up and not self._leaving.is_set():
            self.error = ending.reason
            self._become("down")

    def _pop(self) -> None:
        if self._live is None:
            self._tools.clear()
        else:
            self._tools.lose()
        self._live = None

    def _become(self, state: State) -> None:
        changed = state != self.state or state == "up"
        self.state = state
        if state != "connecting":
            self.tried.set()
        if changed:
            self._told.on_state(ServerState(self.spec.name, state, self.error, len(self._tools.taken), self.restarts))


async def _cancel_at(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
