"""Extensions in a gateway whose chats show text alone: the gate round their tools, and where their words go."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate import config as configuration
from hookgate.assembly.app import open_runtime
from hookgate.assembly.logs.sinks import EVERYTHING, observer
from hookgate.assembly.settings import ExtensionFlags, Ports, Settings
from hookgate.hooks.rules import Mount
from hookgate.protocol.chat import Inbound, Outbound
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import HookFailed
from hookgate.protocol.hook.answers import CONTINUE, Answer, Approve
from hookgate.protocol.hook.stages import Question, Stage
from tests.cli.program import none_left
from tests.cli.zot.zot_folders import extension, panel_extension, tool
from tests.flow.gateway import DEADLINE_S, HEAD, Flow
from tests.loop.recording import CHAT, OTHER, Room, hook
from tests.model_server import Answer as Said
from tests.model_server import calls, open_model_server, says

NOTE = {"type": "notify", "level": "info", "message": "one\ntwo"}
DISPLAY = {"action": "display", "display": "shown"}


class Told(Room):
    """A room that says when something was sent."""

    def __init__(self) -> None:
        super().__init__([])
        self._news = trio.Event()

    async def send(self, outbound: Outbound, key: str) -> str:
        receipt = await super().send(outbound, key)
        self._news.set()
        return receipt

    async def hears(self, text: str) -> None:
        while text not in [it.text for it in self.sent]:
            self._news = trio.Event()
            await self._news.wait()


async def heard(flow: Flow, text: str) -> None:
    """Until this was sent."""
    assert isinstance(flow.room, Told)
    await flow.room.hears(text)


@asynccontextmanager
async def open_gateway(
    folder: Path, named: Sequence[Path], *answers: Said, config: str = "", inside: Sequence[Mount] = ()
) -> AsyncGenerator[Flow]:
    """These extensions and no others; in the end every call must be accounted for and no process left."""
    with trio.fail_after(DEADLINE_S):
        async with open_model_server(*answers) as server:
            text = HEAD.format(folder=folder, url=server.base_url) + config
            room, events = Told(), list[Event]()
            parsed = configuration.parse(text, folder / "hookgate.toml")
            watcher = observer("watcher", EVERYTHING, events.append)
            flags = ExtensionFlags(tuple(named), search=False)
            settings = Settings(parsed, folder, extensions=flags)
            async with open_runtime(settings, Ports((room,), inside=(watcher, *inside))) as runtime:
                yield Flow(runtime, room, server, events)
            assert runtime.agent.tally.balanced, runtime.agent.tally
    await none_left(folder)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs of extensions go where the test is."""
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "zot"))


def asks(name: str, **arguments: Any) -> Said:
    return calls(("1", name, json.dumps(arguments)))


def do(**wish: Any) -> str:
    return f"/do {json.dumps(wish)}"


# --- the gate -----------------------------------------------------------------------------------------------


async def test_a_tool_of_an_extension_passes_every_stage_and_runs_once(tmp_path: Path) -> None:
    asked: list[str] = []

    async def record(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        asked.append(f"{question.stage} {question.tool}")
        return Approve() if question.stage is Stage.APPROVE_TOOL else CONTINUE

    stages = (Stage.BEFORE_TOOL, Stage.APPROVE_TOOL, Stage.AFTER_TOOL)
    recorder = hook("recorder", dict.fromkeys(stages, record))
    ext = extension(tmp_path, "ext")
    async with open_gateway(tmp_path, [ext], asks("do", do="received"), says("Done."), inside=[recorder]) as flow:
        await flow.say("go")
        tally = flow.runtime.agent.tally
        assert (tally.calls, tally.allowed, tally.executed) == (1, 1, 1)
        assert [it["type"] for it in json.loads(flow.results()[0])].count("tool_call") == 1
    assert asked == [f"{stage} do" for stage in stages]


async def test_a_denied_call_never_reaches_the_extension(tmp_path: Path) -> None:
    ext = extension(tmp_path, "ext", {"type": "subscribe", "intercept": ["tool_call"]})
    blocked = {"do": "received", "answer": {"block": True, "reason": "not this one"}}
    async with open_gateway(tmp_path, [ext], asks("do", **blocked), asks("do"), says("Done.")) as flow:
        await flow.say("go")
        tally = flow.runtime.agent.tally
        assert (tally.calls, tally.denied, tally.executed) == (2, 1, 1)
        assert flow.results()[0] == "not this one"
        assert "tool_call" not in [it["type"] for it in json.loads(flow.results()[1])][:-1]


async def test_tools_go_when_the_extension_dies_and_return_after_its_restart(tmp_path: Path) -> None:
    quick = "[hooks.defaults]\nrestart_first_ms = 1\n"
    ext = extension(tmp_path, "ext")
    answers = (
        asks("do", do="exit"),
        says("It died."),
        asks("do", do="blocks", blocks=[text("back")]),
        says("It is back."),
    )
    async with open_gateway(tmp_path, [ext], *answers, config=quick) as flow:
        back, gone = trio.Event(), trio.Event()

        def watch(change: Any) -> None:
            gone.set() if "do" in change.removed else None
            back.set() if "do" in change.added else None

        flow.runtime.agent.registry.listen(watch)
        await flow.say("first")
        assert flow.results() == ["extension ext/do failed: extension ext disconnected"]
        await gone.wait()
        await back.wait()
        await flow.say("second")
        assert flow.results()[1] == "back"


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


async def test_a_late_tool_is_callable_at_the_next_model_call(tmp_path: Path) -> None:
    ext = extension(tmp_path, "ext")
    late = asks("do", do="say", frames=[tool("late")])
    async with open_gateway(
        tmp_path, [ext], late, asks("late", do="blocks", blocks=[text("in time")]), says("Ok.")
    ) as flow:
        await flow.say("go")
        assert flow.results()[1] == "in time"


@pytest.mark.parametrize(
    ("section", "executed"),
    [
        ("", 1),
        ("[zot]\nfail_closed = true\n", 0),
        ("[zot]\nfail_closed = true\n[zot.extensions.ext]\nfail_closed = false\n", 1),
        ("[zot.extensions.ext]\nfail_closed = true\n", 0),
    ],
)
async def test_a_silent_interceptor_lets_a_call_pass_unless_it_fails_closed(
    tmp_path: Path, section: str, executed: int
) -> None:
    ext = extension(tmp_path, "ext", {"type": "subscribe", "intercept": ["tool_call"]})
    soon = "[zot.extensions.ext]\ntimeout_ms = 50\n"
    config = section.replace("[zot.extensions.ext]\n", soon) if "[zot.ext" in section else section + soon
    async with open_gateway(tmp_path, [ext], asks("do", answer="silent"), says("Done."), config=config) as flow:
        await flow.say("go")
        assert flow.runtime.agent.tally.executed == executed
        [failure] = flow.named("hook_failed")
        assert isinstance(failure.payload, HookFailed)
        assert failure.payload.reason == "no answer within 50 ms"


async def test_a_mute_extension_delays_no_start_past_its_deadline_and_the_others_work(tmp_path: Path) -> None:
    named = [extension(tmp_path, "mute", mode="mute"), extension(tmp_path, "ext")]
    config = "[zot]\nhello_timeout_ms = 1500\n"
    async with open_gateway(tmp_path, named, config=config) as flow:
        assert flow.runtime.extensions is not None
        [problem] = flow.runtime.extensions.problems(flow.runtime.mounts)
        assert problem.startswith(f"extension load: {named[0]}: ")
        assert flow.runtime.extensions.loaded(flow.runtime.mounts) == ("ext",)
        assert await flow.say("/do") == ["[ext] Do"]


EVENTS = [
    "session_start",
    "turn_start",
    "assistant_message",
    "tool_call",
    "turn_end",
    "user_prompt_submit",
    "tool_result",
]


async def test_events_come_in_order_each_with_its_session(tmp_path: Path) -> None:
    ext = extension(tmp_path, "ext", {"type": "subscribe", "events": EVENTS})
    wanted = (calls(("1", "do", '{"do": "image"}'), ("2", "nope", "{}")), says("Done."), asks("do", do="received"))
    async with open_gateway(tmp_path, [ext], *wanted) as flow:
        await flow.say("first")
        await flow.say("second")
        heard = [it for it in json.loads(flow.results()[-1]) if it["type"] == "event"]
    assert [it["event"] for it in heard] == [
        *("session_start", "user_prompt_submit", "turn_start", "tool_call", "tool_call", "turn_end"),
        *("tool_result", "tool_result", "turn_start", "assistant_message", "turn_end"),
        *("user_prompt_submit", "turn_start", "tool_call", "turn_end"),
    ]
    assert {it["session_id"] for it in heard} == {CHAT.session_key}
    assert [it["stop"] for it in heard if it["event"] == "turn_end"] == ["tool_use", "end", "tool_use"]


# --- which chats --------------------------------------------------------------------------------------------


async def test_match_says_which_chats_have_the_tools_and_the_commands(tmp_path: Path) -> None:
    ext = extension(tmp_path, "ext")
    section = '[zot.extensions.ext]\nmatch = { chats = ["1"] }\n'
    async with open_gateway(tmp_path, [ext], says("a"), asks("do"), says("b"), says("c"), config=section) as flow:
        gateway = flow.runtime.gateway
        await flow.say("hello")
        for said in ("hello", "/do"):
            await gateway.receive(Inbound(OTHER, said))
            await gateway.idle(OTHER.session_key)
        offered = [{it["function"]["name"] for it in r.body.get("tools", ())} for r in flow.server.requests]
        # There `/do` is a word that is no command, which no model is asked about.
        assert ["do" in names for names in offered] == [True, False, False]
        results = [m.content for m in gateway.sessions[OTHER.session_key].transcript.messages if m.role == "tool"]
        assert len(results) == 1
        assert "not_found" in results[0]
        assert await flow.say("/do x") == ["[ext] Do x"]


# --- where words go -----------------------------------------------------------------------------------------


async def test_a_note_goes_to_the_chat_whose_command_runs_and_the_display_comes_after_it(tmp_path: Path) -> None:
    async with open_gateway(tmp_path, [extension(tmp_path, "ext")]) as flow:
        assert await flow.say(do(frames=[NOTE], answer=DISPLAY)) == ["[ext] one\n[ext] two", "[ext] shown"]
        assert {it.chat for it in flow.room.sent} == {CHAT}
        assert [it.kind for it in flow.room.sent] == ["notice", "output"]
        assert flow.server.requests == []
        assert flow.runtime.gateway.sessions == {}


async def test_a_note_goes_to_the_chat_whose_tool_runs(tmp_path: Path) -> None:
    ext = extension(tmp_path, "ext")
    async with open_gateway(tmp_path, [ext], asks("do", do="say", frames=[NOTE]), says("Done.")) as flow:
        await flow.runtime.gateway.receive(Inbound(OTHER, "go"))
        await heard(flow, "[ext] one\n[ext] two")
        await flow.runtime.gateway.idle(OTHER.session_key)
        assert {it.chat for it in flow.room.sent} == {OTHER}


async def test_a_note_without_a_call_reaches_no_chat(tmp_path: Path) -> None:
    """It comes at the start; the command's answer shows that it has been read."""
    async with open_gateway(tmp_path, [extension(tmp_path, "ext", NOTE)]) as flow:
        assert await flow.say("/do") == ["[ext] Do"]


async def test_a_submitted_text_becomes_a_message_of_the_chat_even_if_it_looks_like_a_command(tmp_path: Path) -> None:
    frames = [{"type": "submit", "text": "/new"}]
    async with open_gateway(tmp_path, [extension(tmp_path, "ext")], says("Heard.")) as flow:
        await flow.say(do(frames=frames, answer={"action": "noop"}))
        await heard(flow, "Heard.")
        assert [message.content for message in flow.messages] == ["/new", "Heard."]


async def test_a_prompt_keeps_its_sender_and_waits_its_turn(tmp_path: Path) -> None:
    answer = {"action": "prompt", "prompt": "Greet Bob"}
    async with open_gateway(tmp_path, [extension(tmp_path, "ext")], says("Hi Bob.")) as flow:
        assert await flow.say(do(answer=answer)) == ["Hi Bob."]
        assert flow.messages[0].content == "Greet Bob"


async def test_what_cannot_be_drawn_or_edited_is_shown_as_text(tmp_path: Path) -> None:
    named = [panel_extension(tmp_path), extension(tmp_path, "ext")]
    async with open_gateway(tmp_path, named) as flow:
        lines = ("Rows", "* row 0", "  row 1", "  row 2", "last none", "closes with x")
        assert await flow.say("/rows") == ["\n".join(f"[panel] {line}" for line in lines)]
        assert await flow.say(do(answer={"action": "insert", "insert": "half"})) == ["[ext] half"]


async def test_a_failing_command_says_why_and_stop_ends_a_silent_one(tmp_path: Path) -> None:
    async with open_gateway(tmp_path, [panel_extension(tmp_path), extension(tmp_path, "ext")]) as flow:
        assert await flow.say(do(answer={"error": "usage"})) == ["extension /Do: usage"]
        await flow.runtime.gateway.receive(Inbound(CHAT, "/hang"))
        await heard(flow, "[panel] thinking")
        assert await flow.say("/stop") == ["Stopped."]


async def test_what_an_extension_shows_is_redacted(tmp_path: Path) -> None:
    secret = "sk-abcdefghijklmnop0123456789"
    async with open_gateway(tmp_path, [extension(tmp_path, "ext")]) as flow:
        note = {**NOTE, "message": f"key {secret}"}
        shown = await flow.say(do(frames=[note], answer={**DISPLAY, "display": secret}))
        assert len(shown) == 2
        assert secret not in "".join(shown)


async def test_a_new_conversation_asks_for_the_system_prompt_again(tmp_path: Path) -> None:
    more = {"before_agent_start": {"system_prompt": "be brief"}}
    ext = extension(tmp_path, "ext", mode="story")
    manifest = json.loads((ext / "extension.json").read_text())
    manifest["args"][2] = json.dumps(more)
    (ext / "extension.json").write_text(json.dumps(manifest))
    wanted = (says("a"), says("b"), says("c"), asks("do"), says("d"))
    async with open_gateway(tmp_path, [ext], *wanted) as flow:
        for said in ("one", "two", "/new", "three", "four"):
            await flow.say(said)
        assert {it.body["messages"][0]["content"] for it in flow.server.requests} == {"be brief"}
        received = json.loads(flow.results()[0])
        assert [it["event"] for it in received if it["type"] == "event_intercept"] == ["before_agent_start"] * 2
