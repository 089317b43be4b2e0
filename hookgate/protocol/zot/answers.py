"""What an extension's answers mean: at a stage of the gate, and to a person who typed a command. Pure.

A block is answered in the extension's own words; an answer that says nothing lets things pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer, Deny, Failed, Modify
from hookgate.protocol.values import LLMRequest, Message

if TYPE_CHECKING:
    from hookgate.protocol.zot.frames import CommandReply, InterceptReply, Panel

TOOL_BLOCKED = "tool call refused by extension guard"
TURN_BLOCKED = "turn blocked by extension guard"
MAX_PROMPT_BYTES = 1024 * 1024

Effect = Literal["prompt", "insert", "display", "open_panel", "noop", "error"]


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What a command leads to.

    `prompt`: `text` is a new user message; `insert`: text for the editor; `display`: a note for people alone;
    `open_panel`: `panel` was opened; `noop`: nothing; `error`: one line that says what went wrong.
    """

    effect: Effect
    text: str = ""
    panel: Panel | None = None


NOTHING = CommandAnswer("noop")


def command_answer(name: str, reply: CommandReply) -> CommandAnswer:
    """`name` as the command is registered. An error beside an action keeps the action from being done."""
    if reply.error:
        return command_failed(name, reply.error)
    match reply.action:
        case "prompt":
            return CommandAnswer("prompt", reply.prompt) if reply.prompt.strip() else NOTHING
        case "insert":
            return CommandAnswer("insert", reply.insert) if reply.insert else NOTHING
        case "display":
            return CommandAnswer("display", reply.display) if reply.display else NOTHING
        case "open_panel" if reply.panel is not None:
            return CommandAnswer("open_panel", panel=reply.panel)
        case "open_panel":
            return command_failed(name, "open_panel without a panel")
        case "noop" | "":
            return NOTHING
        case action:
            return command_failed(name, f"unknown action {action[:80]}")


def command_failed(name: str, reason: str) -> CommandAnswer:
    return CommandAnswer("error", f"extension /{name}: {reason}")


def unregistered(name: str) -> CommandAnswer:
    return CommandAnswer("error", f"no extension registered for /{name}")


def not_up(extension: str, name: str) -> CommandAnswer:
    """It was registered by a process that has ended."""
    return CommandAnswer("error", f"extension {extension} is not up just now: /{name} comes back with it")


def judged_call(reply: InterceptReply) -> Answer:
    """At before_tool: the model gets the bare reason."""
    if reply.block:
        return Deny(reply.reason or TOOL_BLOCKED, bare=True)
    if reply.problem:
        return Failed(reply.problem, closes=True)
    return CONTINUE if reply.modified_args is None else Modify({"arguments": reply.modified_args})


def judged_turn(reply: InterceptReply) -> Answer:
    """At before_llm."""
    if reply.block:
        return Abort(reply.reason or TURN_BLOCKED)
    return Failed(reply.problem) if reply.problem else CONTINUE


def judged_message(reply: InterceptReply, extension: str) -> Answer:
    """At after_llm: only what people see changes; the transcript keeps what the model said."""
    if reply.block:
        return Modify({"shown": "", "withheld_by": withheld_line(extension, reply.reason)})
    if reply.problem:
        return Failed(reply.problem)
    return Modify({"shown": reply.replace_text}) if reply.replace_text else CONTINUE


def withheld_line(extension: str, reason: str) -> str:
    return f"{extension} withheld the reply: {reason}" if reason else f"{extension} withheld the reply"


def prompt_problem(prompt: str) -> str:
    """Why this is no system prompt; empty for a good one."""
    return "" if len(encode(prompt)) <= MAX_PROMPT_BYTES else f"system_prompt is over {MAX_PROMPT_BYTES} bytes"


def system_prompt(request: LLMRequest) -> str:
    first = request.messages[0] if request.messages else None
    return first.content if first is not None and first.role == "system" else ""


def with_system_prompt(request: LLMRequest, prompt: str) -> tuple[Message, ...]:
    """The messages under another system prompt; an empty one is none."""
    first, *rest = request.messages or (Message("system", ""),)
    if first.role != "system":
        first, rest = Message("system", ""), [first, *rest]
    return (replace(first, content=prompt), *rest) if prompt else tuple(rest)
