"""A reader of server-sent events, whose connection may be cut anywhere, by either side."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit

import h11
import httpx
import trio

CUT = (OSError, trio.BrokenResourceError, h11.RemoteProtocolError)


async def events(
    client: httpx.AsyncClient, path: str, last_id: str, answered: Callable[[], None]
) -> AsyncIterator[tuple[str, str, str]]:
    """Id, name and data of each after that one, until the connection ends; `answered` is called when it begins. Not
    by httpx: cancelled in the middle, its generators are left to the garbage collector. Raises what is CUT."""
    at = urlsplit(str(client.base_url))
    headers = {"last-event-id": last_id} if last_id else {}
    request = client.build_request("GET", path, headers=headers)
    async with await trio.open_tcp_stream(at.hostname or "", at.port or 0) as stream:
        http = h11.Connection(h11.CLIENT)
        head = h11.Request(method="GET", target=path, headers=list(request.headers.raw))
        await stream.send_all((http.send(head) or b"") + (http.send(h11.EndOfMessage()) or b""))
        text = b""
        while not isinstance(part := http.next_event(), h11.EndOfMessage | h11.ConnectionClosed):
            if part is h11.NEED_DATA:
                http.receive_data(await stream.receive_some())
            elif isinstance(part, h11.Response):
                assert part.status_code == 200, part
                answered()
            elif isinstance(part, h11.Data):
                *whole, text = bytes(text + part.data).split(b"\n\n")
                for event in whole:
                    lines = (line.partition(": ") for line in str(event, "utf-8").splitlines())
                    fields = {name: value for name, _, value in lines}
                    if "id" in fields:
                        yield fields["id"], fields["event"], fields["data"]
