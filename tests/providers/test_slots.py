"""The calls of a chat completion from an endpoint that means ill: the work stays in proportion to what it sends.

To a reading that starts again with each piece, what is sent here is the work of many minutes.
"""

from __future__ import annotations

from hookgate.protocol.values import LLMRequest, Message
from hookgate.providers.names import NewCallIds, tool_names
from hookgate.providers.openai.slots import Slots

REQUEST = LLMRequest("m", (Message("user", "hello"),))


def slots() -> Slots:
    return Slots(lambda _piece: None, tool_names(REQUEST), NewCallIds(REQUEST))


def test_what_closes_like_an_object_and_is_none_is_decoded_once() -> None:
    calls = slots()
    calls.take({"index": 0, "id": "a", "function": {"name": "read", "arguments": "{" + "x" * 1_000_000 + "}"}})
    for _ in range(200_000):
        calls.take({"index": 0, "function": {"name": "read", "arguments": " "}})
    assert [len(call.arguments) for call in calls.calls()] == [1_200_002]


def test_calls_without_a_name_are_not_looked_through_again_and_again() -> None:
    calls = slots()
    for number in range(200_000):
        calls.take({"index": number})
        assert not calls
    calls.take({"index": 7, "function": {"name": "read"}})
    assert calls
    assert [call.name for call in calls.calls()] == ["read"]
