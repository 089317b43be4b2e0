"""Text that streams into chats, rendered and published as often as its cost allows; knows no gateway, no journal."""

from __future__ import annotations

from time import thread_time

import structlog
import trio

from hookgate.channels.web.feeds import Due, Feed

log = structlog.get_logger("hookgate.web")


GATHER_S = 0.03
"""For more to come: an answer that is whole by then, as many are, is shown as that and nothing else."""


async def run_rendering(written: Due[Feed]) -> None:
    """Until cancelled."""
    while True:
        pause_s = spent_s = 0.0
        await written.stirs()
        await trio.sleep(GATHER_S)
        for feed in written.take():
            if feed.running is not None:
                began = thread_time()
                flush(feed)
                pause_s, spent_s = max(pause_s, feed.running.pause_s), spent_s + thread_time() - began
                if feed.running.behind:
                    written.add(feed)
            # However many chats are written to, others have their turn in between.
            await trio.lowlevel.checkpoint()
        await trio.sleep(max(pause_s, spent_s))


def flush(feed: Feed) -> None:
    running = feed.running
    if running is None or not running.stale:
        return
    try:
        piece, closed, opened = running.render()
    except Exception:
        # One text; the message that comes in its place is rendered by itself.
        log.exception("stream_not_rendered", session=feed.chat.session_key)
        return
    feed.publish("delta", {"text": piece, "closed": closed, "html": opened})
