"""The workspace lease: who waits for whom, and that nobody who gives up keeps it."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from hookgate.protocol.values import Access
from hookgate.tools.errors import ToolError
from hookgate.tools.lease import Lease

DEADLINE_S = 10.0


class Stage:
    """Calls that hold the lease until they are told to go; `log` has who came in and out, in order."""

    def __init__(self, patience_s: float = DEADLINE_S) -> None:
        self.lease = Lease(patience_s)
        self.log: list[str] = []
        self.go: dict[str, trio.Event] = {}

    async def call(
        self, name: str, access: Access, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        self.go[name] = trio.Event()
        task_status.started()
        async with self.lease.held(access, name):
            self.log.append(f"+{name}")
            await self.go[name].wait()
            self.log.append(f"-{name}")


async def settled() -> None:
    await trio.testing.wait_all_tasks_blocked()


async def test_readers_share_and_a_waiting_writer_lets_no_later_reader_pass() -> None:
    stage = Stage()
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            for name, access in (("r1", "read"), ("r2", "read"), ("w", "write"), ("r3", "read")):
                await nursery.start(stage.call, name, access)
                await settled()
            assert stage.log == ["+r1", "+r2"]
            for name in ("r1", "r2", "w", "r3"):
                stage.go[name].set()
                await settled()
    assert stage.log == ["+r1", "+r2", "-r1", "-r2", "+w", "-w", "+r3", "-r3"]


async def test_a_call_that_waits_too_long_is_told_who_has_it() -> None:
    stage = Stage(patience_s=0.05)
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(stage.call, "bash", "write")
            await settled()
            with pytest.raises(ToolError, match="in use by bash") as caught:
                async with stage.lease.held("read", "ls"):
                    pass
            stage.go["bash"].set()
    assert caught.value.kind == "transient"


async def test_a_cancelled_writer_lets_the_readers_behind_it_in() -> None:
    stage, doomed = Stage(), trio.CancelScope()
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(stage.call, "r1", "read")
            await settled()
            nursery.start_soon(within, doomed, stage, "w")
            await settled()
            await nursery.start(stage.call, "r2", "read")
            await settled()
            doomed.cancel()
            await settled()
            assert stage.log == ["+r1", "+r2"]
            stage.go["r1"].set()
            stage.go["r2"].set()


async def test_a_call_that_is_admitted_and_cancelled_at_once_gives_the_lease_back() -> None:
    stage, doomed = Stage(), trio.CancelScope()
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(stage.call, "w1", "write")
            await settled()
            nursery.start_soon(within, doomed, stage, "w2")
            await settled()
            doomed.cancel()
            stage.go["w1"].set()
            await settled()
            async with stage.lease.held("write", "w3"):
                stage.log.append("+w3")
    assert stage.log == ["+w1", "-w1", "+w3"]


async def within(scope: trio.CancelScope, stage: Stage, name: str) -> None:
    with scope:
        await stage.call(name, "write")


async def test_what_needs_no_workspace_waits_for_nobody() -> None:
    stage = Stage()
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(stage.call, "w", "write")
            await settled()
            async with stage.lease.held("none", "web_fetch"):
                stage.go["w"].set()
