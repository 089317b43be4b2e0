"""A response as clients read it, after Open Responses: whole, or as events of a stream. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from hookgate.channels.openai.answering import CHANGED, Whole
from hookgate.channels.openai.errors import ApiError, turn_failed
from hookgate.channels.openai.responses.wire import ResponseRequest
from hookgate.channels.openai.wire import DONE
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import ProposedCall, Usage

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why, by what a completion calls it."""


@dataclass
class Response:
    """One response on its way to one client. `created`: seconds of the wall clock."""

    id: str
    request: ResponseRequest
    created: int
    _number: int = 0
    _begun: bool = False

    def begin(self) -> bytes:
        began = {"response": self._shown("in_progress")}
        return self._event("response.created", began) + self._event("response.in_progress", began)

    def text(self, piece: str) -> bytes:
        place = {"item_id": self._message_id, "output_index": 0, "content_index": 0}
        head = b"" if self._begun else self._begin_message()
        return head + self._event("response.output_text.delta", {**place, "delta": piece, "logprobs": []})

    def end(self, whole: Whole, shown: str) -> bytes:
        if not whole.text.startswith(shown):
            return self.failed(turn_failed(CHANGED))
        rest = whole.text[len(shown) :]
        sent = [self.text(rest)] if rest else []
        output = self._output(whole)
        if self._begun:
            place = {"item_id": self._message_id, "output_index": 0, "content_index": 0}
            sent += [
                self._event("response.output_text.done", {**place, "text": whole.text, "logprobs": []}),
                self._event("response.content_part.done", {**place, "part": _part(whole.text)}),
                self._event("response.output_item.done", {"output_index": 0, "item": output[0]}),
            ]
        for number, call in enumerate(whole.calls, int(self._begun)):
            sent.append(self._call(number, call))
        kind = "response.incomplete" if whole.reason in INCOMPLETE else "response.completed"
        sent.append(self._event(kind, {"response": self.body(whole)}))
        return b"".join((*sent, DONE))

    def failed(self, error: ApiError) -> bytes:
        response = {
            **self._shown("failed"),
            "error": {"code": error.code or "server_error", "message": error.message},
        }
        return self._event("response.failed", {"response": response}) + DONE

    def body(self, whole: Whole) -> dict[str, object]:
        reason = INCOMPLETE.get(whole.reason)
        shown = self._shown("completed" if reason is None else "incomplete")
        details = None if reason is None else {"reason": reason}
        return {**shown, "incomplete_details": details, "output": self._output(whole), "usage": _counted(whole.usage)}

    # --- parts ---

    @property
    def _message_id(self) -> str:
        return f"msg_{self.id.removeprefix('resp_')}"

    def _output(self, whole: Whole) -> list[dict[str, object]]:
        message = [self._message("completed", [_part(whole.text)])] if whole.text or not whole.calls else []
        return [*message, *map(_item, whole.calls)]

    def _message(self, status: str, content: list[dict[str, object]]) -> dict[str, object]:
        return {
            "type": "message",
            "id": self._message_id,
            "status": status,
            "role": "assistant",
            "content": content,
        }

    def _begin_message(self) -> bytes:
        self._begun = True
        place = {"item_id": self._message_id, "output_index": 0, "content_index": 0}
        added = {"output_index": 0, "item": self._message("in_progress", [])}
        head = self._event("response.output_item.added", added)
        return head + self._event("response.content_part.added", {**place, "part": _part("")})

    def _call(self, number: int, call: ProposedCall) -> bytes:
        item, place = _item(call), {"item_id": f"fc_{call.id}", "output_index": number}
        added = {"output_index": number, "item": {**item, "arguments": "", "status": "in_progress"}}
        return b"".join(
            (
                self._event("response.output_item.added", added),
                self._event("response.function_call_arguments.delta", {**place, "delta": call.arguments}),
                self._event(
                    "response.function_call_arguments.done", {**place, "name": call.name, "arguments": call.arguments}
                ),
                self._event("response.output_item.done", {"output_index": number, "item": item}),
            )
        )

    def _shown(self, status: str) -> dict[str, object]:
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


def _part(text: str) -> dict[str, object]:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _item(call: ProposedCall) -> dict[str, object]:
    return {
        "type": "function_call",
        "id": f"fc_{call.id}",
        "call_id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "status": "completed",
    }


def _counted(usage: Usage | None) -> dict[str, object]:
    its = usage or Usage()
    return {
        "input_tokens": its.prompt_tokens,
        "input_tokens_details": {"cached_tokens": its.cached_tokens},
        "output_tokens": its.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": its.total_tokens,
    }
