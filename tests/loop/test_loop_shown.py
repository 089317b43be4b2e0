"""What people see of a reply while it arrives, and what the arguments of a call give away while they are written."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Rules
from hookgate.loop.calls.execution_policy import Around, Unredacted
from hookgate.loop.streaming.streamed_reply import Everything, Holding, StreamedReply, Watching
from hookgate.loop.streaming.written import Written
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import CallEnded, CallProposed, CallWritten, ReplyEnded
from hookgate.protocol.hook.answers import Answer, Modify
from hookgate.protocol.hook.match import Observed
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values.delta import CallPiece, Delta, Thought
from hookgate.providers.scripted import ScriptedCall
from hookgate.redaction import Redactor
from hookgate.tools.extract import CallHoldBack
from tests.loop.recording import Bench, FunctionTool, asks_for, hook, says

MakeBench = Callable[..., Bench]

SECRET = "hunter2-hunter2"
REDACTOR = Redactor([SECRET, "two\nlines of it"], salt=b"salt")
HIDDEN = REDACTOR.value({"password": "x y"})["password"]
BEGIN, ARGUMENTS, END = CallPiece("c", "ls"), CallPiece("c", "ls", '{"a": 1}'), CallPiece("c", "ls", ended=True)
CALL = (BEGIN, ARGUMENTS, END)


def told(*deltas: Delta | None, holding: Any = Everything, finish: str | None = None) -> list[object]:
    """Everything that is handed on; None where it was void."""
    seen: list[Any] = []
    shown = StreamedReply(
        Watching(seen.append, seen.append, lambda text: seen.append(Thought(text))), holding, REDACTOR
    )
    for delta in deltas:
        shown(delta)
    if finish is not None:
        shown.finish(finish)
    return seen


class Three(Holding):
    def __init__(self) -> None:
        self._end = 0

    def __call__(self, piece: str) -> int:
        self._end += len(piece)
        return min(self._end, 3)


def test_a_stream_that_starts_again_shows_what_it_held_back_only_once() -> None:
    shown: list[str | None] = []
    stream = StreamedReply(Watching(shown.append), Three, Unredacted())
    for piece in ("abcdef", None, "xyz123"):
        stream(piece)
    stream.finish("xyz123")
    assert shown == ["abc", None, "xyz", "123"]


@given(st.lists(st.text(alphabet="ab \n", max_size=8), min_size=1, max_size=4), st.integers(1, 3))
def test_whoever_goes_by_what_is_void_has_read_the_last_text_and_nothing_twice(texts: list[str], size: int) -> None:
    """Tries that break off, and the one that does not."""
    deltas: list[Delta | None] = []
    for text in texts:
        deltas += [*(text[at : at + size] for at in range(0, len(text), size)), None]
    read = ""
    for it in told(*deltas[:-1], finish=texts[-1]):
        read = "" if it is None else read + str(it)
    assert read.strip() == texts[-1].strip()


def test_a_reply_that_begins_as_the_one_that_broke_off_goes_on_where_that_was() -> None:
    assert told("Once ", "upon ", None, "Once upon a ", "time", finish="Once upon a time") == [
        *("Once ", "upon "),
        *("a ", "time"),
    ]
    assert told("Once ", "upon ", None, "Once", finish="Once") == ["Once ", "upon ", None, "Once"]
    assert told("Once ", None, *CALL, finish="") == ["Once ", None, *CALL]


@given(st.text(alphabet="ab <{`\n/:=-", max_size=400), st.lists(st.integers(0, 400), max_size=40))
def test_no_piece_of_a_text_is_lost_or_shown_twice(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    pieces = [text[a:b] for a, b in pairwise(places)]
    seen = told(*pieces, holding=partial(CallHoldBack, "all"), finish=text)
    assert "".join(map(str, seen)).strip() == text.strip()


def test_a_long_text_that_waited_is_shown_once_it_is_harmless() -> None:
    document = json.dumps([{"note": "harmless", "number": number} for number in range(400)])
    text = f"{document} so it is\n" + "and more\n" * 400
    seen = told(*text)
    assert text.startswith("".join(map(str, seen)))
    assert len("".join(map(str, seen))) > len(document)


def test_a_call_is_told_as_it_is_written_after_the_text_before_it() -> None:
    assert told("Let me look.", *CALL) == ["Let me ", "look.", BEGIN, ARGUMENTS, END]


@pytest.mark.parametrize(
    "text", ["see\n<tool_", f"it is {SECRET[:9]}", "-----BEGIN PRIVATE KEY-----\nMII", "two\nlines"]
)
def test_calls_wait_for_the_reply_while_text_before_them_waits(text: str) -> None:
    later = (CallPiece("d", "ls"), CallPiece("d", "ls", ended=True))
    seen = told(text, *CALL, " and so on\n", *later, holding=partial(CallHoldBack, "tags"))
    assert all(isinstance(piece, str) for piece in seen)


@pytest.mark.parametrize(
    "text", ["password: my-secret-pw9", "curl -u bob:my-secret-pw9", "use --password my-secret-pw9"]
)
def test_a_secret_at_the_end_of_a_line_that_a_call_ends_is_not_cut_open(text: str) -> None:
    seen = told(text, *CALL, finish=text)
    assert "".join(map(str, seen)) == REDACTOR.text(text)
    assert "my-" not in REDACTOR.text(text)


@pytest.mark.parametrize(
    ("begun", "rest", "shown"),
    [
        ("-----BEGIN RSA PRIV", "ATE KEY-----\nMIIabc\n", ["-----BEGIN RSA PRIV"]),
        ("the api", "_key: hunter2pw", ["the ", "api", REDACTOR.text("the api_key: hunter2pw")[7:]]),
        ("all is", " well. ", ["all ", "is", " well. "]),
        ("all is", "\nwell ", ["all ", "is", "\nwell "]),
    ],
)
def test_a_line_that_goes_on_behind_a_call_waits_for_the_reply(begun: str, rest: str, shown: list[str]) -> None:
    seen = told(begun, *CALL, rest, finish=begun + rest)
    assert [piece for piece in seen if isinstance(piece, str)] == shown


def test_a_calls_name_is_told_without_secrets_and_one_with_a_secret_id_waits() -> None:
    assert told(CallPiece("c", f"run-{SECRET}")) == [CallPiece("c", REDACTOR.text(f"run-{SECRET}"))]
    assert told(CallPiece(SECRET, "ls"), BEGIN) == []


async def test_a_secret_in_the_name_or_id_of_a_call_is_read_by_nobody(bench: MakeBench) -> None:
    heard: list[Event] = []
    named = Rules(observe=Observed((ReplyEnded.kind, CallProposed.kind, CallEnded.kind)), inside=True)
    watcher = Mount(InsideHook("reader", hear=heard.append), named)
    call = ScriptedCall(f"run-{SECRET}", "{}", id=SECRET)
    made = bench(asks_for(call), says("done"), hooks=[watcher], around=Around(redactor=REDACTOR))
    assert await made.play("go") == ["done"]
    assert SECRET not in repr(heard)
    assert [message.tool_call_id for message in made.messages()] == ["", "", "call_0_0", ""]


@pytest.mark.parametrize("after", [("So: ",), (BEGIN,), ()])
def test_thoughts_are_told_before_what_comes_of_them_and_without_secrets(after: tuple[Delta, ...]) -> None:
    pieces = ("it is hun", "ter2-hun", "ter2, ", "I think")
    seen = told(*map(Thought, pieces), *after, finish="")
    thoughts = [it for it in seen if isinstance(it, Thought)]
    assert seen[: len(thoughts)] == thoughts
    assert "".join(it.text for it in thoughts) == REDACTOR.text("".join(pieces))
    assert told(*map(Thought, pieces), holding=None, finish="") == []


def test_nothing_is_told_where_a_hook_may_change_it() -> None:
    assert told("all is well ", *CALL, holding=None) == []
    assert told(*CALL, "all is well ", holding=None, finish="all is new") == ["all is new"]


def test_a_reply_that_starts_again_tells_its_calls_again() -> None:
    assert told(BEGIN, None, BEGIN, ARGUMENTS, END) == [BEGIN, None, BEGIN, ARGUMENTS, END]


async def test_where_a_hook_may_take_a_call_out_nobody_hears_of_it_before(bench: MakeBench) -> None:
    async def remove(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Modify({"tool_calls": ()})

    heard: list[Event] = []
    named = Rules(observe=Observed((CallWritten.kind, ReplyEnded.kind)), inside=True)
    watcher = Mount(InsideHook("reader", hear=heard.append), named)
    steps = (asks_for("ls", text="Let me look."), says("done"))
    for hooks, expected in (([watcher], 3), ([watcher, hook("h", {Stage.AFTER_LLM: remove})], 0)):
        heard.clear()
        await bench(*steps, tools=[FunctionTool("ls")], hooks=hooks).play("go")
        kinds = [event.kind for event in heard]
        assert kinds.count(CallWritten.kind) == expected
        assert kinds[:expected] == [CallWritten.kind] * expected


# --- arguments ----------------------------------------------------------------------------------------------


def written(text: str, size: int) -> str:
    writing = Written(REDACTOR)
    return "".join(writing.take(text[at : at + size]) for at in range(0, len(text), size))


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.sampled_from([SECRET, f"my {SECRET} is", '{"a": "b"}']),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.sampled_from(["password", "api_key"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.booleans(), st.integers(1, 9))
def test_arguments_in_pieces_come_to_what_the_whole_without_secrets_is(
    arguments: dict[str, Any], ascii_only: bool, size: int
) -> None:
    text = json.dumps(arguments, ensure_ascii=ascii_only)
    assert json.loads(written(text, size)) == REDACTOR.value(arguments)


def test_arguments_are_told_before_their_strings_are_whole() -> None:
    writing = Written(REDACTOR)
    assert writing.take('{"path": "a.txt", "content": "one line\\n and half a wo') == (
        '{"path": "a.txt", "content": "one line\\n and half a '
    )
    assert writing.take("rd\\u00") == ""
    assert writing.take('e9", "n": 1') == 'wordé", "n": 1'


@pytest.mark.parametrize(
    ("begun", "expected"),
    [
        (f'{{"a": "{SECRET[:8]}', '{"a": "'),
        ('{"password": "abc def ghi jkl', '{"password": "'),
        ('{"password": ["x y", {"deep": "a b c', f'{{"password": ["{HIDDEN}", {{"deep": "'),
        ("{password: 'hunter", "{"),
        (f"{SECRET} ", ""),
        ('{"a": "\\x41', '{"a": "'),
        ("}" * 3 + f'"{SECRET}"', ""),
    ],
)  # fmt: skip
def test_nothing_is_told_that_may_be_a_secret_or_is_no_json(begun: str, expected: str) -> None:
    assert [written(begun, size) for size in (1, len(begun))] == [expected, expected]
