"""A hook that answers for the team outside of office hours, so that no model is asked.

OFFICE_HOURS is `9-17` if unset: from the first hour to before the last one, Monday to Friday, by the machine's clock.
OFFICE_CLOSED is what the chat reads.
"""

from __future__ import annotations

import os
import time

from hookgate_plugin import ChatMessage, Plugin

OPENS, CLOSES = (int(hour) for hour in os.environ.get("OFFICE_HOURS", "9-17").split("-"))
CLOSED = os.environ.get(
    "OFFICE_CLOSED", f"Nobody is here now. We are back on weekdays from {OPENS} to {CLOSES} o'clock."
)
SATURDAY = 5

plugin = Plugin("office_hours")


@plugin.on_message
def answer(_said: ChatMessage) -> object:
    return None if is_open(time.localtime()) else plugin.reply(CLOSED)


def is_open(now: time.struct_time) -> bool:
    return now.tm_wday < SATURDAY and OPENS <= now.tm_hour < CLOSES


if __name__ == "__main__":
    plugin.run()
