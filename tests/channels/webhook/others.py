"""What others have written after Standard Webhooks and CloudEvents, in a process of its own: it answers each line of
JSON with one. Knows nothing of hookgate."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from typing import Any


def answered(asked: dict[str, Any]) -> object:
    from cloudevents.core.bindings import http
    from cloudevents.core.v1.event import CloudEvent
    from standardwebhooks import Webhook

    match asked.pop("do"):
        case "sign":
            at = datetime.fromtimestamp(asked["at"], UTC)
            return Webhook(asked["secret"]).sign(asked["id"], at, asked["body"])
        case "verify":
            return Webhook(asked["secret"]).verify(asked["body"], asked["headers"])
        case "write":
            written = http.to_structured_event if asked["structured"] else http.to_binary_event
            message = written(CloudEvent(asked["attributes"], asked["data"]))
            return [message.headers, message.body.decode()]
        case "read":
            event = http.from_http_event(http.HTTPMessage(asked["headers"], asked["body"].encode()))
            given = {name: str(it) for name, it in event.get_attributes().items()}
            return [given, event.get_data()]
        case other:
            raise ValueError(other)


def main() -> None:
    for line in sys.stdin:
        try:
            said: object = {"answer": answered(json.loads(line))}
        except Exception as error:
            said = {"refused": f"{type(error).__name__}: {error}"}
        print(json.dumps(said, default=str), flush=True)


if __name__ == "__main__":
    main()
