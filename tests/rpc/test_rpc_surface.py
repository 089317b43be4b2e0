"""What extensions show while the client does not read: it is told later how things are by then."""

from __future__ import annotations

import trio
import trio.testing

from hookgate.protocol.chat import Chat
from hookgate.protocol.rpc.events import Event, ExtPanel, ExtPanelClose
from hookgate.protocol.zot.frames import Panel
from hookgate.rpc.surface import RpcSurface

DEADLINE_S = 20.0


async def test_a_panel_that_moved_meanwhile_is_closed_where_it_was() -> None:
    kitchen, garden = Chat("rpc", "kitchen"), Chat("rpc", "garden")
    told: list[tuple[Event, Chat | None]] = []
    room = trio.Event()
    full, moved = False, trio.Event()

    def tell(event: Event, chat: Chat | None) -> None:
        told.append((event, chat))
        if chat is garden:
            moved.set()

    surface = RpcSurface(tell, lambda: full)
    surface.panel("ext", Panel("p", "Rows"), kitchen)
    full = True
    surface.panel_close("ext", "p")
    surface.panel("ext", Panel("p", "Rows"), garden)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(surface.run, room.wait)
        await trio.testing.wait_all_tasks_blocked()
        look = ExtPanel("ext", "p", "Rows", (), "")
        assert told == [(look, kitchen)]
        full = False
        room.set()
        with trio.fail_after(DEADLINE_S):
            await moved.wait()
        nursery.cancel_scope.cancel()
    assert told == [(look, kitchen), (ExtPanelClose("ext", "p"), kitchen), (look, garden)]
