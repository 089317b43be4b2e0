"""A zot extension with every manner: how it starts is its first argument, what a call does stands in its arguments.

Standard library only and quick to start; knows nothing of hookgate but the wire.
"""

import base64
import json
import os
import signal
import sys

MODE = sys.argv[1] if len(sys.argv) > 1 else "plain"
MORE = json.loads(sys.argv[2]) if len(sys.argv) > 2 else []
received: list[dict] = []
held: list[dict] = []
HELLO = {"type": "hello", "name": "ext", "version": "1.0.0", "capabilities": ["tools", "events"]}
READY = {"type": "ready"}
TOOL = {"type": "register_tool", "name": "do", "description": "does", "schema": {"type": "object"}}
COMMAND = {"type": "register_command", "name": "Do", "description": "does"}


def write(data: bytes, fd: int = 1) -> None:
    while data:
        data = data[os.write(fd, data) :]


def say(*messages: object) -> None:
    write(b"".join(json.dumps(it).encode() + b"\n" for it in messages))


def result(call: dict, *blocks: dict, **members: object) -> None:
    say({"type": "tool_result", "id": call["id"], "content": list(blocks), **members})


def tell(call: dict, value: object) -> None:
    result(call, {"type": "text", "text": json.dumps(value)})


def rest_for_ever() -> None:
    while True:
        signal.pause()


def do_say(call: dict, a: dict) -> None:
    """Frames as they stand, then an answer; `{id}` in a frame's id is the call's."""
    for frame in a.get("frames", []):
        say({**frame, "id": call["id"]} if frame.get("id") == "{id}" else frame)
    if a.get("answer", True):
        tell(call, "after")


def do_lines(call: dict, a: dict) -> None:
    for text in a["lines"]:
        write(text.replace("{id}", call["id"]).encode() + b"\n")
    tell(call, "after")


def do_blocks(call: dict, a: dict) -> None:
    result(call, *a["blocks"], **a.get("members", {}))


def do_members(call: dict, a: dict) -> None:
    """A reply of these very members, beside the id."""
    say({"type": "tool_result", "id": call["id"], **a["members"]})


def do_silent(_call: dict, _a: dict) -> None:
    pass


def do_exit(_call: dict, a: dict) -> None:
    write(a.get("last", "").encode(), 2)
    os._exit(a.get("status", 3))


def do_twice(call: dict, _a: dict) -> None:
    tell(call, "first")
    tell(call, "second")


def do_hold(call: dict, a: dict) -> None:
    """Answer this many together, the last first."""
    held.append(call)
    if len(held) == a["until"]:
        for one in reversed(held):
            tell(one, one["args"]["n"])
        held.clear()


def do_big(call: dict, a: dict) -> None:
    """An answer of so many MiB; `late`: its id comes behind the text."""
    text = json.dumps({"type": "text", "text": "x" * (a["megabytes"] << 20)})
    late, call_id = a.get("late", False), json.dumps(call["id"])
    head = '"type":"tool_result",' + ("" if late else f'"id":{call_id},')
    write(f'{{{head}"content":[{text}]{f",{chr(34)}id{chr(34)}:{call_id}" if late else ""}}}\n'.encode())


def do_where(call: dict, _a: dict) -> None:
    where = {"pid": os.getpid(), "cwd": os.getcwd(), "env": dict(os.environ), "group": os.getpgid(0)}
    tell(call, where)


def do_received(call: dict, _a: dict) -> None:
    tell(call, received)


def do_fork(call: dict, _a: dict) -> None:
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        rest_for_ever()
    tell(call, pid)


def do_image(call: dict, _a: dict) -> None:
    result(call, {"type": "image", "mime_type": "image/png", "data": base64.b64encode(b"png").decode()})


def intercepted(message: dict) -> None:
    """What the tool's arguments, the text or the prompt ask for; else an answer that says nothing."""
    wish = message.get("tool_args", {}).get("answer")
    if wish is None and message["event"] != "tool_call":
        wish = STORY.get(message["event"])
    if wish == "silent":
        return
    if wish == "exit":
        os._exit(3)
    say({"type": "event_intercept_response", "id": message["id"], **(wish or {})})


def invoked(message: dict) -> None:
    wish = json.loads(message["args"]) if message.get("args", "").startswith("{") else {}
    if wish.get("silent"):
        return
    if wish.get("exit"):
        os._exit(3)
    for frame in wish.get("frames", []):
        say(frame)
    said = {"action": "display", "display": f"{message['name']} {message.get('args', '')}".strip()}
    say({"type": "command_response", "id": message["id"], **wish.get("answer", said)})


STORY: dict = {}


def take(message: dict) -> None:
    received.append(message)
    match message["type"]:
        case "tool_call":
            globals()["do_" + message["args"].get("do", "received")](message, message["args"])
        case "event_intercept":
            intercepted(message)
        case "command_invoked":
            invoked(message)
        case "shutdown":
            goodbye()


def goodbye() -> None:
    if MODE == "stubborn":
        return
    say({"type": "shutdown_ack"})
    if MODE == "farewell":
        rest = sys.stdin.buffer.read()
        with open("farewell", "w") as file:
            file.write(f"shutdown then {rest!r}")
    os._exit(0)


def serve() -> None:
    while data := sys.stdin.buffer.readline():
        take(json.loads(data))
    if MODE == "stubborn":
        rest_for_ever()


def main() -> None:
    match MODE:
        case "mute":
            rest_for_ever()
        case "exit_at_start":
            os._exit(3)
        case "exit_after_hello":
            say(HELLO)
            take(json.loads(sys.stdin.buffer.readline()))
            os._exit(5)
        case "kill_at_start":
            os.kill(os.getpid(), signal.SIGKILL)
        case "first":
            # These frames instead of a hello.
            for line in MORE:
                write(line.encode() + b"\n")
            rest_for_ever()
        case "late":
            # Registers only once it has the acknowledgement.
            say(HELLO)
            take(json.loads(sys.stdin.buffer.readline()))
            say(TOOL, COMMAND, *MORE, READY)
        case "unready":
            say(HELLO, TOOL, COMMAND, *MORE)
        case "deaf":
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
            say(HELLO, TOOL, COMMAND, *MORE, READY)
            signal.sigwait({signal.SIGUSR1})
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            say(HELLO, TOOL, COMMAND, *MORE, READY)
        case "story":
            # What it answers at an interception, by event.
            STORY.update(MORE)
            intercept = {"type": "subscribe", "intercept": list(STORY)}
            say(HELLO, TOOL, intercept, READY)
        case "story_file":
            # The same from a file, for what is too long for an argument.
            with open(MORE) as file:
                STORY.update(json.load(file))
            say(HELLO, TOOL, {"type": "subscribe", "intercept": list(STORY)}, READY)
        case "hello":
            say({**HELLO, **MORE}, TOOL, READY)
        case _:
            say(HELLO, TOOL, COMMAND, *MORE, READY)
    serve()


main()
