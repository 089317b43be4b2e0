"""An observer that appends every event as one JSON line to AUDIT_FILE (audit.jsonl if unset).

Each line reaches the file before the next event is taken. The file is its owner's alone: events quote users.
"""

from __future__ import annotations

import json
import os
import time

from hookgate_plugin import Event, Plugin

plugin = Plugin("audit_log")


@plugin.event
def append(event: Event) -> None:
    record = {"time": time.time(), "kind": event.kind, "meta": event.meta, "payload": event.payload}
    if event.dropped:
        record["dropped"] = event.dropped
    # One write to a file opened for appending is never mixed with another writer's line.
    os.write(log_file, json.dumps(record).encode() + b"\n")


if __name__ == "__main__":
    path = os.environ.get("AUDIT_FILE", "audit.jsonl")
    log_file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    plugin.run()
