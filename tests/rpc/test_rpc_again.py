"""`hookgate rpc` where a reply breaks off: each text is read once, and neither a word nor its cost is lost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli.rpc_client import Frame, one, open_rpc, types
from tests.model_server import Answer, chunk, cut, event, events, hang, open_model_server, says

KEY = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}
WORDS = ("The ", "capital ", "of ", "France ", "is ", "Paris.")
BROKEN = 5
"""Pieces: the role, and `The capital of France `."""
PLAIN = [
    *("response", "user_message", "turn_start", "assistant_start", "text_delta", "usage", "assistant_message"),
    *("turn_end", "done"),
]


def asking(tmp_path: Path, kind: str, url: str) -> Path:
    text = f'[agent]\nmodel = "p/m"\nretry_first_ms = 1\n[providers.p]\nkind = "{kind}"\nbase_url = "{url}"\n'
    (tmp_path / "hookgate.toml").write_text(text + '[models."p/m"]\nprices = [1.0, 2.0]\n')
    return tmp_path


async def prompted(tmp_path: Path, *answers: Answer, kind: str = "openai") -> list[Frame]:
    async with open_model_server(*answers) as server:
        async with open_rpc(asking(tmp_path, kind, server.base_url), env=KEY) as client:
            await client.send("prompt", message="go")
            frames = await client.done()
        assert not server.answers
        return frames


def written(frames: list[Frame]) -> str:
    """What a client prints that knows no more than zot's own examples do."""
    return "".join(frame["delta"] for frame in frames if frame["type"] == "text_delta")


def said(frames: list[Frame]) -> str:
    return one(frames, "assistant_message")["content"][0]["text"]


@pytest.mark.parametrize("breaks", [1, 2])
async def test_a_text_that_comes_again_is_read_once(tmp_path: Path, breaks: int) -> None:
    frames = await prompted(tmp_path, *[cut(says(*WORDS), BROKEN - at) for at in range(breaks)], says(*WORDS))
    assert types(frames) == PLAIN
    assert written(frames) == said(frames) == "".join(WORDS)


async def test_another_text_is_a_message_that_starts_again(tmp_path: Path) -> None:
    frames = await prompted(tmp_path, cut(says(*WORDS), BROKEN), says("The ", "answer: ", "Paris."))
    starts = [number for number, frame in enumerate(frames) if frame["type"] == "assistant_start"]
    assert len(starts) == 2
    assert written(frames[: starts[1]]) == "The capital of France \n\n"
    assert written(frames[starts[1] :]) == said(frames) == "The answer: Paris."
    assert types(frames[starts[1] :]) == PLAIN[3:]


@pytest.mark.parametrize(("ends", "between"), [(" ", "\n\n"), ("\n", "\n"), ("\n\n", "")])
async def test_one_empty_line_stands_before_another_text(tmp_path: Path, ends: str, between: str) -> None:
    frames = await prompted(tmp_path, cut(says("First.", ends), 3), says("Other."))
    assert written(frames) == f"First.{ends}{between}Other."


async def test_what_was_read_stays_where_no_other_try_says_more(tmp_path: Path) -> None:
    tries = [cut(says(*WORDS), at) for at in (BROKEN, 1, 2)]
    frames = await prompted(tmp_path, *tries)
    assert types(frames) == [*PLAIN[:-1], "error", "done"]
    assert written(frames) == said(frames) == "The capital of France "
    assert one(frames, "turn_end")["stop"] == "error"


# --- what it costs, and its last word -----------------------------------------------------------------------


def counted(*words: str, ended: bool = True) -> Answer:
    """Anthropic's stream, which says at its start what the request has cost."""
    texts = ({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": it}} for it in words)
    usage = {"input_tokens": 10, "output_tokens": 1}
    values: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "model": "served", "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *texts,
    ]
    if ended:
        values.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}})
        values.append({"type": "message_stop"})
    return Answer(tuple(event(value, value["type"]) for value in values))


async def test_a_try_that_broke_off_is_paid_for(tmp_path: Path) -> None:
    broken = replace(counted("One ", "two ", ended=False), ending="cut")
    frames = await prompted(tmp_path, broken, counted("One ", "two ", "three."), kind="anthropic")
    usage = one(frames, "usage")
    assert (usage["input"], usage["output"]) == (20, 10)
    assert usage["cost_usd"] == usage["cumulative"]["cost_usd"] == pytest.approx((20 * 1.0 + 10 * 2.0) / 1e6)
    assert written(frames) == "One two three."


async def test_a_reply_that_breaks_off_before_its_first_word_has_cost_something_too(tmp_path: Path) -> None:
    frames = await prompted(tmp_path, *3 * [replace(counted(ended=False), ending="cut")], kind="anthropic")
    assert types(frames) == ["response", "user_message", "turn_start", "usage", "turn_end", "error", "done"]
    usage = one(frames, "usage")
    assert (usage["input"], usage["output"], usage["cumulative"]["input"]) == (30, 3, 30)


@pytest.mark.parametrize("word", ["well", "password"])
async def test_an_abort_loses_neither_the_last_word_nor_what_it_has_cost(tmp_path: Path, word: str) -> None:
    pieces = counted("All ", "is ", word, ended=False).pieces
    # In one write: the word is there once what stands before it has been read.
    answer = Answer((b"".join(pieces),), ending="hang")
    async with (
        open_model_server(answer) as server,
        open_rpc(asking(tmp_path, "anthropic", server.base_url), env=KEY) as client,
    ):
        await client.send("prompt", message="go")
        before = await client.until("text_delta")
        while written(before).strip() != "All is":
            before += await client.until("text_delta")
        await client.send("abort")
        frames = [*before, *await client.done()]
    assert written(frames) == said(frames) == f"All is {word}"
    usage = one(frames, "usage")
    assert (usage["input"], usage["output"], usage["cumulative"]["input"]) == (10, 1, 10)


@pytest.mark.parametrize("pieces", [0, 1, 3], ids=["none", "no word", "less"])
@pytest.mark.parametrize("words", [("All ", "is ", "well"), ("well",)])
async def test_a_last_word_is_not_lost_where_the_next_tries_say_less(
    tmp_path: Path, words: tuple[str, ...], pieces: int
) -> None:
    less = [cut(says(*words), min(pieces, len(words)))] * 2
    frames = await prompted(tmp_path, cut(says(*words), 1 + len(words)), *less)
    assert types(frames) == [*PLAIN[:-1], "error", "done"]
    assert written(frames) == said(frames) == "".join(words)


async def test_half_a_secret_is_no_last_word(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    answer = hang(events(chunk({"content": "It is "}), chunk({"content": token[:30]}), done=False), 2)
    async with (
        open_model_server(answer) as server,
        open_rpc(asking(tmp_path, "openai", server.base_url), env=KEY) as client,
    ):
        await client.send("prompt", message="go")
        frames = await client.until("text_delta")
        await client.send("abort")
        frames += await client.done()
    assert written(frames).strip() == said(frames).strip() == "It is"
