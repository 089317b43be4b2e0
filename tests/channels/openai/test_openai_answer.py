"""An answer while it is made: what a client has read is never taken back, and nothing of the reply is lost to it."""

from __future__ import annotations

from hookgate.channels.openai.answers.answer import PARAGRAPH, Answer
from hookgate.protocol.chat import Chat, Outbound


def test_a_reply_that_is_written_anew_is_another_paragraph() -> None:
    answer = Answer()
    answer.begin()
    answer.write("The capital of Fr")
    answer.restart()
    answer.write("Paris ")
    assert answer.pieces == [PARAGRAPH, "The capital of Fr", PARAGRAPH, "Paris "]
    answer.take(Outbound(Chat("api", "1"), "Paris it is."))
    answer.end_turn(completed=True)
    assert answer.pieces[-2:] == ["Paris ", "it is."]
    assert (answer.text, answer.over) == ("Paris it is.", True)
