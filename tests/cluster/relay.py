"""A way from loopback in a namespace to a port that the test has there: `python -m tests.cluster.relay PORT HOST AT`.

For what somebody is told to connect to, by whoever knows no other address: `PORT` is the one that is told, and leads
to `HOST` and its port `AT`. Says a line once it does.
"""

from __future__ import annotations

import sys

import trio

from tests.forwarding import open_way


async def main(port: int, there: str, target: int) -> None:
    async with open_way(target, there=there, port=port):
        sys.stdout.write("\n")
        sys.stdout.flush()
        await trio.sleep_forever()


if __name__ == "__main__":
    trio.run(main, int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
