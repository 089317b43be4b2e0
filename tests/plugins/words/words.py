"""Every word of the Python SDK, said when it is asked for. Its neighbours say the same in Go and TypeScript."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

from hookgate_plugin import Call, ChatMessage, Event, Finished, LLMReply, LLMRequest, Plugin

plugin = Plugin("words", max_in_flight=int(os.environ.get("LIMIT", "64")))
released, together, counting = threading.Event(), threading.Event(), threading.Lock()
running = peak = 0


@plugin.on_message
def said(message: ChatMessage) -> object:
    return {
        "modify": plugin.modify(text="changed"),
        "reply": plugin.reply("answered", media=["data:,x"]),
        "drop": plugin.drop("spam"),
        "silent": plugin.drop("spam", tell=""),
        "abort": plugin.abort("enough"),
    }.get(message.text)


@plugin.before_llm
def asked(request: LLMRequest) -> object:
    return plugin.modify(model=request.model + "!", messages=[*request.messages, {"role": "user", "content": "also"}])


@plugin.after_llm
def replied(reply: LLMReply) -> object:
    return plugin.modify(content=reply.response["content"].upper())


@plugin.before_tool
def called(call: Call) -> object:
    match call.arguments.get("do"):
        case "deny":
            return plugin.deny(f"{call.tool} {call.tool_call_id} {call.chat_id} {call.meta['TurnID']}")
        case "modify":
            return plugin.modify(arguments={**call.arguments, "do": "changed"})
        case "respond":
            return plugin.respond("for the model", "for the user", is_error=True, media=["data:,x"])
        case "abort":
            return plugin.abort("enough")
        case "hard_abort":
            return plugin.hard_abort("enough")
        case "fail":
            raise RuntimeError("not today")
        case "unclear":
            return {"decision": "deny_tool", "reason": "no"}
        case "checked":
            return {"reason": "checked"}
        case "wait":
            plugin.log("it waits")
            call.cancelled.wait()
            plugin.log("the wait is over")
            return plugin.deny("too late")
        case "hold":
            released.wait()
            return plugin.deny("held")
        case "release":
            released.set()
        case "count":
            return plugin.deny(str(counted()))
        case "print":
            print("printed")
            subprocess.run("echo from a child; cat", shell=True, check=True)
            return plugin.deny(f"stdin has {len(sys.stdin.read())} bytes")
    return None


@plugin.before_tool(tools=["bash"])
def second(call: Call) -> object:
    return plugin.deny("the second") if call.arguments.get("do") == "checked" else None


def counted() -> int:
    global running, peak
    with counting:
        running, peak = running + 1, max(peak, running + 1)
        if running == plugin.max_in_flight:
            together.set()
    together.wait()
    with counting:
        running -= 1
        return peak


@plugin.approve_tool
def judged(call: Call) -> object:
    return {
        "approve": plugin.approve(),
        "refuse": plugin.refuse("no"),
        "ask": plugin.ask("Run?", "this", approvers=["role:ops"], ttl_s=60, required=2, self_approval=True),
        "fail": "yes",
    }.get(call.arguments.get("do"))


@plugin.after_tool
def ran(done: Finished) -> object:
    return plugin.modify(for_llm=f"{done.result['for_llm']} in {done.duration} ns")


@plugin.before_send
def sending(message: ChatMessage) -> object:
    return plugin.drop(f"in reply to {message.in_reply_to}") if message.text == "drop" else None


@plugin.event(["tool_*", "turn_end"])
def heard(event: Event) -> None:
    plugin.log(f"heard {event.kind} after {event.dropped}")


@plugin.tool("Repeats.", parameters={"type": "object", "properties": {"text": {"type": "string"}}}, name="echo")
def echo(text: str) -> str:
    return text


plugin.run()
