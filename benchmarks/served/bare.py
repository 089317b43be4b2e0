"""The floor of a static file: Starlette on hypercorn alone. Prints where it answers; runs until it is ended."""

from __future__ import annotations

import sys

import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def _main(content: bytes) -> None:
    async def page(_request: Request) -> Response:
        return Response(content, media_type="text/html")

    config = Config()
    config.bind = ["127.0.0.1:0"]
    config.errorlog = None
    app = Starlette(routes=[Route("/{path:path}", page)])
    async with trio.open_nursery() as nursery:
        [address, *_] = await nursery.start(serve, app, config)
        print(f"answers at {address}/", flush=True)


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as file:
        trio.run(_main, file.read())
