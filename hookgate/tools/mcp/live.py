"""One open connection: handshake, lists and calls through the SDK, with its errors in our words. Registers nothing.

The SDK's client is entered and left by the task that opens it; any task may call.
"""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Literal, TypeVar

import structlog
import trio

from hookgate import __version__
from hookgate.protocol.values import FaultKind, JsonObject
from hookgate.tools.errors import ToolError
from hookgate.tools.mcp.connect_request import plain
from hookgate.tools.mcp.listing import Pages
from hookgate.tools.mcp.server import ConnectFailed, ServerSpec
from hookgate.tools.mcp.transport import sdk
from hookgate.tools.mcp.transport.answers import CLOSED
from hookgate.tools.mcp.transport.ending import Ending
from hookgate.tools.mcp.transport.http import open_http
from hookgate.tools.mcp.transport.stdio import open_stdio
from hookgate.tools.mcp.transport.tap import Tap

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from mcp.client.client import Client
    from mcp_types import CallToolResult, ListToolsResult

log = structlog.get_logger("hookgate.mcp")

Revision = Literal["legacy", "auto"]
T = TypeVar("T")

END_WAIT_S = 0.5
"""After a call broke off: how long the reason for the end of the connection is waited for."""
LISTEN_AGAIN_S = 5.0
_KINDS: Mapping[int, FaultKind] = {-32602: "validation", -32601: "not_found", -32001: "transient"}


class Refused(ConnectFailed):
    """The server answered the handshake with an error: it may speak another revision of the protocol."""


@asynccontextmanager
async def open_live(spec: ServerSpec, tap: Tap, revision: Revision) -> AsyncGenerator[Live]:
    """A connection after its handshake. Raises ConnectFailed, Refused.

    Once open, the loss of the connection ends the tap, and may raise whatever the SDK raises, alone or as a group.
    """
    await sdk.load()
    with trio.move_on_after(spec.connect_timeout_s) as handshake:
        async with AsyncExitStack() as stack:
            live = Live(spec, tap, await _entered(stack, spec, tap, revision))
            handshake.deadline = math.inf
            yield live
        return
    raise ConnectFailed(f"it did not finish its handshake within {spec.connect_timeout_s:g} s")


async def _entered(stack: AsyncExitStack, spec: ServerSpec, tap: Tap, revision: Revision) -> Client:
    from mcp.client.client import Client
    from mcp_types import Implementation

    transport = open_stdio(spec, tap) if spec.transport == "stdio" else open_http(spec, tap)
    client = Client(
        transport,
        mode=revision,
        cache=None,
        client_info=Implementation(name="hookgate", version=__version__),
    )
    try:
        return await stack.enter_async_context(client)
    except Exception as error:
        raise await _failed_handshake(tap, error) from None


async def _failed_handshake(tap: Tap, error: Exception) -> ConnectFailed:
    from mcp.shared.exceptions import MCPError
    from pydantic import ValidationError

    for leaf in leaves(error):
        match leaf:
            case ConnectFailed():
                return leaf
            case MCPError() if leaf.code == CLOSED:
                return ConnectFailed(await _end_reason(tap))
            case MCPError():
                return Refused(f"it refused the handshake: {_words(leaf)}")
            case ValidationError() | RuntimeError():
                return Refused(f"its handshake makes no sense: {_words(leaf)}")
            case _:
                pass
    return ConnectFailed(tap.ending.reason or _words(error))


class Live(Pages):
    def __init__(self, spec: ServerSpec, tap: Tap, client: Client) -> None:
        self._spec, self._tap, self._client = spec, tap, client

    @property
    def revision(self) -> str:
        return self._client.protocol_version

    async def page(self, cursor: str | None) -> ListToolsResult:
        from mcp_types import PaginatedRequestParams

        params = PaginatedRequestParams(cursor=cursor) if cursor else None
        try:
            return await self._answer("tools/list", self._client.session.list_tools(params=params))
        except ToolError as error:
            raise ConnectFailed(f"no list of its tools: {error.reason}") from None

    async def call(self, op: str, tool: str, arguments: JsonObject) -> CallToolResult:
        """Raises ToolError: transient once the connection is gone, else what the server said of the call.

        A cancellation is passed on to the server.
        """
        from mcp_types import CallToolRequest, CallToolRequestParams, CallToolResult

        request = CallToolRequest(params=CallToolRequestParams(name=tool, arguments=dict(arguments)))
        # Not `call_tool`, which judges the result with a validator that hostile schemas can stall.
        return await self._answer(op, self._client.session.send_request(request, CallToolResult))

    async def run_subscription(self) -> None:
        """Where the revision has no other way to hear of changes: ask for them, again when the answer breaks off."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError

        while True:
            try:
                async with self._client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        pass
            except ListenNotSupportedError:
                return
            except MCPError as error:
                log.debug("mcp_no_subscription", connection=self._spec.name, reason=_words(error))
                return
            except (SubscriptionLost, TimeoutError):
                pass
            await trio.sleep(LISTEN_AGAIN_S)

    async def _answer(self, op: str, request: Awaitable[T]) -> T:
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        try:
            return await request
        except MCPError as error:
            if error.code == CLOSED or self._tap.ending.event.is_set():
                reason = await _end_reason(self._tap, _words(error))
                raise ToolError("transient", op, f"the MCP server is gone: {reason}") from None
            raise ToolError(_KINDS.get(error.code, "unknown"), op, f"the MCP server says: {_words(error)}") from None
        except ValidationError as error:
            raise ToolError("unknown", op, f"the MCP server's answer makes no sense: {_words(error)}") from None
        except RuntimeError as error:
            raise ToolError("transient", op, f"the MCP server cannot be asked: {_words(error)}") from None


async def _end_reason(tap: Tap, otherwise: str = "the connection was closed") -> str:
    with trio.move_on_after(END_WAIT_S):
        await tap.ending.event.wait()
    return tap.ending.reason or otherwise


def _words(error: Exception) -> str:
    """One line; of a validation error the first place alone, for what the server sent may be long and secret."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"[:300]
    return plain(" ".join(str(error).split())[:500]) or type(error).__name__


def leaves(error: BaseException) -> Iterator[Exception]:
    """The exceptions in a group of groups; the SDK and its task groups wrap theirs."""
    match error:
        case BaseExceptionGroup():
            for inner in error.exceptions:
                yield from leaves(inner)
        case Exception():
            yield error
        case _:
            pass


def reason_of(errors: tuple[Exception, ...], ending: Ending) -> str:
    """Our own words first, then why the connection ended, then whatever the SDK ran into."""
    ours = next((str(error) for error in errors if isinstance(error, ConnectFailed)), "")
    return ours or ending.reason or f"{type(errors[0]).__name__}: {errors[0]}"[:300]
