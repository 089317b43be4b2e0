"""The extension that the adapter is measured with: it intercepts tool calls and lets every one of them pass."""

import json
import sys


def say(frame: dict) -> None:  # type: ignore[type-arg] - run by itself, without hookgate's tools
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


say({"type": "hello", "name": "echo", "version": "1"})
say({"type": "subscribe", "intercept": ["tool_call"]})
say({"type": "ready"})
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        say({"type": "event_intercept_response", "id": frame["id"]})
    elif frame["type"] == "shutdown":
        break
