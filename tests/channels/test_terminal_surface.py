"""What extensions show at the terminal, and how it stands to the stream and to an open prompt."""

from __future__ import annotations

import pytest

from hookgate.channels.terminal.channel import Terminal
from hookgate.channels.terminal.surface import MAX_SUBMITTED, TerminalSurface
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.zot.frames import Level, Panel

CHAT = Chat("cli", "terminal")
ROWS = Panel("p", "Rows", ("one",))


class Screen:
    """Everything written, and the live region, where there is one."""

    def __init__(self, *, live: bool = False, rendered: bool = False) -> None:
        self.live = self.shows = live
        self.text = self.region = ""
        self.terminal = Terminal(self, None, rendered=rendered)
        self.surface = TerminalSurface(self.terminal)

    def write(self, text: str) -> None:
        self.text += text

    def show(self, text: str) -> None:
        self.region = text

    def clear(self) -> None:
        self.text = ""


def test_a_note_ends_the_line_that_streams_and_names_its_extension_on_each_line() -> None:
    screen = Screen()
    screen.terminal.stream(CHAT, "half")
    screen.surface.note("ext", "info", "a\nb", None)
    assert screen.text == "half\n[ext] a\n[ext] b\n"


@pytest.mark.parametrize(("level", "colour"), [("info", 0), ("success", 32), ("warn", 33), ("error", 31)])
def test_how_grave_a_note_is_shows_in_the_colour_of_its_name_where_there_are_colours(
    level: Level, colour: int
) -> None:
    screen, plain = Screen(rendered=True), Screen()
    for it in (screen, plain):
        it.surface.note("ext", level, "a\nb", None)
    assert plain.text == "[ext] a\n[ext] b\n"
    name, end = (f"\x1b[{colour}m[ext]\x1b[39m", "\x1b[0m") if colour else ("[ext]", "")
    assert screen.text == f"{name} a{end}\n{name} b{end}\n"


def test_the_trace_waits_for_the_end_of_the_answer_that_streams() -> None:
    screen = Screen()
    screen.terminal.beside("first")
    screen.terminal.stream(CHAT, "Good mor")
    screen.terminal.beside("second")
    screen.terminal.stream(CHAT, "ning.\nAnd")
    screen.terminal.beside("third")
    screen.terminal.stream(CHAT, " more")
    screen.terminal.end_stream(CHAT)
    assert screen.text == "first\nGood morning.\nAnd more\nsecond\nthird\n"


def test_on_a_live_screen_only_finished_lines_are_written_and_the_rest_is_in_the_region() -> None:
    screen = Screen(live=True)
    screen.terminal.stream(CHAT, "Good mor")
    screen.surface.note("ext", "info", "done", None)
    assert (screen.text, screen.region) == ("[ext] done\n", "Good mor")
    screen.terminal.stream(CHAT, "ning.\nAnd")
    assert (screen.text, screen.region) == ("[ext] done\nGood morning.\n", "And")
    screen.terminal.end_stream(CHAT)
    assert (screen.text, screen.region) == ("[ext] done\nGood morning.\nAnd\n", "")


async def test_a_file_is_named_since_a_terminal_cannot_show_it() -> None:
    screen = Screen()
    media = ("data:text/csv;name=a%1b.csv;base64,YTtiCg==", f"media:audio/ogg:{'0' * 64}", "https://example.org/a")
    await screen.terminal.send(Outbound(CHAT, "Here:", media), "key")
    assert screen.text.splitlines() == [
        "Here:",
        "· attachment: a.csv (text/csv, 4 bytes), which a terminal cannot show",
        "· attachment: a file (audio/ogg), which a terminal cannot show",
        "· attachment: https://example.org/a",
    ]


def test_a_note_cannot_move_the_cursor() -> None:
    screen = Screen()
    screen.surface.note("ext", "info", "a\x1b[2Jb", None)
    assert "\x1b" not in screen.text


def test_a_panel_is_in_the_region_below_what_streams_and_says_where_the_keys_go() -> None:
    screen = Screen(live=True)
    screen.terminal.stream(CHAT, "half")
    screen.surface.panel("ext", ROWS, CHAT)
    assert screen.region == "half\n── Rows ──\n  one\n── Enter sends what is typed and goes there"
    with screen.surface.takes_keys():
        assert screen.region.endswith("── esc closes")
    assert screen.region.endswith("── Enter sends what is typed and goes there")
    screen.surface.panel_close("ext", "p")
    assert (screen.text, screen.region) == ("", "half")


def test_a_foreign_close_means_nothing() -> None:
    screen = Screen(live=True)
    screen.surface.panel("ext", ROWS, CHAT)
    screen.surface.panel_close("other", "p")
    screen.surface.panel_close("ext", "q")
    assert screen.surface.panel_open == ("ext", ROWS)


def test_where_nobody_sits_a_panel_is_text_and_the_same_one_is_not_written_twice() -> None:
    screen = Screen()
    screen.surface.panel("ext", ROWS, CHAT)
    screen.surface.panel("ext", ROWS, CHAT)
    screen.surface.insert("half a sentence")
    assert screen.text == "[ext] Rows\n[ext] one\nhalf a sentence\n"
    assert screen.surface.take_inserted() == ""


def test_submitted_messages_wait_in_order_and_too_many_are_dropped_aloud() -> None:
    screen = Screen()
    for number in range(MAX_SUBMITTED + 1):
        screen.surface.submit("ext", str(number), None)
    taken = [screen.surface.take_submitted() for _ in range(MAX_SUBMITTED + 1)]
    assert taken == [*((str(number), False) for number in range(MAX_SUBMITTED)), None]
    assert "[ext] a message of this extension was dropped: too many wait" in screen.text


def test_a_submitted_command_counts_as_typed() -> None:
    screen = Screen()
    screen.surface.submit_slash("ext", "/do it", None)
    screen.surface.submit("ext", "/do it", None)
    assert [screen.surface.take_submitted(), screen.surface.take_submitted()] == [("/do it", True), ("/do it", False)]


def test_inserted_text_is_taken_once() -> None:
    screen = Screen(live=True)
    screen.surface.insert("half")
    assert [screen.surface.take_inserted(), screen.surface.take_inserted()] == ["half", ""]
    assert screen.text == ""
