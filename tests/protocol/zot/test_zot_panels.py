"""One panel is open at a time; what others say of theirs does not count."""

from __future__ import annotations

from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.zot.frames import Panel
from hookgate.protocol.zot.panels import Opened, Panels

TODO = Panel("todos", "Todos (0/1)", ("a",), "f")


def test_a_render_counts_only_for_the_open_panel_and_keeps_the_title() -> None:
    panels = Panels()
    assert panels.render("e", TODO) is None
    assert panels.open("e", TODO) is None
    assert panels.render("e", Panel("todos", "", ("b",))) == Opened("e", Panel("todos", "Todos (0/1)", ("b",)))
    assert panels.render("e", Panel("todos", "New")) == Opened("e", Panel("todos", "New"))
    assert panels.render("e", Panel("other")) is None
    assert panels.render("f", Panel("todos")) is None
    assert panels.current == Opened("e", Panel("todos", "New"))


def test_a_new_panel_displaces_another_ones_but_not_itself() -> None:
    panels = Panels()
    panels.open("e", TODO)
    assert panels.open("e", TODO) is None
    assert panels.open("f", Panel("x")) == Opened("e", TODO)
    assert panels.open("f", Panel("y")) == Opened("f", Panel("x"))
    assert panels.render("e", TODO) is None


def test_a_panel_that_is_opened_again_moves_to_the_chat_that_wants_it_and_stays_where_none_does() -> None:
    panels = Panels()
    kitchen, garden = Chat("rpc", "kitchen", sender="ann"), Chat("rpc", "garden")
    panels.open("e", TODO, kitchen)
    assert panels.open("e", TODO, replace(kitchen, sender="bob")) is None
    assert panels.open("e", TODO, garden) == Opened("e", TODO, replace(kitchen, sender="bob"))
    assert panels.open("e", Panel("todos", "New")) is None
    assert panels.current == panels.render("e", Panel("todos")) == Opened("e", Panel("todos", "New"), garden)


def test_only_its_owner_and_the_user_close_a_panel() -> None:
    panels = Panels()
    panels.open("e", TODO)
    assert not panels.close("e", "x")
    assert not panels.close("f", "todos")
    assert panels.close("e", "todos")
    assert not panels.close("e", "todos")
    assert panels.dismiss() is None
    panels.open("e", TODO)
    assert panels.dismiss() == Opened("e", TODO)
    assert panels.current is None
