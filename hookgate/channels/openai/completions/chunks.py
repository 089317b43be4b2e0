"""A chat completion as clients read it: whole, or as chunks of a stream. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from hookgate.channels.openai.answers.answering import CHANGED, Whole
from hookgate.channels.openai.answers.calls import OwnCall
from hookgate.channels.openai.errors import ApiError, turn_failed
from hookgate.channels.openai.wire import DONE
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import ProposedCall, Usage


@dataclass(frozen=True, slots=True)
class Completion:
    """What all that is sent of one has in common. `created`: seconds of the wall clock. `usage`: the stream ends with
    what it cost."""

    id: str
    model: str
    created: int
    usage: bool = False

    def begin(self) -> bytes:
        return self._chunk({"role": "assistant", "content": ""})

    def text(self, piece: str) -> bytes:
        return self._chunk({"content": piece})

    def call(self, _call: OwnCall) -> bytes:
        """Clients would run it."""
        return b""

    def end(self, whole: Whole, shown: str) -> bytes:
        if not whole.text.startswith(shown):
            return self.failed(turn_failed(CHANGED))
        rest = whole.text[len(shown) :]
        chunks = [self.text(rest)] if rest else []
        for number, it in enumerate(whole.calls):
            named = {**_call(it), "index": number, "function": {"name": it.name, "arguments": ""}}
            chunks.append(self._chunk({"tool_calls": [named]}))
            chunks.append(self._chunk({"tool_calls": [{"index": number, "function": {"arguments": it.arguments}}]}))
        chunks.append(self._chunk({}, whole.reason))
        if self.usage:
            chunks.append(_event({**self._head, "choices": [], "usage": counted(whole.usage)}))
        return b"".join((*chunks, DONE))

    def failed(self, error: ApiError) -> bytes:
        return _event(error.body) + DONE

    def body(self, whole: Whole) -> dict[str, object]:
        content = whole.text or (None if whole.calls else "")
        message: dict[str, object] = {"role": "assistant", "content": content, "refusal": None}
        if whole.calls:
            message["tool_calls"] = [_call(it) for it in whole.calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": whole.reason}
        return {**self._head, "object": "chat.completion", "choices": [choice], "usage": counted(whole.usage)}

    @property
    def _head(self) -> dict[str, object]:
        return {"id": self.id, "object": "chat.completion.chunk", "created": self.created, "model": self.model}

    def _chunk(self, delta: Mapping[str, object], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        usage = {"usage": None} if self.usage else {}
        return _event({**self._head, "choices": [choice], **usage})


def _call(call: ProposedCall) -> dict[str, object]:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


def counted(usage: Usage | None) -> dict[str, object]:
    its = usage or Usage()
    return {
        "prompt_tokens": its.prompt_tokens,
        "completion_tokens": its.completion_tokens,
        "total_tokens": its.total_tokens,
        "prompt_tokens_details": {"cached_tokens": its.cached_tokens},
    }


def _event(value: object) -> bytes:
    return b"data: %s\n\n" % encode(value)
