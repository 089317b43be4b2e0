"""What extensions show beside the conversation of an embedded runtime: the events that RPC has for it."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from hookgate.embedding import Event, Events, ExtClearNotes, ExtNotify, Runtime, UserMessage
from hookgate.protocol.rpc.events import ExtPanel, ExtPanelClose
from tests.cli.program import none_left
from tests.embedding.conftest import Scripted
from tests.flow.zot.test_flow_zot_late import HASTY, gated, release
from tests.flow.zot.zot_rules import note, ruled, tool

DEADLINE_S = 60.0
CITY = {"name": "city", "arguments": {}, "id": "c1"}
PANEL = {"id": "map", "title": "Map", "lines": ["here"]}


@pytest.fixture(autouse=True)
def zot_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOT_HOME", str(tmp_path / "zot"))


async def told(events: Events) -> list[Event]:
    with trio.fail_after(DEADLINE_S):
        return [event async for event in events]


def shown(events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, ExtNotify | ExtClearNotes | ExtPanel | ExtPanelClose)]


async def test_one_that_comes_late_says_so_in_the_runtimes_own_stream(scripted: Scripted, tmp_path: Path) -> None:
    late = gated(ruled(tmp_path, "late", tool("city")))
    config = scripted({"when": "go", "text": "Gone."}, more=f"[zot]\n{HASTY}")
    async with Runtime(config, extensions=late) as runtime:
        assert shown(await told(runtime.prompt("go"))) == []
        await release(late)
        with trio.fail_after(DEADLINE_S):
            while not (notes := shown(await told(runtime.prompt("go")))):
                assert shown(await told(runtime.chat("room").prompt("go"))) == []
        (there,) = notes
        assert isinstance(there, ExtNotify)
        assert (there.extension, there.level) == ("late", "info")
        assert there.message.startswith("it is there now, after ")
        assert there.message.endswith(" s, with city")
    await none_left(tmp_path)


async def test_what_is_said_while_nothing_runs_comes_before_the_next_message(
    scripted: Scripted, tmp_path: Path
) -> None:
    frames = ({"type": "open_panel", "panel": {**PANEL, "lines": ["where"]}}, {"type": "open_panel", "panel": PANEL})
    early = ruled(tmp_path, "early", note("here I am"), {"type": "clear_notes"}, *frames)
    async with Runtime(scripted({"when": "go", "text": "Gone."}), extensions=early) as runtime:
        events = await told(runtime.prompt("go"))
        before = [ExtNotify("early", "info", "here I am"), ExtClearNotes("early")]
        assert events[:3] == [*before, ExtPanel("early", "map", "Map", ("here",), "")]
        assert isinstance(events[3], UserMessage)
        assert shown(await told(runtime.prompt("go"))) == []


async def test_what_is_said_at_work_comes_in_the_stream_of_that_chat(scripted: Scripted, tmp_path: Path) -> None:
    say = [
        {"type": "notify", "level": "warn", "message": "it rains"},
        {"type": "open_panel", "panel": PANEL},
        {"type": "panel_close", "panel_id": "map"},
        {"type": "submit", "text": "go on"},
        {"type": "tool_result", "id": "{id}", "content": [{"type": "text", "text": "fog"}]},
    ]
    folder = ruled(tmp_path, "rain", tool("city"), rules=[{"when": {"type": "tool_call"}, "say": say}])
    async with Runtime(scripted({"calls": [CITY]}, {"text": "Fog."}), extensions=folder) as runtime:
        room = runtime.chat("room")
        assert shown(await told(room.prompt("go"))) == [
            ExtNotify("rain", "warn", "it rains"),
            ExtPanel("rain", "map", "Map", ("here",), ""),
            ExtPanelClose("rain", "map"),
        ]
        assert room.state().message_count == 4
