"""What a tool gives people in the answer's place, wherever hookgate dies before the call has its result."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from pathlib import Path

import pytest
import trio

from hookgate.loop.sessions.resume import MAY_HAVE_RUN
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.values import LLMReply, LLMRequest, ProposedCall, ToolCall, ToolResult
from hookgate.store.journal import open_journal
from hookgate.store.memory import MemoryJournal
from tests.loop.delivery.post import Post
from tests.loop.fuse import Fuse
from tests.loop.recording import Bench, FunctionTool

Open = Callable[[], AbstractAsyncContextManager[Journal]]
SHOWN = "the chart"


@pytest.fixture(params=["in memory", "in a file"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Open]:
    """Each call makes an empty one, which can be opened again as after the death of the gateway that had it."""
    files = (tmp_path / f"{number}.db" for number in count())

    def make() -> Open:
        memory, file = MemoryJournal(), next(files)

        @asynccontextmanager
        async def open_() -> AsyncGenerator[Journal]:
            if request.param == "in memory":
                memory.reopen()
                yield memory
            else:
                async with open_journal(file) as journal:
                    yield journal

        return open_

    return make


class Shower:
    """A model that has something shown, and says what it is told of it."""

    async def complete(self, request: LLMRequest, on_text: Callable[[str], None]) -> LLMReply:
        await trio.lowlevel.checkpoint()
        if request.messages[-1].role == "user":
            return LLMReply(request.model, "", (ProposedCall("c", "show", "{}"),))
        return LLMReply(request.model, "seen")


async def live(opened: Open, post: Post, tool: FunctionTool, dies_after: int | None = None) -> bool:
    """A gateway until all is done, or it dies right after so many calls of the journal; whether it has died. Only one
    that is to die is told something."""
    async with opened() as journal:
        process = trio.CancelScope()
        fuse = Fuse(journal, process.cancel)
        fuse.calls_left, fuse.after = dies_after, True
        with process:
            bench = Bench(tools=[tool], room=post, journal=fuse, providers={"p": Shower()})
            async with bench.opened():
                if dies_after is not None:
                    await bench.say("go")
                while await journal.books.where("") or await journal.posting.outgoing("test"):
                    await trio.sleep(0.002)
        return fuse.dead


@pytest.mark.parametrize("reads_only", [True, False])
async def test_it_is_shown_once(new_store: Callable[[], Open], reads_only: bool) -> None:
    async def show(_call: ToolCall) -> ToolResult:
        await trio.lowlevel.checkpoint()
        return ToolResult("here", for_user=SHOWN, response_handled=True)

    shown = 0
    for calls in count():
        opened, post, tool = new_store(), Post(), FunctionTool("show", show, reads_only)
        if not await live(opened, post, tool, calls):
            break
        await live(opened, post, tool)
        times = post.texts.count(SHOWN)
        told = any(MAY_HAVE_RUN in text for text in post.texts)
        # Before it was accepted nobody has said anything.
        assert times == (bool(tool.seen) and not told), (calls, post.there)
        assert reads_only or len(tool.seen) <= 1
        shown += times
    assert shown > 5
