"""What a service manager is told of this program: systemd's words over the socket that it names. Without one nobody
is told."""

from __future__ import annotations

import socket
from contextlib import suppress

import trio


def notify(place: str, *lines: str) -> None:
    """`place`: a path, or an abstract name behind an @; empty: nowhere. Whoever does not listen misses it."""
    if not place:
        return
    address = f"\0{place[1:]}" if place.startswith("@") else place
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
        out.setblocking(False)
        out.sendto("\n".join(lines).encode(), address)


async def run_watchdog(place: str, every_s: float) -> None:
    """Say that the loop still turns, until cancelled; `every_s` 0: nobody asks."""
    while every_s:
        notify(place, "WATCHDOG=1")
        await trio.sleep(every_s)
