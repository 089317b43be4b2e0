"""Hooks with one defect each: `check_broken.py DEFECT`. All else is as in check_perfect.py."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from check_perfect import Json, answer, main, reply, send


def requests() -> Any:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message:
            yield message


def serve(judge: Callable[[str, Json], Any]) -> None:
    """Like main, but what `judge` gives is the result; None leaves it as it would be."""
    for message in requests():
        whole = reply(message)
        result = judge(message["method"], message["params"])
        send(whole if result is None else {"jsonrpc": "2.0", "id": message["id"], "result": result})


def prints_noise() -> None:
    print("ready!", flush=True)
    main()


def floods_stdout() -> None:
    while True:
        sys.stdout.write("y\n" * 10_000)


def crashes_at_start() -> None:
    raise SystemExit("no such database: hooks.db")


def is_mute() -> None:
    for _ in sys.stdin.buffer:
        pass


def refuses_hello() -> None:
    serve(lambda method, _: {"ok": False, "reason": "wrong phase of the moon"} if method == "hook.hello" else None)


def answers_the_first_call_only() -> None:
    calls = 0
    for message in requests():
        calls += message["method"] != "hook.hello"
        if calls <= 1:
            send(reply(message))


def crosses_ids() -> None:
    """Only where many calls wait at once, as a race would have it."""
    while chunk := os.read(0, 1 << 20):
        while not chunk.endswith(b"\n"):
            chunk += os.read(0, 1 << 20)
        messages = [message for line in chunk.splitlines() if "id" in (message := json.loads(line))]
        replies = [reply(message) for message in messages]
        if len(replies) > 5:
            ids = [whole["id"] for whole in replies]
            replies = [{**whole, "id": i} for whole, i in zip(replies, [*ids[1:], ids[0]], strict=True)]
        for whole in replies:
            send(whole)


def answers_twice() -> None:
    """At two stages."""
    for message in requests():
        for _ in range(2 if message["method"] in ("hook.before_tool", "hook.after_tool") else 1):
            send(reply(message))


def answers_what_nobody_asked() -> None:
    """Once, before it answers."""
    for message in requests():
        if message["method"] == "hook.after_tool" and message["id"] == 7:
            send({"jsonrpc": "2.0", "id": 70, "result": {}})
        send(reply(message))


def prints_in_a_stage() -> None:
    for message in requests():
        if message["method"] == "hook.after_tool":
            print("looking", flush=True)
        send(reply(message))


def writes_ids_as_text() -> None:
    """At one stage."""
    for message in requests():
        whole = reply(message)
        send(whole if message["method"] != "hook.after_llm" else {**whole, "id": str(message["id"])})


def dies_on_a_big_line() -> None:
    for line in sys.stdin.buffer:
        if len(line) > 1 << 20:
            os._exit(7)
        message = json.loads(line)
        if "id" in message:
            send(reply(message))


def ignores_unknown_methods() -> None:
    for message in requests():
        whole = reply(message)
        if "error" not in whole:
            send(whole)


def answers_unknown_methods() -> None:
    serve(lambda method, _: {} if "unknown" in method else None)


def answers_notifications() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        known = message["method"] in ("hook.event", "hook.cancel")
        if "id" in message:
            send(reply(message))
        elif not known:
            send({"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": message["method"]}})


def answers_events() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message:
            send(reply(message))
        elif message["method"] == "hook.event":
            send({"jsonrpc": "2.0", "id": 0, "result": {}})


def refuses_unknown_members() -> None:
    for message in requests():
        if "future_flag" in message["params"]:
            send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "unknown member"}})
        else:
            send(reply(message))


def reads_chunks_for_lines() -> None:
    """Right as long as each write holds whole lines; what else comes is dropped."""
    while chunk := os.read(0, 1 << 23):
        while len(chunk) % 4096 == 0:
            chunk += os.read(0, 1 << 23)
        for line in chunk.splitlines():
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if "id" in message:
                send(reply(message))


def needs_the_stages_of_hello() -> None:
    for message in requests():
        if message["method"] == "hook.hello":
            message["params"]["stages"]
        send(reply(message))


def splits_where_str_does() -> None:
    for line in sys.stdin.buffer:
        for piece in line.decode().splitlines():
            message = json.loads(piece)
            if "id" in message:
                send(reply(message))


def reads_latin_1() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line.decode("latin-1"))
        if "id" in message:
            send(reply(message))


def reads_integers_as_doubles() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message:
            send(reply({**json.loads(line, parse_int=float), "id": message["id"]}))


def dies_of_cancel() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message["method"] == "hook.cancel":
            raise KeyError(message["params"]["id"])
        if "id" in message:
            send(reply(message))


def does_not_answer_its_tool() -> None:
    def judge(method: str, params: Json) -> Any:
        return {"action": "continue"} if method == "hook.before_tool" and params["tool"] == "echo" else None

    serve(judge)


def answers_its_tool_with_a_word() -> None:
    def judge(method: str, params: Json) -> Any:
        own = method == "hook.before_tool" and params["tool"] == "echo"
        return {"action": "respond", "result": "tea"} if own else None

    serve(judge)


def modifies_nothing() -> None:
    serve(lambda method, _: {"action": "modify"} if method == "hook.before_llm" else None)


def approves_with_a_word() -> None:
    serve(lambda method, _: {"approved": "yes"} if method == "hook.approve_tool" else None)


def says_two_things() -> None:
    for message in requests():
        if message["method"] == "hook.approve_tool":
            print(f'{{"id": {message["id"]}, "result": {{"approved": false, "approved": true}}}}', flush=True)
        else:
            send(reply(message))


def ignores_the_end_of_input() -> None:
    main()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()


def leaves_a_process() -> None:
    """The grandchild carries the token of the test too."""
    program = "import time; time.sleep(600)"
    subprocess.Popen([sys.executable, "-c", program, *sys.argv[2:]], stdin=subprocess.DEVNULL)
    main()


def exits_with_a_status() -> None:
    main()
    raise SystemExit(3)


def asks_hookgate_first() -> None:
    """And waits for the answer before it reads on."""
    send({"jsonrpc": "2.0", "id": "a", "method": "host.ask", "params": {}})
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("id") == "a":
            break
        send(reply(message))
    main()


def starts_only_once() -> None:
    """As a hook does that leaves a lock behind; and its first start goes wrong at one stage."""
    try:
        os.mkdir(os.environ["LOCK"])
    except FileExistsError:
        raise SystemExit("already running") from None
    serve(lambda method, _: {"action": "modify"} if method == "hook.before_llm" else None)


def is_slow() -> None:
    for message in requests():
        time.sleep(0.05)
        send(reply(message))


def knows_before_tool_alone() -> None:
    """A version 1 hook that declares nothing; every other stage is an unknown method."""
    for message in requests():
        method = message["method"]
        if method == "hook.hello":
            send({"jsonrpc": "2.0", "id": message["id"], "result": {"ok": True}})
        elif method == "hook.before_tool":
            send({"jsonrpc": "2.0", "id": message["id"], "result": answer(method, message["params"])})
        else:
            send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": method}})


if __name__ == "__main__":
    globals()[sys.argv[1]]()
