"""An MCP server over stdio in plain lines, with the ways to misbehave that a test names on the command line.

    python odd.py MODE [PATH]

Every answer is written here by hand: no library would let a server lie like this.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MODE = sys.argv[1] if len(sys.argv) > 1 else "good"
PATH = Path(sys.argv[2]) if len(sys.argv) > 2 else None
OBJECT = {"type": "object"}
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def raw(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def send(**members: Any) -> None:
    if MODE == "modern" and "result" in members:
        # What this revision wants beside every result.
        members["result"] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **members["result"]}
    raw(json.dumps({"jsonrpc": "2.0", **members}) + "\n")


def notify(method: str, **params: Any) -> None:
    send(method=method, params=params)


def tool(name: str, description: str = "", schema: Any = OBJECT, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": schema, **more}


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


HOSTILE = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
TOOLS: list[dict[str, Any]] = [
    tool("echo", "Says it again.", {"type": "object", "properties": {"text": {"type": "string"}}}),
    tool("peek", annotations={"readOnlyHint": True}),
    tool("slow"),
    tool("die"),
    tool("typed", outputSchema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
    tool("redos", outputSchema=HOSTILE),
    tool("mixed"),
    tool("huge"),
    tool("surrogate"),
    tool("nonsense"),
    tool("wrong_error"),
    tool("grow"),
    tool("tell"),
    tool("environment"),
]


def grown() -> list[dict[str, Any]]:
    return [tool("echo", "Now it does something else."), *TOOLS[1:3], tool("late", "Came later.")]


listing = TOOLS


def listed(request_id: Any, params: dict[str, Any]) -> None:
    page = int(params.get("cursor") or 0)
    match MODE:
        case "pages":
            tools = [tool(f"tool_{page}_{number}") for number in range(5)]
            more = {"nextCursor": str(page + 1)} if page < 3 else {}
            send(id=request_id, result={"tools": tools, **more})
        case "endless":
            send(id=request_id, result={"tools": [tool(f"tool_{page}")], "nextCursor": str(page + 1)})
        case "many":
            send(id=request_id, result={"tools": [tool(f"tool_{number}") for number in range(80)]})
        case "strange":
            send(id=request_id, result={"tools": strange()})
        case "broken":
            send(id=request_id, result={"tools": [tool("fine"), tool("broken", schema={"type": 7})]})
        case "nolist":
            send(id=request_id, result={"tools": "none"})
        case "mutelist":
            pass
        case _:
            send(id=request_id, result={"tools": listing})


def strange() -> list[dict[str, Any]]:
    deep: Any = {}
    for _ in range(80):
        deep = {"properties": {"a": deep}}
    return [
        tool("fine"),
        tool("long", "x" * 3000),
        tool("wide", schema={"type": "object", "description": "x" * 40000}),
        tool("deep", schema={"type": "object", **deep}),
        tool("remote", schema={"type": "object", "$ref": "http://127.0.0.1:9/schema.json"}),
        tool("loop", schema={"$ref": "#", "type": "object"}),
        tool("with space/and slash"),
        tool("n" * 90),
        tool("fine", "the same name again"),
        tool("badout", outputSchema={"type": "object", "properties": {"n": {"type": 7}}}),
    ]


def called(request_id: Any, params: dict[str, Any]) -> None:
    global listing
    arguments = params.get("arguments") or {}
    match params["name"]:
        case "echo":
            send(id=request_id, result=text(arguments.get("text", "")))
        case "peek":
            send(id=request_id, result=text("peeked"))
        case "slow":
            notify("notifications/message", level="info", data=f"slow has begun: {request_id}")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "typed":
            send(id=request_id, result=text("see the data", structuredContent=arguments.get("answer")))
        case "redos":
            send(id=request_id, result=text("", structuredContent={"a": "a" * 40 + "!"}))
        case "mixed":
            send(id=request_id, result={"content": mixed()})
        case "huge":
            huge(request_id, arguments.get("where", "first"))
        case "surrogate":
            raw(
                f'{{"jsonrpc":"2.0","id":{request_id},"result":'
                + '{"content":[{"type":"text","text":"a\\ud800b"}]}}\n'
            )
        case "nonsense":
            send(id=request_id, result={"content": 7})
        case "wrong_error":
            send(id=request_id, error={"code": -32602, "message": "no such thing"})
        case "grow":
            listing = grown()
            notify("notifications/tools/list_changed")
            send(id=request_id, result=text("grown"))
        case "tell":
            for number in range(arguments.get("count", 1)):
                notify("notifications/vendor/news", number=number, text="é" * arguments.get("length", 1))
            send(id=request_id, result=text("told"))
        case "environment":
            send(id=request_id, result=text(json.dumps(dict(os.environ))))
        case name:
            send(id=request_id, result=text(f"there is no {name}", isError=True))


def huge(request_id: int, where: str) -> None:
    """50 MB on one line, the id in front, at the end, or hidden in the middle."""
    body = '"result":{"content":[{"type":"text","text":"' + "x" * 25_000_000
    rest = "x" * 25_000_000 + '"}]}'
    match where:
        case "first":
            raw(f'{{"jsonrpc":"2.0","id":{request_id},{body}{rest}}}\n')
        case "last":
            raw(f'{{{body}{rest},"jsonrpc":"2.0","id":{request_id}}}\n')
        case _:
            raw(f'{{"jsonrpc":"2.0",{body}{rest},"id":{request_id},"x":"{"x" * 500}"}}\n')


def mixed() -> list[dict[str, Any]]:
    return [
        {"type": "text", "text": "first"},
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "image", "data": "not base64!", "mimeType": "image/png"},
        {"type": "image", "data": "AAAA", "mimeType": "text/html"},
        {"type": "image", "data": "A" * 8_000_000, "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "a://text", "mimeType": "text/plain", "text": "inside"}},
        {"type": "resource", "resource": {"uri": "a://blob", "mimeType": "application/zip", "blob": "AAAA"}},
        {"type": "resource", "resource": {"uri": "a://pixel", "mimeType": "image/png", "blob": PIXEL}},
        {"type": "resource_link", "uri": "a://link", "name": "linked", "description": "elsewhere"},
    ]


def initialized(request_id: Any) -> None:
    result = {
        "protocolVersion": "2025-06-18" if MODE != "future" else "2999-01-01",
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "odd", "version": "1"},
    }
    match MODE:
        case "mute":
            return
        case "modern":
            about = {"supported": ["2026-07-28"], "requested": "2025-11-25"}
            send(id=request_id, error={"code": -32022, "message": "Unsupported protocol version", "data": about})
        case "refuses":
            send(id=request_id, error={"code": -32000 - 500, "message": "go away"})
        case "garbage":
            send(id=request_id, result="hello")
        case "slowpoke":
            time.sleep(0.5)
            send(id=request_id, result=result)
        case _:
            send(id=request_id, result=result)


def discovered(request_id: Any) -> None:
    send(
        id=request_id,
        result={
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {"listChanged": True}},
            "ttlMs": 0,
            "cacheScope": "private",
        },
    )


def misbehaves_at_once() -> None:
    match MODE:
        case "dies":
            sys.stderr.write("cannot find my configuration\n")
            sys.exit(3)
        case "rings":
            sys.stderr.write("bye\a\x1b[2J\u202e\n")
            sys.exit(3)
        case "junk":
            raw("Welcome!\n\n{not json}\n[1, 2]\n\xff\xfe\n" + '{"jsonrpc":"2.0","id":77,"result":{}}\n')
        case "stderr":
            for _ in range(3000):
                sys.stderr.write("noise " * 50 + "\n")
        case "deaf":
            time.sleep(3600)
        case "child":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)", "grandchild", str(PATH)])
            assert PATH is not None
            PATH.write_text(str(child.pid))
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        case _:
            pass


def after_the_handshake() -> None:
    match MODE:
        case "flood":
            while True:
                notify("notifications/vendor/noise", text="x" * 100)
        case "answers":
            while True:
                raw('{"jsonrpc":"2.0","id":999999,"result":{}}\n' * 1000)
        case "blank":
            while True:
                raw("\n" * 65536)
        case "bulk":
            while True:
                notify("notifications/vendor/noise", text="x" * 1_000_000)
        case "asks":
            for number in range(100_000):
                send(id=f"q{number}", method="roots/list")
        case "newline":
            while True:
                raw("x" * 65536)
        case "told":
            notify("notifications/message", level="warning", data="disk almost full")
            notify("notifications/progress", progressToken=1, progress=1)
            notify("notifications/vendor/news", text="hello")
        case _:
            pass


def main() -> None:
    if PATH is not None and MODE != "child":
        with PATH.open("a") as log:
            log.write(f"{os.getpid()}\n")
    misbehaves_at_once()
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                initialized(message["id"])
            case "server/discover" if MODE == "modern":
                discovered(message["id"])
            case "subscriptions/listen" if MODE == "modern":
                about = {"io.modelcontextprotocol/subscriptionId": message["id"]}
                notify(
                    "notifications/subscriptions/acknowledged", _meta=about, notifications={"toolsListChanged": True}
                )
            case "notifications/initialized":
                after_the_handshake()
            case "tools/list":
                listed(message["id"], message.get("params") or {})
            case "tools/call":
                called(message["id"], message["params"])
            case "notifications/cancelled":
                notify("notifications/message", level="info", data=f"cancelled {message['params']['requestId']}")
            case None:
                pass
            case _ if "id" in message:
                send(id=message["id"], error={"code": -32601, "message": "Method not found"})
            case _:
                pass
    if MODE == "stubborn":
        time.sleep(3600)


if __name__ == "__main__":
    main()
