"""A hook that takes bad words out of what people write, and hears nobody who only swears.

PROFANITY_WORDS, words between commas, replaces its list. Its `match` says in which chats it listens.
"""

from __future__ import annotations

import os
import re

from hookgate_plugin import ChatMessage, Plugin

WORDS = [word.strip() for word in os.environ.get("PROFANITY_WORDS", "damn,bloody,bugger").split(",") if word.strip()]

plugin = Plugin("profanity")
bad = re.compile(rf"\b({'|'.join(map(re.escape, WORDS))})\b", re.IGNORECASE)


@plugin.on_message
def listen(said: ChatMessage) -> object:
    clean = bad.sub(lambda found: "*" * len(found[0]), said.text)
    if clean == said.text:
        return None
    if not re.search(r"\w", clean):
        return plugin.drop("nothing but bad words", tell="Please say that in other words.")
    return plugin.modify(text=clean)


if __name__ == "__main__":
    plugin.run()
