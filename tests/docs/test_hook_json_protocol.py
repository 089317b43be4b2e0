"""docs/hook-json-protocol.md, what is said: the conversation is replayed, every line and answer is decoded."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
import trio

from hookgate.check.run import check
from hookgate.hooks.decision import denial, refusal, settled
from hookgate.hooks.rules import Policy
from hookgate.protocol.errors import BadMessage, SessionAborted, TurnAborted
from hookgate.protocol.hook.answers import Abort, Continue, Deny, Drop, Failed, Modify, Respond, parse_answer
from hookgate.protocol.hook.hello import Hello, hello_params, parse_hello
from hookgate.protocol.hook.peer import Peer
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import FaultKind
from tests.docs.chat import play
from tests.docs.page import anchor, codes, read_page
from tests.wire import Child, open_child

ROOT = Path(__file__).parents[2]
PAGE = read_page(ROOT / "docs" / "hook-json-protocol.md")
ALL = frozenset(Stage)
JSON_BLOCKS = {"conversation", "hello-result", "result", "event", "cancel", "try"}
TO_HOOK, FROM_HOOK = "→ ", "← "
CHANGING = [stage for stage in Stage if stage is not Stage.APPROVE_TOOL]


def test_every_json_block_says_what_it_is() -> None:
    blocks = [part for part in PAGE.parts if part.language in ("json", "jsonl")]
    assert len(blocks) > 10
    assert [f"line {part.line}: {part.mark!r}" for part in blocks if part.kind not in JSON_BLOCKS] == []


def test_every_link_leads_to_a_heading() -> None:
    assert set(PAGE.links) <= {anchor(heading) for heading in PAGE.headings}


def test_every_stage_has_a_section_in_the_order_of_the_turn() -> None:
    shown = [heading for heading in PAGE.headings if heading in {stage.method for stage in Stage}]
    assert shown == [stage.method for stage in Stage]


# --- the conversation -----------------------------------------------------------------------------------------


@pytest.fixture
def hook(tmp_path: Path) -> Path:
    """The page's own program."""
    path = tmp_path / "guard.py"
    path.write_text(PAGE.one("hook").text)
    return path


def conversation() -> list[str]:
    return [line for part in PAGE.marked("conversation") for line in part.lines]


async def spoken(child: Child, lines: list[str]) -> None:
    """Send what hookgate writes, and read the answers where they stand."""
    for line in lines:
        if line.startswith(TO_HOOK):
            await child.send_raw(line.removeprefix(TO_HOOK).encode() + b"\n")
        else:
            assert await child.read_message() == json.loads(line.removeprefix(FROM_HOOK))


async def test_the_hook_of_the_page_answers_as_the_page_shows(hook: Path) -> None:
    async with open_child([sys.executable, hook]) as child:
        await spoken(child, conversation())
        await child.close_stdin()
        assert await child.wait_exit() == 0
        assert child.stderr == ""


async def test_the_hook_of_the_page_passes_the_check_without_a_warning(hook: Path) -> None:
    with trio.fail_after(60):
        report = await check((sys.executable, str(hook)), {"PATH": "/usr/bin:/bin"}, str(hook.parent))
    assert [(it.check, it.what) for it in report.findings if it.verdict in ("FAIL", "warn")] == []
    assert next(it.what for it in report.findings if it.check == "unknown method") == "error -32601"


async def test_the_hook_of_the_page_can_be_tried_by_hand(hook: Path) -> None:
    async with open_child([sys.executable, hook]) as child:
        await spoken(child, [*PAGE.one("try").lines])


async def test_hookgate_writes_the_lines_of_the_conversation(hook: Path) -> None:
    lines, sent = await play(hook, lambda _event: None)
    shown = [line.removeprefix(TO_HOOK) for line in conversation() if line.startswith(TO_HOOK)]
    assert [_timeless(line) for line in lines] == [_timeless(line) for line in shown]
    assert [outbound.text for outbound in sent] == ["A deploy would change nothing."]


async def test_the_events_of_the_conversation_come_in_the_order_shown(hook: Path) -> None:
    kinds: list[str] = []
    await play(hook, lambda event: kinds.append(event.kind))
    names = [re.search(r"[a-z_]+", line) for line in PAGE.one("event-order").lines]
    assert kinds == [name[0] for name in names if name]


def _timeless(line: str) -> str:
    """Without what differs from run to run, and from model to model."""
    return re.sub(r'"(deadline_ms|[dD]uration|\w+_tokens)":\d+', r'"\1":0', line)


# --- lines, hello, answers ------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", PAGE.one("lines").rows, ids=lambda row: row[0])
def test_a_line_is_taken_as_the_page_says(row: list[str]) -> None:
    peer = Peer()
    for _ in range(4):
        peer.request("hook.before_tool", (b"{}",))
    names = {"Reply": "answer", "ErrorReply": "error", "Stray": "stray", "Refused": "refused", "Noise": "noise"}
    (incoming,) = peer.receive(codes(row[0])[0].encode() + b"\n")
    assert names[type(incoming).__name__] == row[1]


@pytest.mark.parametrize("row", PAGE.one("modes").rows, ids=lambda row: row[0])
def test_a_mode_is_there_where_one_of_its_stages_is(row: list[str]) -> None:
    (mode,), named = codes(row[0]), frozenset(Stage(name) for name in codes(row[1]) if name in [*Stage])
    for stage in named or {None}:
        offered = json.loads(hello_params("guard", frozenset({stage} if stage else ()), observes=stage is None))
        assert offered["modes"] == [mode]


def test_the_modes_have_every_stage() -> None:
    named = [name for row in PAGE.one("modes").rows for name in codes(row[1]) if name in [*Stage]]
    assert sorted(named) == sorted(Stage)


def test_the_whole_hello_declares_everything_there_is() -> None:
    full = next(part for part in PAGE.marked("hello-result") if part.mark.endswith("full"))
    hello = parse_hello(json.loads(full.text), ALL)
    assert [f.name for f in fields(Hello) if getattr(hello, f.name) == getattr(Hello(), f.name)] == []


def test_the_short_hello_declares_nothing() -> None:
    short = next(part for part in PAGE.marked("hello-result") if part.mark == "hello-result")
    assert parse_hello(json.loads(short.text), ALL) == Hello(name="guard")


@pytest.mark.parametrize("row", PAGE.one("hellos").rows, ids=lambda row: row[0])
def test_a_hello_is_taken_as_the_page_says(row: list[str]) -> None:
    result = json.loads(codes(row[0])[0])
    if row[1] == "good":
        parse_hello(result, ALL)
    else:
        with pytest.raises(BadMessage, match=re.escape(row[1].removeprefix("a failure: "))):
            parse_hello(result, ALL)


def answers() -> Iterator[tuple[Stage, str, str]]:
    """Stage, JSON, and what it is, of every example."""
    for part in PAGE.marked("result"):
        stage, word = part.mark.removeprefix("result ").split(": ")
        yield Stage(stage), part.text, f"`{word}`"
    for part in PAGE.marked("answers"):
        stage = part.mark.partition(" ")[2]
        for row in part.rows:
            named, text, what = row if not stage else [stage, *row]
            yield Stage(named), codes(text)[0], what


@pytest.mark.parametrize(("stage", "text", "what"), [*answers()])
def test_an_answer_is_taken_as_the_page_says(stage: Stage, text: str, what: str) -> None:
    if what.startswith("`"):
        assert parse_answer(stage, json.loads(text)).action == what.strip("`")
    else:
        with pytest.raises(BadMessage, match=re.escape(what.removeprefix("a failure: "))):
            parse_answer(stage, json.loads(text))


def test_every_stage_shows_a_good_answer_and_a_failure() -> None:
    shown = {(stage, what.startswith("`")) for stage, _, what in answers()}
    assert shown == {(stage, good) for stage in Stage for good in (True, False)}


def test_the_action_table_is_what_the_parser_allows() -> None:
    rows = {codes(row[0])[0]: row[1 : 1 + len(CHANGING)] for row in PAGE.one("actions").rows}
    words = {
        Continue.action,
        Modify.action,
        Respond.action,
        Drop.action,
        Deny.action,
        Abort("").action,
        Abort("", True).action,
    }
    assert rows.keys() == words
    for action, cells in rows.items():
        assert cells == ["yes" if _allowed(stage, action) else "" for stage in CHANGING], action


def _allowed(stage: Stage, action: str) -> bool:
    objects = {
        "message": {"text": ""},
        "reply": {"text": "x"},
        "request": {"model": "m"},
        "response": {"content": ""},
        "call": {"tool": "t"},
        "result": {"silent": True},
    }
    try:
        parse_answer(stage, {"action": action, **objects})
    except BadMessage:
        return False
    return True


@pytest.mark.parametrize("row", PAGE.one("policies").rows, ids=lambda row: row[0])
def test_a_failure_leads_to_what_the_page_says(row: list[str]) -> None:
    stage, policies = Stage(row[0]), get_args(Policy)
    assert set(policies) == {"continue", "deny", "abort"}
    for policy, cell in zip(("continue", "deny", "abort"), row[1:], strict=True):
        assert settled("guard", stage, Failed("it is late"), policy).action == codes(cell)[0]


def test_what_the_model_reads_is_quoted_word_for_word() -> None:
    for result in (denial("h", Deny("REASON")), refusal("hook:h", "REASON"), refusal("approval:A1", "REASON")):
        assert f"`{result.for_llm}`" in " ".join(PAGE.text.split())
    for error in (TurnAborted("NAME", "STAGE", "REASON"), SessionAborted("NAME", "STAGE", "REASON")):
        assert f"`{error}`" in PAGE.text
    policy = settled("NAME", Stage.BEFORE_TOOL, Failed("WHAT"), "deny")
    assert isinstance(policy, Deny)
    assert f"`{policy.reason.replace('before_tool', 'STAGE')}`" in PAGE.text
    assert all(f"`{kind}`" in PAGE.text for kind in get_args(FaultKind))
