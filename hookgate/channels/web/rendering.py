"""Text that streams into chats, rendered and published as often as its cost allows; knows no gateway, no journal."""

from __future__ import annotations

from time import thread_time

import structlog
import trio

from hookgate.channels.web.feeds import Feed

log = structlog.get_logger("hookgate.web")


class Rendering:
    """The feeds that something has been written to since they were last rendered."""

    def __init__(self) -> None:
        self._dirty: dict[str, Feed] = {}
        self._stirred = trio.Event()

    def touch(self, feed: Feed) -> None:
        self._dirty[feed.chat.session_key] = feed
        self._stirred.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._stirred.wait()
            self._stirred = trio.Event()
            dirty, self._dirty = self._dirty, {}
            pause_s = spent_s = 0.0
            for feed in dirty.values():
                if feed.running is not None:
                    began = thread_time()
                    flush(feed)
                    pause_s, spent_s = max(pause_s, feed.running.pause_s), spent_s + thread_time() - began
                # However many chats are written to, others have their turn in between.
                await trio.lowlevel.checkpoint()
            await trio.sleep(max(pause_s, spent_s))


def flush(feed: Feed) -> None:
    running = feed.running
    if running is None:
        return
    try:
        piece, closed, opened = running.render()
    except Exception:
        # One text; the message that comes in its place is rendered by itself.
        log.exception("stream_not_rendered", session=feed.chat.session_key)
        return
    if piece:
        feed.publish("delta", {"text": piece, "closed": closed, "html": opened})
