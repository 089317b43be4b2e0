"""Commands and words of extensions between the gateway and the chats, with doubles for both ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import trio

from hookgate.hooks.zot.roster import Command as Registered
from hookgate.loop.commands.invoking import Running
from hookgate.loop.commands.table import Command, Commands, Invocation, Outcome
from hookgate.loop.extensions.commands import ExtensionCommands
from hookgate.loop.extensions.surface import MAX_WAITING, Surfaces
from hookgate.loop.sessions.jobs import Prompt
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.journal.values import Accepted, Conversation
from hookgate.protocol.zot.answers import CommandAnswer
from hookgate.protocol.zot.frames import Panel
from tests.hooks.zot.extensions import Screen
from tests.loop.recording import CHAT, DEADLINE_S, OTHER, Bench, Room, says

DESK = Chat("desk", "terminal")
PANEL = Panel("p", "Rows", ("one",), "end")


@dataclass
class Source:
    """Commands that answer at once, or never when there is no answer."""

    answer: CommandAnswer | None = None
    commands: Sequence[Registered] = (Registered("Do", "does", "ext"), Registered("stop", "never", "ext"))
    asked: list[tuple[str, str, Chat | None]] = field(default_factory=list[tuple[str, str, "Chat | None"]])
    forgotten: list[str] = field(default_factory=list[str])
    asking: trio.Event = field(default_factory=trio.Event)

    async def command(self, name: str, args: str, chat: Chat | None) -> CommandAnswer:
        self.asked.append((name, args, chat))
        self.asking.set()
        await trio.lowlevel.checkpoint()
        while self.answer is None:
            await trio.sleep_forever()
        return self.answer

    def forget_session(self, session: str) -> None:
        self.forgotten.append(session)


class Desk(Screen):
    """An operator's surface with an editor."""

    def insert(self, text: str) -> None:
        self.shown.append(("insert", text))


@dataclass
class House:
    """A desk with a surface of its own, and a room that takes messages alone."""

    surfaces: Surfaces
    desk: Desk
    room: Room
    submitted: list[Inbound]
    typed: list[Inbound]

    async def settle(self) -> list[str]:
        await self.surfaces.settled(CHAT)
        return [outbound.text for outbound in self.room.sent]


@asynccontextmanager
async def open_house() -> AsyncGenerator[House]:
    desk, room, submitted, typed = Desk(), Room([]), list[Inbound](), list[Inbound]()
    surfaces = Surfaces(("desk", "test"), {"desk": desk}, lambda text: text.replace("secret", "<mark>"))

    class Inbox:
        async def say(self, outbound: Outbound) -> None:
            await room.send(outbound, "")

        async def submit(self, inbound: Inbound) -> Accepted:
            await trio.lowlevel.checkpoint()
            submitted.append(inbound)
            return Accepted("M1", Conversation("", ""))

        async def receive(self, inbound: Inbound) -> Accepted:
            await trio.lowlevel.checkpoint()
            typed.append(inbound)
            return Accepted("M2", Conversation("", ""))

    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(surfaces.run, Inbox())
            yield House(surfaces, desk, room, submitted, typed)
            nursery.cancel_scope.cancel()


# --- where words go -----------------------------------------------------------------------------------------


async def test_words_reach_the_chat_they_concern_and_operators_where_they_concern_none() -> None:
    async with open_house() as house:
        for chat, text in (
            (CHAT, "to a chat"),
            (DESK, "to the desk"),
            (None, "to nobody"),
            (Chat("gone", "1"), "lost"),
        ):
            house.surfaces.note("ext", "info", text, chat)
        assert await house.settle() == ["[ext] to a chat"]
        assert house.room.sent[0] == Outbound(CHAT, "[ext] to a chat", kind="notice")
        assert house.desk.shown == [
            ("note", "ext", "info", "to the desk", DESK),
            ("note", "ext", "info", "to nobody", None),
        ]


async def test_all_that_is_shown_is_redacted() -> None:
    async with open_house() as house:
        house.surfaces.note("ext", "info", "secret", CHAT)
        house.surfaces.panel("ext", Panel("p", "secret", ("secret",), "secret"), CHAT)
        await house.surfaces.say(CHAT, "secret")
        assert "secret" not in "".join(await house.settle())


async def test_in_a_message_are_no_colours_and_what_is_redacted_is_what_is_left() -> None:
    text, read = "\x1b[31mred\x1b[0m\x1b[2J and \x1b]0;title\x07se\x1b[1mcret", "[ext] red and <mark>"
    async with open_house() as house:
        house.surfaces.note("ext", "info", text, CHAT)
        house.surfaces.panel("ext", Panel("p", "", (text,)), CHAT)
        await house.surfaces.display("ext", text, CHAT)
        await house.surfaces.insert("ext", text, CHAT)
        assert await house.settle() == [read] * 4
        house.surfaces.note("ext", "info", "\x1b[31mred", DESK)
        assert house.desk.shown == [("note", "ext", "info", "\x1b[31mred", DESK)]


async def test_a_panel_is_a_message_where_it_cannot_be_drawn_as_often_as_it_looks_different() -> None:
    other = Panel("p", "Rows", ("two",), "end")
    async with open_house() as house:
        for panel in (PANEL, PANEL, other):
            house.surfaces.panel("ext", panel, CHAT)
        assert await house.settle() == ["[ext] Rows\n[ext] one\n[ext] end", "[ext] Rows\n[ext] two\n[ext] end"]
        assert house.desk.shown == []
        house.surfaces.panel_close("ext", "p")
        house.surfaces.panel("ext", other, DESK)
        assert house.desk.shown == [("panel_close", "ext", "p"), ("panel", "ext", other, DESK)]
        house.surfaces.panel_close("ext", "p")
        house.surfaces.panel("ext", PANEL, None)
        assert house.desk.shown[-1] == ("panel", "ext", PANEL, None)


async def test_a_submitted_text_is_a_message_of_its_chat_and_the_desks_own_business() -> None:
    async with open_house() as house:
        for chat in (CHAT, DESK, None):
            house.surfaces.submit("ext", "/new", chat)
        await house.settle()
        assert house.submitted == [Inbound(CHAT, "/new")]
        assert house.desk.shown == [("submit", "ext", "/new", DESK), ("submit", "ext", "/new", None)]


async def test_a_submitted_command_comes_in_as_one_that_a_person_types() -> None:
    async with open_house() as house:
        for chat in (CHAT, DESK, None):
            house.surfaces.submit_slash("ext", "/do it", chat)
        await house.settle()
        assert (house.typed, house.submitted) == ([Inbound(CHAT, "/do it", mentioned=True)], [])
        shown = [("submit_slash", "ext", "/do it", DESK), ("submit_slash", "ext", "/do it", None)]
        assert house.desk.shown == shown


async def test_a_chat_that_cannot_be_reached_loses_its_note_and_nothing_else() -> None:
    async with open_house() as house:
        house.room.broken = {"notice"}
        house.surfaces.note("ext", "info", "lost", CHAT)
        await house.surfaces.say(CHAT, "comes", "output")
        assert await house.settle() == ["comes"]


async def test_a_flood_of_notes_is_cut_and_nobody_waits() -> None:
    async with open_house() as house:
        for number in range(3 * MAX_WAITING):
            house.surfaces.note("ext", "info", str(number), CHAT)
        assert len(await house.settle()) in (MAX_WAITING, MAX_WAITING + 1)


# --- commands -----------------------------------------------------------------------------------------------


def table(source: Source, surfaces: Surfaces | None = None, **more: Any) -> Commands:
    """Those of extensions, and one of hookgate's own."""
    brought = ExtensionCommands(source, surfaces or Surfaces((), {}), **more)
    return Commands((Command("halt", "end it", not_run, aliases=("Quit",)),), brought)


async def not_run(_invocation: Invocation) -> str:
    raise AssertionError("nobody invokes it")


def read(commands: Commands, text: str, chat: Chat = CHAT) -> tuple[str, str] | None:
    found = commands.read(Inbound(chat, text))
    return None if found is None else (found.command.name, found.args)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/do", ("Do", "")),
        ("  /DO  a  b ", ("Do", "a  b")),
        ("/do\nnext line", ("Do", "next line")),
        ("do", None),
        ("/", None),
        ("/ do", None),
        ("/dot", None),
        ("/stop", None),
        ("", None),
        (" /HALT ", ("halt", "")),
        ("/quit", ("halt", "")),
        ("/halt now", None),
    ],
)
async def test_which_texts_are_commands(text: str, expected: tuple[str, str] | None) -> None:
    assert read(table(Source()), text) == expected


async def test_a_chat_that_an_extension_does_not_cover_has_none_of_its_commands() -> None:
    commands = table(Source(), covers=lambda _extension, chat: chat == CHAT)
    assert [it.name for it in commands.listed(CHAT)] == ["halt", "Do"]
    assert [it.name for it in commands.listed(OTHER)] == ["halt"]
    assert read(commands, "/do", OTHER) is None


async def test_of_two_rows_with_one_name_the_later_counts_and_an_own_one_before_an_extensions() -> None:
    commands = table(Source())
    commands.add((Command("halt", "later", not_run), Command("do", "own", not_run, may=lambda chat: chat == CHAT)))
    assert [it.row for it in commands.listed(CHAT)] == [("/halt", "later"), ("/do", "own")]
    assert [it.row for it in commands.listed(OTHER)] == [("/halt", "later"), ("/Do", "does (ext)")]


async def invoked(house: House, answer: CommandAnswer, chat: Chat = CHAT) -> tuple[Outcome, list[str]]:
    invocation = given(table(Source(answer), house.surfaces), chat)
    outcome = await invocation.command.run(invocation)
    return outcome, [f"{it.kind} {it.text}" for it in house.room.sent]


def given(commands: Commands, chat: Chat) -> Invocation:
    invocation = commands.read(Inbound(chat, "/do it", message_id="7"))
    assert invocation is not None
    assert invocation.command.beside
    return invocation


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (CommandAnswer("display", "a\nb"), ["output [ext] a\n[ext] b"]),
        (CommandAnswer("insert", "half"), ["notice [ext] half"]),
        (CommandAnswer("error", "extension /Do: no"), ["error extension /Do: no"]),
        (CommandAnswer("noop"), []),
        (CommandAnswer("open_panel", panel=PANEL), []),
    ],
)
async def test_what_an_answer_does_in_a_chat(answer: CommandAnswer, expected: list[str]) -> None:
    async with open_house() as house:
        assert await invoked(house, answer) == ("", expected)


async def test_a_prompt_is_the_message_that_was_typed_with_another_text() -> None:
    async with open_house() as house:
        prompt, shown = await invoked(house, CommandAnswer("prompt", "Greet Bob"))
        assert prompt == Prompt(Inbound(CHAT, "Greet Bob", message_id="7"))
        assert shown == []


async def test_inserted_text_goes_to_the_editor_where_there_is_one() -> None:
    async with open_house() as house:
        await invoked(house, CommandAnswer("insert", "half"), DESK)
        assert house.desk.shown == [("insert", "half")]


async def test_a_silent_command_keeps_its_conversation_busy_until_it_is_stopped() -> None:
    async with open_house() as house:
        source, running = Source(), Running()
        invocation = given(table(source, house.surfaces), CHAT)
        running.begin(invocation)
        done = trio.Event()

        async def wait() -> None:
            await running.idle(CHAT.session_key)
            done.set()

        async def work() -> None:
            assert await invocation.command.run(invocation) == ""
            running.end(invocation)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            nursery.start_soon(wait)
            await source.asking.wait()
            assert not running.stop(OTHER.session_key)
            assert not done.is_set()
            assert running.stop(CHAT.session_key)
            assert not running.stop(CHAT.session_key)
        assert await house.settle() == ["Stopped."]
        await running.idle(CHAT.session_key)


async def test_a_conversation_that_begins_anew_is_forgotten() -> None:
    source = Source()
    table(source).forget(CHAT.session_key)
    assert source.forgotten == [CHAT.session_key]


async def test_help_in_a_chat_lists_what_works_there(bench: Callable[..., Bench]) -> None:
    one = bench()
    one.gateway.commands.add((Command("mine", "only here", not_run, may=lambda chat: chat == CHAT),))
    async with one.opened():
        await one.say("/HELP")
        await one.say("/help", OTHER)
    usual = "/stop: end what runs here\n/new: start a new conversation\n"
    assert [it.kind for it in one.room.sent] == ["output", "output"]
    assert one.lines[0].startswith(usual)
    assert one.lines[0] == f"{one.lines[1]}\n/mine: only here"
    assert "\n/deny ID [REASON]: keep a call from running\n" in one.lines[0]


async def test_a_command_with_words_behind_it_that_takes_none_is_a_message(bench: Callable[..., Bench]) -> None:
    one = bench(says("fine"))
    assert await one.play("/new plan") == ["fine"]
    assert one.messages()[0].content == "/new plan"


async def test_what_looks_like_a_command_and_is_none_costs_no_model_call(bench: Callable[..., Bench]) -> None:
    messages = ("/etc/passwd is wrong", "/ hello", "//do", "/start", "/do.it")
    one = bench(*[says("fine")] * (len(messages) + 1))
    answers = await one.play("/aprove 5f1d", "/Frob", *messages)
    assert answers == [
        "There is no command /aprove here. Did you mean /approve? /help lists what there is.",
        "There is no command /Frob here. /help lists what there is.",
        *["fine"] * len(messages),
    ]
    assert "frob" not in " ".join(it.content for it in one.messages()).lower()
    assert await one.gateway.journal.intake.unfinished("command") == ()
