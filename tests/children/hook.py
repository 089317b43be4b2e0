"""A hook with every bad manner: how it starts is its first argument, what it does at a call stands in the arguments.

Standard library only and quick to start; knows nothing of hookgate but the wire.
"""

import json
import os
import random
import signal
import sys
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else "plain"
HELLO = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {"ok": True}
received: list[dict] = []
held: list[dict] = []
late: list[dict] = []


def write(data: bytes, fd: int = 1) -> None:
    while data:
        data = data[os.write(fd, data) :]


def line(message: object) -> None:
    write(json.dumps(message).encode() + b"\n")


def answer(call: dict, result: object) -> None:
    line({"jsonrpc": "2.0", "id": call["id"], "result": result})


def tell(call: dict, value: object) -> None:
    """A value as the text of a result."""
    answer(call, {"action": "respond", "result": {"for_llm": json.dumps(value)}})


def rest_for_ever() -> None:
    while True:
        signal.pause()


def fork_grandchild() -> int:
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        rest_for_ever()
    return pid


def flood(piece: bytes, fd: int = 1) -> None:
    while True:
        os.write(fd, piece)


def do_answer(call: dict, a: dict) -> None:
    answer(call, a["result"])


def do_members(call: dict, a: dict) -> None:
    """A reply of these very members, beside the id."""
    line({"id": call["id"], **a["members"]})


def do_lines(call: dict, a: dict) -> None:
    """Lines as they stand ({id} is the call's), then an answer."""
    for text in a["lines"]:
        write(text.replace("{id}", str(call["id"])).encode() + b"\n")
    tell(call, "after")


def do_exit(_call: dict, a: dict) -> None:
    write(a.get("stderr", "").encode(), 2)
    write(a.get("last", "").encode())
    os._exit(a.get("status", 0))


def do_kill(_call: dict, _a: dict) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def do_silent(_call: dict, _a: dict) -> None:
    pass


def do_hang(_call: dict, _a: dict) -> None:
    rest_for_ever()


def do_late(call: dict, _a: dict) -> None:
    """Answered just before the next call is."""
    late.append(call)


def do_twice(call: dict, _a: dict) -> None:
    tell(call, "first")
    tell(call, "second")


def do_wrong_ids(call: dict, _a: dict) -> None:
    for wrong in (0, -1, call["id"] + 1000, str(call["id"]), True, None, 1.5, [call["id"]]):
        tell({"id": wrong}, "wrong")
    tell(call, "right")


def do_request(call: dict, _a: dict) -> None:
    """Ask hookgate for a method under the id of its own call, and tell what it says."""
    line({"jsonrpc": "2.0", "id": call["id"], "method": "log", "params": {}})
    tell(call, json.loads(sys.stdin.buffer.readline()))


def do_big(call: dict, a: dict) -> None:
    answer(call, {"action": "respond", "result": {"for_llm": "x" * a["size"]}})


def do_oversize(call: dict, a: dict) -> None:
    named = f'"id":{call["id"]},' if a["named"] else ""
    write(f'{{"jsonrpc":"2.0",{named}"result":{{"x":"'.encode())
    piece = b"x" * (1 << 20)
    for _ in range(a["megabytes"]):
        write(piece)
    write(b'"}}\n')


def do_flood(_call: dict, a: dict) -> None:
    flood(a["piece"].encode() * (65536 // len(a["piece"])), a.get("fd", 1))


def do_stderr(call: dict, a: dict) -> None:
    write(a["piece"].encode() * a["times"], 2)
    tell(call, "after")


def do_close_stdout(_call: dict, _a: dict) -> None:
    os.close(1)
    rest_for_ever()


def do_close_stdin(call: dict, _a: dict) -> None:
    os.close(0)
    tell(call, "closed")
    rest_for_ever()


def do_fork(call: dict, a: dict) -> None:
    tell(call, fork_grandchild())
    if a.get("leave"):
        os._exit(0)


def do_hold(call: dict, a: dict) -> None:
    """Answer this many together, shuffled, each with its own number."""
    held.append(call)
    if len(held) == a["until"]:
        random.shuffle(held)
        for one in held:
            tell(one, one["params"]["arguments"]["n"])
        held.clear()


def do_pause(call: dict, _a: dict) -> None:
    """Answered by the next `go`."""
    held.append(call)


def do_go(call: dict, _a: dict) -> None:
    for one in [*held, call]:
        answer(one, {})
    held.clear()


def do_echo(call: dict, a: dict) -> None:
    answer(call, {"action": "modify", "call": {"arguments": a}})


def do_where(call: dict, _a: dict) -> None:
    group, session = os.getpgid(0), os.getsid(0)
    where = {"pid": os.getpid(), "cwd": os.getcwd(), "env": dict(os.environ), "group": group, "session": session}
    tell(call, {**where, "argv": sys.argv[1:]})


def do_received(call: dict, _a: dict) -> None:
    tell(call, received)


def take(message: dict) -> None:
    received.append(message)
    if "id" not in message:
        return
    for one in late:
        tell(one, "late")
    late.clear()
    if message["method"] == "hook.hello":
        answer(message, HELLO)
        return
    if MODE == "guard":
        answer(message, {"action": "deny_tool", "reason": "guarded"})
        return
    arguments = message["params"].get("arguments") or {}
    if "do" in arguments:
        globals()["do_" + arguments["do"]](message, arguments)
    else:
        answer(message, {"approved": True} if message["method"] == "hook.approve_tool" else {})


def serve() -> None:
    while data := sys.stdin.buffer.readline():
        take(json.loads(data))


def wake_at(number: int) -> None:
    signal.sigwait({number})


def main() -> None:
    match MODE:
        case "exit_at_start":
            write(os.environ.get("LAST_WORDS", "").encode(), 2)
            os._exit(3)
        case "exit_at_hello":
            sys.stdin.buffer.readline()
            os._exit(4)
        case "exit_after_hello":
            take(json.loads(sys.stdin.buffer.readline()))
            os._exit(5)
        case "mute":
            rest_for_ever()
        case "deaf":
            # Reads nothing after hello until SIGUSR1.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
            take(json.loads(sys.stdin.buffer.readline()))
            wake_at(signal.SIGUSR1)
        case "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            for _ in range(3):
                fork_grandchild()
            serve()
            rest_for_ever()
        case "error_at_hello":
            sys.stdin.buffer.readline()
            line({"id": 1, "error": {"code": -32000, "message": "no licence"}})
        case "meets":
            # Ends when as many others in its folder are at the end of their input.
            serve()
            open(f"met-{os.getpid()}", "w").close()
            while sum(name.startswith("met-") for name in os.listdir()) < int(os.environ["MEETS"]):
                time.sleep(0.01)
            open(f"left-{os.getpid()}", "w").close()
            os._exit(0)
        case "noisy_start":
            write(b"Starting up...\n\n[debug] {not json}\n")
    serve()


main()
