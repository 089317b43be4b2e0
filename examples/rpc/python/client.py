#!/usr/bin/env python3
"""Send one prompt to `zot rpc` and print what comes: the reply as it is written, each tool call, what it cost.

    python3 client.py "how full is the disk?"

`zot` is looked up on PATH and runs in this environment and folder. Exit status 1 where something failed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

LAST_S = 5  # zot has nothing left to do once its stdin is closed


class Failed(Exception):
    """The conversation has not come to its end."""


def main() -> int:
    message = " ".join(sys.argv[1:]) or "Say hello in one sentence."
    try:
        with open_zot() as zot:
            for command in commands(message):
                zot.stdin.write(json.dumps(command).encode() + b"\n")
            zot.stdin.flush()
            talk(zot.stdout)
    except (Failed, OSError, subprocess.TimeoutExpired) as problem:
        print(f"\n{problem}", file=sys.stderr)
        return 1
    return 0


@contextmanager
def open_zot() -> Iterator[Any]:
    """A running `zot rpc`. Closing its stdin ends it; one that lives on is killed, and TimeoutExpired raised."""
    zot = subprocess.Popen(["zot", "rpc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield zot
    finally:
        with suppress(BrokenPipeError):
            zot.stdin.close()
        try:
            zot.wait(LAST_S)
        finally:
            zot.kill()
            zot.wait()


def commands(message: str) -> Iterator[dict[str, Any]]:
    """The token comes first where one is asked for; no answer has to be waited for."""
    token = os.environ.get("ZOTCORE_RPC_TOKEN")
    if token:
        yield {"id": "0", "type": "hello", "token": token}
    yield {"id": "1", "type": "prompt", "message": message}


def talk(lines: IO[bytes]) -> None:
    """Print events up to `done`. Raises Failed at an error, and where none of the two comes."""
    cost = 0.0
    for line in lines:
        event = json.loads(line)
        kind = event["type"]
        if kind == "text_delta":
            print(event["delta"], end="", flush=True)
        elif kind == "tool_call":
            print(f"\n[{event['name']} {json.dumps(event['args'], ensure_ascii=False)}]", flush=True)
        elif kind == "usage":
            cost = event["cumulative"]["cost_usd"]
        elif kind == "error":
            raise Failed(f"error: {event['message']}")
        elif kind == "response" and not event["success"]:
            raise Failed(f"{event['command']}: {event['error']}")
        elif kind == "done":
            print(f"\ncost: ${cost:.6f}")
            return
    raise Failed("zot ended before it was done")


if __name__ == "__main__":
    sys.exit(main())
