"""`hookgate tools decode` and `extract` as processes: the whole corpus, odd lines, a person at a pipe, no end."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest
import trio

CORPUS = Path(__file__).parents[2] / "conformance"
LOSSLESS = {"strict", "unquote", "ctrl", "comma", "relaxed", "embedded"}
PROGRAM = "from hookgate.cli.main import hookgate; from hookgate.cli.tools.commands import tools; "
# As a program would be; the group is added here in case it is run alone.
HOOKGATE = (sys.executable, "-c", PROGRAM + "hookgate.add_command(tools); hookgate()", "tools")
DEADLINE_S = 40


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / name).read_text("utf-8").splitlines()]


async def answers(stdin: bytes, *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    """Exit status, stdout by line, stderr."""
    with trio.fail_after(DEADLINE_S):
        ended = await trio.run_process(
            [*HOOKGATE, *arguments], stdin=stdin, capture_stdout=True, capture_stderr=True, check=False
        )
    return ended.returncode, [json.loads(line) for line in ended.stdout.splitlines()], ended.stderr.decode()


def strings(texts: Sequence[str]) -> bytes:
    return "".join(json.dumps(text) + "\n" for text in texts).encode()


def group(step: str) -> str:
    return "lossless" if step in LOSSLESS else step


async def test_every_row_of_the_repair_corpus_comes_out_of_the_command() -> None:
    table = rows("repair.jsonl")
    status, said, errors = await answers(strings([row["input"] for row in table]), "decode")
    assert (status, len(said), errors) == (0, len(table), "")
    for row, answer in zip(table, said, strict=True):
        allowed = {group(row["class"])} | ({"REJECT"} if row["class"] == "GUESS" else set())
        allowed |= {"TRUNC"} if "also cut" in row.get("note", "") else set()
        assert group(answer["class"]) in allowed, row["id"]
        if "value" in row:
            assert answer["value"] == row["value"], row["id"]
        # Strict JSON needs no step, what nobody reads has none; else the class is the last one.
        assert answer["steps"][-1:] == [answer["class"]] * (answer["class"] not in ("strict", "REJECT")), row["id"]


async def test_every_row_of_the_extraction_corpus_comes_out_of_the_command() -> None:
    table = rows("extraction.jsonl")
    [tools] = {",".join(row["tools"]) for row in table}
    status, said, errors = await answers(strings([row["text"] for row in table]), "extract", "--tools", tools)
    assert (status, len(said), errors) == (0, len(table), "")
    for row, answer in zip(table, said, strict=True):
        assert (answer["class"], answer["calls"]) == (row["class"], row.get("calls", [])), row["id"]
        if "rest" in row:
            assert " ".join(answer["rest"].split()) == " ".join(row["rest"].split()), row["id"]


async def test_a_line_that_is_no_json_string_is_told_and_the_others_are_answered() -> None:
    lines = [b'"{}"', b"{}", b"", b'"cut', b"\xff", b'"{\\"a\\": 1,}"']
    status, said, errors = await answers(b"\n".join(lines), "decode")
    assert status == 1
    assert [answer["class"] for answer in said] == ["strict", "comma"]
    assert [line.partition(":")[0] for line in errors.splitlines()] == ["line 2", "line 3", "line 4", "line 5"]
    assert "line 2: JSON, but no string" in errors


async def test_integers_come_out_exact_and_lone_surrogates_as_a_replacement() -> None:
    status, said, _errors = await answers(
        b'"{\\"a\\": 123456789012345678901234567890, \\"b\\": \\"\\ud800\\"}"\n', "decode"
    )
    assert (status, said[0]["value"]) == (0, {"a": 123456789012345678901234567890, "b": "\ufffd"})


async def test_what_no_step_reads_says_why() -> None:
    status, said, _errors = await answers(strings(["[1]"]), "decode")
    assert (status, said[0]["class"], said[0]["value"], said[0]["steps"]) == (0, "REJECT", None, [])
    assert "array" in said[0]["reason"]


@pytest.mark.parametrize("arguments", [("decode",), ("extract", "--tools", "a")])
async def test_each_line_is_answered_before_the_next_is_asked_for(arguments: tuple[str, ...]) -> None:
    with trio.fail_after(DEADLINE_S):
        process = await trio.lowlevel.open_process([*HOOKGATE, *arguments], stdin=PIPE, stdout=PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        async with process.stdin, process.stdout:
            for text in ("{}", "x", '{"a":1}'):
                await process.stdin.send_all(strings([text]))
                answer = b""
                while not answer.endswith(b"\n"):
                    answer += await process.stdout.receive_some()
                assert "class" in json.loads(answer)
            await process.stdin.aclose()
            assert await process.wait() == 0


async def test_memory_does_not_grow_with_the_input() -> None:
    """120 MB of lines through a process that may not have them."""
    line = strings([json.dumps({"a": "x" * 60_000})])

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (150_000_000, 150_000_000))

    with trio.fail_after(DEADLINE_S):
        process = await trio.lowlevel.open_process([*HOOKGATE, "decode"], stdin=PIPE, stdout=PIPE, preexec_fn=limit)
        assert process.stdin is not None
        assert process.stdout is not None
        answered = 0
        async with process.stdin, process.stdout, trio.open_nursery() as nursery:
            nursery.start_soon(_feed, process.stdin, line, 2000)
            async for chunk in process.stdout:
                answered += chunk.count(b"\n")
        assert (await process.wait(), answered) == (0, 2000)


async def _feed(stdin: trio.abc.SendStream, line: bytes, times: int) -> None:
    for _ in range(times):
        await stdin.send_all(line)
    await stdin.aclose()


async def test_a_line_too_long_to_be_any_call_is_told_and_skipped() -> None:
    long = b'"' + b"x" * (17 * 1024 * 1024) + b'"\n'
    status, said, errors = await answers(long + b'"{}"\n' + long[:-1], "decode")
    assert (status, [answer["class"] for answer in said]) == (1, ["strict"])
    assert errors == "line 1: it has more than 16777216 bytes\nline 3: it has more than 16777216 bytes\n"


async def test_no_input_is_no_output() -> None:
    assert await answers(b"", "extract", "--tools", "a") == (0, [], "")
