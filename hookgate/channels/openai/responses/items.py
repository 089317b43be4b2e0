"""Items of a response's output: messages, calls of our own tools, calls that are the client's to run. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hookgate.channels.openai.answers.answer import BETWEEN, Part
from hookgate.channels.openai.answers.calls import OwnCall
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import ProposedCall

SERVER = "hookgate"
"""Whose the tools are that run here: clients know calls of a server's tools, and leave them alone."""
Item = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Items:
    """`response`: its id without what all have in front."""

    response: str

    def output(self, parts: Sequence[Part], calls: Sequence[ProposedCall]) -> list[Item]:
        """In order; texts that follow one another are one message."""
        items, number = list[Item](), 0
        for it in _messages(parts):
            if isinstance(it, OwnCall):
                items.append(self.own(it, "incomplete" if it.state == "running" else it.state))
            else:
                # What all of them say reads as it does where there is one.
                items.append(self.message(number, f"{BETWEEN}{it}" if number else it))
                number += 1
        if not (number or calls):
            items.append(self.message(0, ""))
        return [*items, *map(function_call, calls)]

    def message(self, number: int, text: str | None) -> Item:
        """`number`: of messages before it; `text` None: it only begins."""
        content = [] if text is None else [part(text)]
        status = "in_progress" if text is None else "completed"
        return {
            "type": "message",
            "id": self.message_id(number),
            "status": status,
            "role": "assistant",
            "content": content,
        }

    def message_id(self, number: int) -> str:
        return f"msg_{self.response}_{number}" if number else f"msg_{self.response}"

    def own(self, call: OwnCall, status: str) -> Item:
        """`status`: in_progress, completed, failed; incomplete, where the response ends before it does."""
        failed = call.state == "failed"
        return {
            "type": "mcp_call",
            "id": self.own_id(call),
            "server_label": SERVER,
            "name": call.name,
            "arguments": "" if status == "in_progress" else call.arguments,
            "output": call.output if call.state == "completed" else None,
            "error": call.output if failed else None,
            "status": status,
            "approval_request_id": None,
        }

    def own_id(self, call: OwnCall) -> str:
        return f"mcp_{self.response}_{call.id}"


def part(text: str) -> Item:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def function_call(call: ProposedCall) -> Item:
    return {
        "type": "function_call",
        "id": f"fc_{call.id}",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": "completed",
    }


def _messages(parts: Sequence[Part]) -> Iterator[Part]:
    texts = list[str]()
    for it in parts:
        if isinstance(it, str):
            texts.append(it)
            continue
        if texts:
            yield BETWEEN.join(texts)
        texts.clear()
        yield it
    if texts:
        yield BETWEEN.join(texts)
