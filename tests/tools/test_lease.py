"""The workspace lease: who waits for whom, who hears of whom, and that nobody who gives up keeps it."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from hookgate.protocol.values import Access
from hookgate.tools.errors import ToolError
from hookgate.tools.lease import Held, Lease

DEADLINE_S = 10.0


class Stage:
    """Calls that hold the lease until they are told to go; `log` has who came in and out, in order."""

    def __init__(self, patience_s: float = DEADLINE_S) -> None:
        self.lease = Lease(patience_s)
        self.log: list[str] = []
        self.go: dict[str, trio.Event] = {}
        self.calls: dict[str, Held] = {}

    async def call(
        self, name: str, access: Access, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        self.go[name] = trio.Event()
        task_status.started()
        self.calls[name] = Held(self.lease, access, name, name[0])
        async with self.calls[name]:
            self.log.append(f"+{name}")
            await self.go[name].wait()
            self.log.append(f"-{name}")


async def settled() -> None:
    await trio.testing.wait_all_tasks_blocked()


async def test_edits_wait_for_each_other_in_order_and_nothing_else_waits() -> None:
    stage = Stage()
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            for name, access in (("a", "write"), ("b", "write"), ("c", "write"), ("d", "shared"), ("e", "read")):
                await nursery.start(stage.call, name, access)
                await settled()
            assert stage.log == ["+a", "+d", "+e"]
            assert [stage.calls[name].begun for name in "abcde"] == [True, False, False, True, True]
            for name in "abcde":
                stage.go[name].set()
                await settled()
    assert stage.log == ["+a", "+d", "+e", "-a", "+b", "-b", "+c", "-c", "-d", "-e"]


async def test_who_may_change_the_workspace_hears_of_other_chats_that_did_and_not_of_its_own() -> None:
    stage = Stage()
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            for name, access in (("a1", "shared"), ("a2", "write"), ("reads", "read"), ("n", "none")):
                await nursery.start(stage.call, name, access)
                await settled()
            assert all(stage.calls[name].alone for name in ("a1", "a2"))
            stage.go["a2"].set()
            await settled()
            await nursery.start(stage.call, "b", "shared")
            await settled()
            for go in stage.go.values():
                go.set()
    assert {name: it.alone for name, it in stage.calls.items()} == {
        **{"a1": False, "b": False},
        **{"a2": True, "reads": True, "n": True},
    }


async def test_a_call_that_waits_too_long_is_told_who_has_it() -> None:
    stage = Stage(patience_s=0.05)
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(stage.call, "edit", "write")
            await settled()
            with pytest.raises(ToolError, match="in use by edit") as caught:
                async with Held(stage.lease, "write", "write"):
                    pass
            stage.go["edit"].set()
    assert caught.value.kind == "transient"


async def test_a_call_that_gives_up_lets_those_behind_it_in() -> None:
    stage, doomed = Stage(), trio.CancelScope()
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(stage.call, "w1", "write")
            await settled()
            nursery.start_soon(within, doomed, stage, "w2")
            await settled()
            await nursery.start(stage.call, "w3", "write")
            await settled()
            doomed.cancel()
            await settled()
            assert stage.log == ["+w1"]
            stage.go["w1"].set()
            stage.go["w3"].set()
    assert stage.log == ["+w1", "-w1", "+w3", "-w3"]


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
            async with Held(stage.lease, "write", "w3"):
                stage.log.append("+w3")
    assert stage.log == ["+w1", "-w1", "+w3"]


async def within(scope: trio.CancelScope, stage: Stage, name: str) -> None:
    with scope:
        await stage.call(name, "write")
