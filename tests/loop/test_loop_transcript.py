"""Repair: whatever is cut off or torn out, an endpoint takes what is left."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hookgate.loop.transcript import NO_RESULT, Transcript, repaired
from hookgate.protocol.values import Message, ProposedCall
from tests.loop.recording import is_valid


def _exchange(numbers: st.SearchStrategy[list[int]]) -> st.SearchStrategy[list[Message]]:
    """What one user message leads to: steps with so many tool calls each, and an answer."""
    return numbers.map(
        lambda counts: [
            Message("user", "go"),
            *(message for step, count in enumerate(counts) for message in _step(step, count)),
            Message("assistant", "done"),
        ]
    )


def _step(step: int, count: int) -> list[Message]:
    ids = [f"{step}-{number}" for number in range(count)]
    calls = tuple(ProposedCall(call_id, "t", "{}") for call_id in ids)
    return [Message("assistant", "", calls), *(Message("tool", "result", tool_call_id=call_id) for call_id in ids)]


CONVERSATIONS = st.lists(_exchange(st.lists(st.integers(1, 4), max_size=3)), max_size=3).map(
    lambda exchanges: [message for exchange in exchanges for message in exchange]
)


@given(CONVERSATIONS, st.data())
def test_every_cut_of_a_transcript_repairs_to_a_valid_one(messages: list[Message], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(messages)))
    end = data.draw(st.integers(start, len(messages)))
    part = messages[start:end]
    after = list(repaired(part))
    assert is_valid(after)
    assert [message for message in after if message.role != "tool"] == [m for m in part if m.role != "tool"]


@given(CONVERSATIONS, st.data())
def test_holes_and_swapped_messages_repair_too_and_a_second_repair_changes_nothing(
    messages: list[Message], data: st.DataObject
) -> None:
    torn = data.draw(st.permutations(messages)) if data.draw(st.booleans()) else messages
    kept = [message for message in torn if data.draw(st.booleans())]
    once = list(repaired(kept))
    assert is_valid(once)
    assert list(repaired(once)) == once


@given(CONVERSATIONS)
def test_a_whole_transcript_is_left_alone(messages: list[Message]) -> None:
    assert list(repaired(messages)) == messages


def test_a_missing_result_says_that_it_is_missing() -> None:
    transcript = Transcript([Message("user", "go"), Message("assistant", "", (ProposedCall("1", "t", "{}"),))])
    transcript.repair()
    assert transcript.messages[-1] == Message("tool", NO_RESULT, tool_call_id="1")


def test_a_rollback_forgets_what_came_after() -> None:
    transcript = Transcript([Message("user", "one"), Message("assistant", "1"), Message("user", "two")])
    transcript.rollback(2)
    assert [message.content for message in transcript.messages] == ["one", "1"]
