"""A way to a server on loopback that a test can close: what goes through is held up without a word, or cut off."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import trio


@dataclass
class Way:
    """`port`: where it begins; `target`: the port where it ends, `there`."""

    target: int
    there: str = "127.0.0.1"
    port: int = 0
    _pairs: list[tuple[trio.SocketStream, trio.SocketStream]] = field(
        default_factory=list[tuple[trio.SocketStream, trio.SocketStream]]
    )
    _open: trio.Event = field(default_factory=trio.Event)

    def silence(self) -> None:
        """Nothing arrives any more, either way, and nobody is told."""
        self._open = trio.Event()

    def reopen(self) -> None:
        """For those who come from now on: whoever was held up stays so for ever, as behind a router that has
        forgotten them."""
        self._open.set()

    async def cut(self, *, told: bool = False) -> None:
        """Those who use it are cut off; the server hears of it too where it is `told`."""
        while self._pairs:
            for stream in self._pairs.pop()[: 2 if told else 1]:
                await trio.aclose_forcefully(stream)

    async def serve(self, client: trio.SocketStream) -> None:
        way = self._open
        await way.wait()
        try:
            server = await trio.open_tcp_stream(self.there, self.target)
        except OSError:
            await trio.aclose_forcefully(client)
            return
        self._pairs.append((client, server))
        async with server, trio.open_nursery() as nursery:
            nursery.start_soon(self._pump, client, server, way)
            await self._pump(server, client, way)

    async def _pump(self, source: trio.SocketStream, target: trio.SocketStream, way: trio.Event) -> None:
        try:
            async for data in source:
                if way is not self._open:
                    # It was silenced meanwhile.
                    await trio.sleep_forever()
                await target.send_all(data)
            await target.send_eof()
        except trio.ClosedResourceError:
            # It was cut, and whoever is at the other end hears nothing of that.
            return
        except trio.BrokenResourceError:
            await trio.aclose_forcefully(source)
            await trio.aclose_forcefully(target)


@asynccontextmanager
async def open_way(
    target: int, host: str = "127.0.0.1", *, there: str = "127.0.0.1", port: int = 0
) -> AsyncGenerator[Way]:
    """From this `host` and `port`, or any, to the port `target` of `there`."""
    way = Way(target, there)
    way.reopen()
    async with trio.open_nursery() as nursery:
        listening = partial(trio.serve_tcp, way.serve, port, host=host, handler_nursery=nursery)
        listeners: list[trio.SocketListener] = await nursery.start(listening)
        way.port = listeners[0].socket.getsockname()[1]
        yield way
        nursery.cancel_scope.cancel()
