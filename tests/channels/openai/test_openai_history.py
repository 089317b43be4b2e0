"""Which part of a request is new to its conversation, by what the journal knows of that."""

from __future__ import annotations

from hookgate.channels.openai.history import new_tail
from hookgate.channels.openai.request_messages import Tail
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.values import Entry
from hookgate.protocol.journal.views import Exchange
from hookgate.protocol.values import Message

CHAT = Chat("api", "ann", "ann", thread="/s")


def said(*texts: str, first: int = 1) -> list[Exchange]:
    """Each answered; `first`: the number of the first entry."""
    entries = [((0.0, Entry(first + 2 * n, Message("user", it))),) for n, it in enumerate(texts)]
    return [
        Exchange(f"M{n}", 0.0, Inbound(CHAT, it), True, "answered", its)
        for n, (it, its) in enumerate(zip(texts, entries, strict=True))
    ]


def sent(*texts: str) -> list[Message]:
    """Words of a user, and behind each but the last an answer."""
    both = [it for text in texts for it in (Message("user", text), Message("assistant", "whatever"))]
    return both[:-1]


def test_what_follows_all_that_is_known_is_new() -> None:
    assert new_tail(sent("one", "two", "three"), said("one", "two"), "") == Tail((), "three")


def test_what_the_journal_has_forgotten_of_the_beginning_is_not_said_again() -> None:
    assert new_tail(sent("one", "two", "three", "four"), said("three", first=5), "") == Tail((), "four")


def test_what_the_client_knows_and_the_journal_does_not_comes_before() -> None:
    tail = new_tail(sent("one", "two", "three"), said("one"), "")
    assert ([it.content for it in tail.messages], tail.text, tail.replaces) == (["two", "whatever"], "three", 0)


def test_several_words_of_one_request_are_compared_as_one() -> None:
    messages = [Message("user", "one"), Message("user", "more"), Message("assistant", "x"), Message("user", "two")]
    assert new_tail(messages, said("one\n\nmore"), "") == Tail((), "two")


def test_another_first_word_takes_all_back_and_brings_what_follows() -> None:
    tail = new_tail(sent("other", "two"), said("one", "two"), "")
    assert ([it.content for it in tail.messages], tail.text, tail.replaces) == (["other", "whatever"], "two", 1)


def test_words_alone_are_new_where_the_client_keeps_no_history() -> None:
    assert new_tail([Message("user", "two")], said("one"), "") == Tail((), "two")
    assert new_tail([Message("user", "two")], said("one"), "client") == Tail((), "two", (), 1)


def test_a_command_brings_nothing_and_is_part_of_no_history() -> None:
    assert new_tail(sent("one", "/approve x"), said("one"), "") == Tail((), "/approve x")
    assert new_tail(sent("one", "/approve x", "two"), said("one"), "") == Tail((), "two")
