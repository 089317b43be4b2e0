"""A child that takes its time: sleeps for every message, then approves. Standard library only, runs alone."""

import json
import sys
import time


def main(seconds: float) -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message["method"] != "hook.hello":
            time.sleep(seconds)
        if "id" not in message:
            continue
        result = {"approved": True} if message["method"] == "hook.approve_tool" else {}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]))
