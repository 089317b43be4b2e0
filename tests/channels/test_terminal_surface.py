"""What extensions show at the terminal, and how it stands to the stream and to an open prompt."""

from __future__ import annotations

from hookgate.channels.panels import PanelView
from hookgate.channels.surface import MAX_SUBMITTED, TerminalSurface
from hookgate.channels.terminal import Terminal
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.zot.frames import Panel

CHAT = Chat("cli", "terminal")
ROWS = Panel("p", "Rows", ("one",))


class Screen:
    """Everything written; `prompt` is what stands open."""

    def __init__(self, *, person: bool = True) -> None:
        self.text = ""
        self.prompt: str | None = None
        self.terminal = Terminal(self._write, self._nobody, lambda: self.prompt)
        view = PanelView(self._write, lambda: (80, 24)) if person else None
        self.surface = TerminalSurface(self.terminal, view)

    def _write(self, text: str) -> None:
        self.text += text

    async def _nobody(self, _prompt: str) -> None:
        pass


def test_a_note_ends_the_line_that_streams_and_names_its_extension_on_each_line() -> None:
    screen = Screen()
    screen.terminal.stream(CHAT, "half")
    screen.surface.note("ext", "info", "a\nb", None)
    assert screen.text == "half\n[ext] a\n[ext] b\n"


def test_the_trace_waits_for_the_end_of_the_line_that_streams() -> None:
    screen = Screen()
    screen.terminal.beside("first")
    screen.terminal.stream(CHAT, "Good mor")
    screen.terminal.beside("second")
    screen.terminal.stream(CHAT, "ning.\nAnd")
    screen.terminal.beside("third")
    screen.terminal.stream(CHAT, " more")
    screen.terminal.end_stream(CHAT)
    assert screen.text == "first\nGood morning.\nsecond\nAnd more\nthird\n"


def test_a_note_stands_above_an_open_prompt() -> None:
    screen = Screen()
    screen.prompt = "> hel"
    screen.surface.note("ext", "info", "done", None)
    assert screen.text == "\r\x1b[K[ext] done\n> hel"


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


def test_a_panel_is_drawn_again_below_what_was_written_since() -> None:
    screen = Screen()
    screen.surface.panel("ext", ROWS, CHAT)
    screen.surface.note("ext", "info", "between", None)
    screen.surface.panel("ext", ROWS, CHAT)
    assert "\x1b" not in screen.text
    assert screen.text.count("Rows") == 2


def test_a_panel_is_drawn_above_an_open_prompt_and_over_itself() -> None:
    screen = Screen()
    screen.prompt = "> hel"
    screen.surface.panel("ext", ROWS, None)
    first, screen.text = screen.text, ""
    screen.surface.panel("ext", ROWS, None)
    assert first == "\r\x1b[K── Rows ──\n  one\n── Enter goes there\n> hel"
    assert screen.text == first.replace("──", "\x1b[3A\r\x1b[J──", 1)
    screen.surface.entered()
    screen.surface.panel_close("ext", "p")
    assert screen.text.endswith("\r\x1b[K> hel")


def test_a_closed_panel_is_gone_and_a_foreign_close_means_nothing() -> None:
    screen = Screen()
    screen.surface.panel("ext", ROWS, CHAT)
    screen.surface.panel_close("other", "p")
    screen.surface.panel_close("ext", "q")
    assert screen.surface.panel_open == ("ext", ROWS)
    screen.surface.panel_close("ext", "p")
    assert screen.surface.panel_open is None
    assert screen.text.endswith("\x1b[3A\r\x1b[J")


def test_where_nobody_sits_a_panel_is_text_and_the_same_one_is_not_written_twice() -> None:
    screen = Screen(person=False)
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
    screen = Screen()
    screen.surface.insert("half")
    assert [screen.surface.take_inserted(), screen.surface.take_inserted()] == ["half", ""]
    assert screen.text == ""
