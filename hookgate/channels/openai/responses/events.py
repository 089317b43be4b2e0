"""A response as clients read it, after Open Responses: whole, or as events of a stream. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from hookgate.channels.openai.answers.answering import CHANGED, Whole
from hookgate.channels.openai.answers.calls import OwnCall
from hookgate.channels.openai.errors import ApiError, turn_failed
from hookgate.channels.openai.responses.items import Item, Items, function_call, part
from hookgate.channels.openai.responses.wire import ResponseRequest
from hookgate.channels.openai.wire import DONE
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.values import ProposedCall, Usage

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why, by what a completion calls it."""


@dataclass
class Response:
    """One response on its way to one client. `created`: seconds of the wall clock. `tools`: it shows what our own
    do."""

    id: str
    request: ResponseRequest
    created: int
    tools: bool = True
    _number: int = 0
    """Of events that were made, of `_items` and of `_messages` among these; `_open`: what the last message says so
    far, None where it has ended; `_own`: the places of calls that have begun."""
    _items: int = 0
    _messages: int = 0
    _open: str | None = None
    _own: dict[str, int] = field(default_factory=dict[str, int])

    def begin(self) -> bytes:
        began = {"response": self.shown("in_progress")}
        return self._event("response.created", began) + self._event("response.in_progress", began)

    def text(self, piece: str) -> bytes:
        head = b"" if self._open is not None else self._begin_message()
        self._open = f"{self._open or ''}{piece}"
        return (
            head
            if not piece
            else head + self._event("response.output_text.delta", {**self._place, "delta": piece, "logprobs": []})
        )

    def call(self, call: OwnCall) -> bytes:
        if not self.tools:
            return b""
        begun = b"" if call.id in self._own else self._end_message() + self._begin_own(call)
        return begun if call.state == "running" else begun + self._end_own(call, call.state)

    def end(self, whole: Whole, shown: str) -> bytes:
        if not whole.text.startswith(shown):
            return self.failed(turn_failed(CHANGED))
        rest = whole.text[len(shown) :]
        sent = [self.text(rest)] if rest or not (whole.text or whole.calls) else []
        sent.append(self._end_message())
        left = (it for it in whole.parts if isinstance(it, OwnCall) and it.state == "running" and it.id in self._own)
        sent += [self._end_own(it, "incomplete") for it in left]
        sent += [self._call(it) for it in whole.calls]
        kind = "response.incomplete" if whole.reason in INCOMPLETE else "response.completed"
        sent.append(self._event(kind, {"response": self.body(whole)}))
        return b"".join((*sent, DONE))

    def failed(self, error: ApiError) -> bytes:
        response = {
            **self.shown("failed"),
            "error": {"code": error.code or "server_error", "message": error.message},
        }
        return self._event("response.failed", {"response": response}) + DONE

    def body(self, whole: Whole) -> dict[str, object]:
        reason = INCOMPLETE.get(whole.reason)
        shown = self.shown("completed" if reason is None else "incomplete")
        details = None if reason is None else {"reason": reason}
        parts = [it for it in whole.parts if self.tools or isinstance(it, str)]
        output = self._made.output(parts, whole.calls)
        return {**shown, "incomplete_details": details, "output": output, "usage": _counted(whole.usage)}

    # --- items ---

    @property
    def _made(self) -> Items:
        return Items(self.id.removeprefix("resp_"))

    @property
    def _place(self) -> dict[str, object]:
        """Of the text of the open message."""
        item = self._made.message_id(self._messages - 1)
        return {"item_id": item, "output_index": self._items - 1, "content_index": 0}

    def _begin_message(self) -> bytes:
        added = self._added(self._made.message(self._messages, None))
        self._messages, self._open = self._messages + 1, ""
        return added + self._event("response.content_part.added", {**self._place, "part": part("")})

    def _end_message(self) -> bytes:
        if self._open is None:
            return b""
        text, self._open = self._open, None
        item = self._made.message(self._messages - 1, text)
        return b"".join(
            (
                self._event("response.output_text.done", {**self._place, "text": text, "logprobs": []}),
                self._event("response.content_part.done", {**self._place, "part": part(text)}),
                self._event("response.output_item.done", {"output_index": self._items - 1, "item": item}),
            )
        )

    def _begin_own(self, call: OwnCall) -> bytes:
        self._own[call.id] = self._items
        place = {"item_id": self._made.own_id(call), "output_index": self._items}
        return b"".join(
            (
                self._added(self._made.own(replace(call, state="running"), "in_progress")),
                self._event("response.mcp_call.in_progress", place),
                self._event("response.mcp_call_arguments.delta", {**place, "delta": call.arguments}),
                self._event("response.mcp_call_arguments.done", {**place, "arguments": call.arguments}),
            )
        )

    def _end_own(self, call: OwnCall, status: str) -> bytes:
        place = {"item_id": self._made.own_id(call), "output_index": self._own[call.id]}
        ended = b"" if status == "incomplete" else self._event(f"response.mcp_call.{status}", place)
        done = {"output_index": self._own[call.id], "item": self._made.own(call, status)}
        return ended + self._event("response.output_item.done", done)

    def _call(self, call: ProposedCall) -> bytes:
        item, place = function_call(call), {"item_id": f"fc_{call.id}", "output_index": self._items}
        return b"".join(
            (
                self._added({**item, "arguments": "", "status": "in_progress"}),
                self._event("response.function_call_arguments.delta", {**place, "delta": call.arguments}),
                self._event(
                    "response.function_call_arguments.done", {**place, "name": call.name, "arguments": call.arguments}
                ),
                self._event("response.output_item.done", {"output_index": self._items - 1, "item": item}),
            )
        )

    def _added(self, item: Item) -> bytes:
        self._items += 1
        return self._event("response.output_item.added", {"output_index": self._items - 1, "item": item})

    def shown(self, status: str) -> dict[str, object]:
        """Without what it says."""
        its = self.request
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": its.instructions,
            "max_output_tokens": its.max_output_tokens,
            "model": its.model,
            "output": [],
            "parallel_tool_calls": its.parallel_tool_calls is not False,
            "previous_response_id": its.previous_response_id,
            "reasoning": {"effort": its.reasoning.effort if its.reasoning else None, "summary": None},
            "store": its.store is not False,
            "temperature": 1.0 if its.temperature is None else its.temperature,
            "text": {"format": (its.text.format if its.text else None) or {"type": "text"}},
            "tool_choice": its.tool_choice or "auto",
            "tools": [{"strict": False, **it.model_dump()} for it in its.tools or ()],
            "top_p": 1.0 if its.top_p is None else its.top_p,
            "truncation": "disabled",
            "usage": None,
            "metadata": its.metadata or {},
        }

    def _event(self, kind: str, members: Mapping[str, object]) -> bytes:
        event = {"type": kind, "sequence_number": self._number, **members}
        self._number += 1
        return b"event: %s\ndata: %s\n\n" % (kind.encode(), encode(event))


def _counted(usage: Usage | None) -> dict[str, object]:
    its = usage or Usage()
    return {
        "input_tokens": its.prompt_tokens,
        "input_tokens_details": {"cached_tokens": its.cached_tokens},
        "output_tokens": its.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": its.total_tokens,
    }
