"""A hook that gives the model a tool: it opens a ticket and says its number. Its `match` says in which chats.

TICKET_FILE (`tickets.jsonl`) has a line for each ticket: its number, what it is about, and who asked for it where.
"""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Annotated

from hookgate_plugin import Call, Plugin

FILE = Path(os.environ.get("TICKET_FILE", "tickets.jsonl"))
FILE.parent.mkdir(parents=True, exist_ok=True)

plugin = Plugin("ticket")
writing = threading.Lock()


@plugin.tool("Open a ticket for what the user reports. Returns its number, which the user needs.")
def open_ticket(subject: Annotated[str, "what it is about, in one line"], call: Call) -> str:
    with writing:
        number = len(FILE.read_text().splitlines()) + 1 if FILE.exists() else 1
        with FILE.open("a") as file:
            line = {"number": number, "subject": subject, "asked_by": call.context["inbound"]}
            file.write(json.dumps(line) + "\n")
    return f"T-{number}"


if __name__ == "__main__":
    plugin.run()
