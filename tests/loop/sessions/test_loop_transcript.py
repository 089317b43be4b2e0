"""Transcripts: whatever is cut off, an endpoint takes what is left; nothing is written but by who has the claim."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from hookgate.loop.sessions.transcript import NO_RESULT, Transcript
from hookgate.protocol.journal.values import Draft, Fenced
from hookgate.protocol.values import Message, ProposedCall
from tests.loop.recording import claimed, is_valid, transcript_of


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
def test_wherever_a_turn_is_cut_off_its_calls_have_results_in_the_end(
    messages: list[Message], data: st.DataObject
) -> None:
    part = messages[: data.draw(st.integers(0, len(messages)))]

    async def cut_off() -> None:
        transcript = await transcript_of()
        if part:
            await transcript.append(*map(Draft, part))
        await transcript.end("dropped")
        assert is_valid(transcript.messages)
        assert transcript.messages[: len(part)] == tuple(part)
        assert all(message.content == NO_RESULT for message in transcript.messages[len(part) :])

    trio.run(cut_off)


async def test_a_turn_that_is_taken_back_leaves_what_was_there_before() -> None:
    transcript = await transcript_of(Message("user", "one"), Message("assistant", "1"))
    await transcript.append(Draft(Message("user", "two")))
    await transcript.rewind()
    assert [message.content for message in transcript.messages] == ["one", "1"]


async def test_whoever_had_the_conversation_before_reads_what_somebody_else_has_said_since() -> None:
    transcript = await transcript_of(Message("user", "one"))
    await transcript.end("answered")
    other = Transcript(transcript.work, transcript.conversation)
    await other.take(await claimed(transcript.work))
    await other.append(Draft(Message("assistant", "1")))
    await other.end("answered")
    await transcript.take(await claimed(transcript.work))
    assert transcript.messages == other.messages


async def test_a_stale_claim_changes_nothing() -> None:
    transcript = await transcript_of(Message("user", "one"))
    before = transcript.messages
    await transcript.work.release(transcript.held)
    await claimed(transcript.work)
    with pytest.raises(Fenced):
        await transcript.append(Draft(Message("assistant", "late")))
    with pytest.raises(Fenced):
        await transcript.end("answered")
    assert transcript.messages == before
