"""How rows are laid out for reading."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from hookgate.cli.printing import aligned
from hookgate.cli.terminal.commands.help import help_text
from hookgate.cli.terminal.commands.own import TerminalCommands
from hookgate.cli.terminal.talk import CHAT
from hookgate.loop.commands.table import RESERVED, Command, Invocation
from hookgate.loop.gateway import Gateway
from hookgate.loop.slots import Shared
from hookgate.protocol.chat import Chat
from hookgate.store.memory import MemoryJournal

ROWS = [
    ("a", "x", "short"),
    ("longer-name", "y", "one two three four five six"),
    ("n" * 40, "z", "moves its own row"),
]


def test_columns_are_as_wide_as_their_longest_cell_and_an_endless_one_moves_its_own_row_alone() -> None:
    assert aligned(ROWS) == [
        "  a            x  short",
        "  longer-name  y  one two three four five six",
        f"  {'n' * 40}  z  moves its own row",
    ]
    assert aligned([]) == []


def test_what_is_too_long_for_the_terminal_goes_on_below_itself() -> None:
    assert aligned(ROWS[:2], 40) == [
        "  a            x  short",
        "  longer-name  y  one two three four",
        "                  five six",
    ]
    # Where its columns leave no room, further to the left.
    assert aligned(ROWS[1:2], 20) == ["  longer-name  y", "    one two three", "    four five six"]


def test_what_stands_before_a_column_and_leaves_it_no_room_has_a_row_of_its_own() -> None:
    assert aligned([("a", "short"), ("n" * 32, "moves itself")], 42) == [
        "  a  short",
        f"  {'n' * 32}",
        "     moves itself",
    ]


async def nothing(_invocation: Invocation) -> str:
    raise AssertionError("nobody invokes it")


class Extension:
    def rows(self) -> Iterable[Command]:
        return (Command("mine", "does it", nothing, extension="ext"), Command("Quit", "no", nothing, extension="ext"))

    def forget(self, session: str) -> None:
        raise AssertionError(session)


def test_the_help_names_what_a_terminal_takes() -> None:
    unused: Any = None
    gateway = Gateway(unused, {}, Shared(MemoryJournal()), Extension())
    runtime: Any = SimpleNamespace(gateway=gateway)
    gateway.commands.add(TerminalCommands(runtime, unused, None, unused, unused).rows())
    lines = help_text(gateway.commands, CHAT, keys=False).splitlines()
    assert "  /mine              does it (ext)" in lines
    own = {name for it in gateway.commands.listed(CHAT) if not it.extension for name in it.names}
    # Nobody is let in at a terminal.
    assert own == RESERVED - {"pair"}
    named = {line.split()[0].removeprefix("/") for line in lines[2:]}
    assert named == {*(own - {"exit"}), "mine", "/TEXT"}
    assert "Lines are read one by one" in lines[1]
    assert "waits for its end" in help_text(gateway.commands, CHAT, keys=True)
    assert "Ctrl-R" not in "".join(lines)
    assert "Ctrl-R" in help_text(gateway.commands, CHAT, keys=True)


def test_what_a_terminal_alone_can_do_is_no_command_elsewhere() -> None:
    unused: Any = None
    gateway = Gateway(unused, {}, Shared(MemoryJournal()))
    runtime: Any = SimpleNamespace(gateway=gateway)
    gateway.commands.add(TerminalCommands(runtime, unused, None, unused, unused).rows())
    assert gateway.commands.named("exit", CHAT) is not None
    assert gateway.commands.named("exit", Chat("telegram", "1")) is None
    everywhere = {"stop", "new", "compact", "help", "approve", "deny", "pending", "grants", "revoke", "whoami"}
    assert {it.name for it in gateway.commands.listed(Chat("telegram", "1"))} == everywhere
