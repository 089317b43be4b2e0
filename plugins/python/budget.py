"""A hook that gives everybody so many tokens a day; whoever has used theirs is told so, and no model is asked.

BUDGET_TOKENS is 100000 if unset, BUDGET_FILE (`budget.json`) remembers through restarts. A day is one of UTC. What a
model costs nobody knows before it has answered: the last answer may go over. Where an endpoint does not say how many
tokens an answer took, its characters are counted, four for one. Its `match` says whom it counts.
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

from hookgate_plugin import Asked, ChatMessage, LLMReply, Plugin

TOKENS = int(os.environ.get("BUDGET_TOKENS", "100000"))
FILE = Path(os.environ.get("BUDGET_FILE", "budget.json"))
FILE.parent.mkdir(parents=True, exist_ok=True)

plugin = Plugin("budget")
writing = threading.Lock()


@plugin.on_message
def let_in(said: ChatMessage) -> object:
    with writing:
        left = TOKENS - used().get(sender(said), 0)
    if left > 0:
        return None
    return plugin.drop("the budget is used up", tell=f"Your {TOKENS} tokens for today are used up.")


@plugin.after_llm
def count(reply: LLMReply) -> None:
    usage = reply.response.get("usage") or {}
    tokens = usage.get("total_tokens") or len(reply.response.get("content") or "") // 4 + 1
    with writing:
        known = used()
        known[sender(reply)] = known.get(sender(reply), 0) + tokens
        beside = FILE.with_suffix(".new")
        beside.write_text(json.dumps({"day": today(), "used": known}))
        beside.replace(FILE)


def sender(asked: Asked) -> str:
    """By the platform's own id: a name anybody can take."""
    return f"{asked.channel}:{asked.context['inbound'].get('sender_id', '')}"


def used() -> dict[str, int]:
    """Today. A file that cannot be read is a failure, and the hook's `on_failure` says what that means."""
    kept = json.loads(FILE.read_text()) if FILE.exists() else {}
    return kept["used"] if kept.get("day") == today() else {}


def today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


if __name__ == "__main__":
    plugin.run()
