"""The hook that the adapter's figure stands beside: the same program as `zot_echo.py`, in the hook protocol."""

import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}) + "\n")
        sys.stdout.flush()
