"""`hookgate schema`: the hook protocol for programs, laid out for people."""

from __future__ import annotations

import json

from hookgate.cli.printing import write
from hookgate.protocol.hook import schema


def print_schema(*, openrpc: bool) -> int:
    document = schema.openrpc() if openrpc else schema.json_schema()
    write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return 0
