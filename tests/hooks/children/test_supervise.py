"""A hook that is kept alive: restarts, quarantine, what callers are told meanwhile, and the states others hear of."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from hookgate.hooks.children.supervise import Live, RequiredHookFailed, Restarts, SupervisedHook
from hookgate.processes import group
from hookgate.processes.child import Late, NotAgain
from hookgate.processes.last_words import Redact
from hookgate.processes.rounds import Rounds, open_rounds
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import HookState, TurnStart
from hookgate.protocol.hook.answers import CONTINUE, Failed
from hookgate.protocol.hook.hello import Hello
from hookgate.protocol.hook.stages import Stage
from tests.hooks.processes import DEADLINE_S, ask, gone, spec, told

QUICK = Restarts(first_delay_s=0.01, longest_delay_s=0.02, crash_limit=3, crash_window_s=60, probe_s=0.05)
SLOW = Restarts(first_delay_s=60, longest_delay_s=60)


@dataclass
class Told:
    """The states that others hear of, in order."""

    states: list[HookState] = field(default_factory=list[HookState])
    _changed: trio.Event = field(default_factory=trio.Event)

    def __call__(self, state: HookState) -> None:
        self.states.append(state)
        self._changed.set()

    async def until(self, state: str, times: int = 1) -> HookState:
        with trio.fail_after(DEADLINE_S):
            while len(found := [s for s in self.states if s.state == state]) < times:
                self._changed = trio.Event()
                await self._changed.wait()
        return found[times - 1]


@asynccontextmanager
async def open_supervised(
    mode: str = "plain", restarts: Restarts = QUICK, redact: Redact = str, **changes: Any
) -> AsyncGenerator[tuple[SupervisedHook, Told]]:
    """Cancelled on leaving, as a gateway would be; no group that was seen is left."""
    heard = Told()
    hook = SupervisedHook(spec(mode, **changes), heard, redact)
    async with open_rounds() as rounds, trio.open_nursery() as nursery:
        nursery.start_soon(hook.run, rounds, restarts)
        yield hook, heard
        nursery.cancel_scope.cancel()
    assert hook.state == "stopped"
    await gone(*(state.pid for state in heard.states if state.pid))


async def test_a_hook_that_dies_is_started_again_as_another_process() -> None:
    async with open_supervised() as (hook, heard):
        first = await heard.until("up")
        assert await ask(hook, "exit", status=3) == Failed("it exited with status 3")
        second = await heard.until("up", 2)
        assert await ask(hook, "answer", result={}) == CONTINUE
        down = await heard.until("restarting")
    assert (down.reason, down.pid, down.restarts) == ("it exited with status 3", None, 0)
    assert (second.restarts, first.pid == second.pid, hook.restarts) == (1, False, 1)
    assert [s.state for s in heard.states] == ["up", "restarting", "up", "stopped"]


SECRET = "hunter2hunter2"
SAID = f"Traceback:\n\n  no \x1b[2Jlicence: {SECRET}\nKeyError: 'HOME'"
SHOWN = r"(stderr: Traceback: | no \x1b[2Jlicence: [gone] | KeyError: 'HOME')"


def without_secret(text: str) -> str:
    return text.replace(SECRET, "[gone]")


async def test_what_it_said_last_stands_in_the_line_that_reports_its_death_and_no_model_is_told() -> None:
    with capture_logs() as lines:
        async with open_supervised(restarts=SLOW, redact=without_secret) as (hook, heard):
            await heard.until("up")
            assert await ask(hook, "exit", status=3, stderr="x\n" * 500 + SAID) == Failed("it exited with status 3")
            down = await heard.until("restarting")
            assert await ask(hook, "where") == Failed("it is restarting: it exited with status 3")
            assert hook.reason == down.reason
    assert down.reason == f"it exited with status 3 {SHOWN.replace('(stderr: ', '(stderr: x | x | ')}"
    assert [line["reason"] for line in lines if line["event"] == "hook_down"] == [down.reason]


async def test_one_that_does_not_start_says_why_with_its_own_last_words() -> None:
    said = {"LAST_WORDS": SAID, "PATH": "/usr/bin:/bin"}
    async with open_supervised("exit_at_start", environment=said, redact=without_secret) as (_, heard):
        down = await heard.until("restarting")
    assert down.reason == f"it exited with status 3 {SHOWN}"


async def test_one_that_has_just_ended_is_not_said_to_be_up() -> None:
    async with open_supervised(restarts=SLOW) as (hook, heard):
        await heard.until("up")
        await ask(hook, "exit", status=3)
        with trio.fail_after(20):
            while hook.pid is not None:
                await trio.lowlevel.checkpoint()
        assert await ask(hook, "where") == Failed("it is restarting: it exited with status 3")


@pytest.mark.parametrize("said", ["y" * 100_000, "long words\n" * 10_000, "z" * 3000 + "\n" + "y" * 3000])
async def test_last_words_are_bounded(said: str) -> None:
    async with open_supervised(restarts=SLOW) as (hook, heard):
        await heard.until("up")
        await ask(hook, "exit", stderr=said)
        down = await heard.until("restarting")
    assert len(down.reason or "") < 500
    assert "..." in (down.reason or "") or said.startswith("long")


async def test_while_it_is_down_every_call_fails_at_once_and_says_why() -> None:
    async with open_supervised(restarts=SLOW) as (hook, heard):
        assert await ask(hook, "where") == Failed("it is starting")
        await heard.until("up")
        os.kill(hook.pid or 0, signal.SIGKILL)
        await heard.until("restarting")
        assert await ask(hook, "where") == Failed("it is restarting: it was killed by SIGKILL")
        hook.notify(Event(TurnStart("x", 0), None, 1, 0))
        with trio.fail_after(20):
            await hook.drained()
        assert (hook.pid, hook.events_dropped) == (None, 0)


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("exit_at_start", "it exited with status 3"),
        ("exit_at_hello", "it exited with status 4"),
        ("exit_after_hello", "it exited with status 5"),
    ],
)
async def test_a_crash_loop_is_quarantined_and_only_probed(mode: str, reason: str) -> None:
    async with open_supervised(mode) as (hook, heard):
        state = await heard.until("quarantined")
        assert (state.reason, state.restarts) == (reason, 2)
        assert await ask(hook, "where") == Failed(f"it is quarantined: {reason}")
        assert hook.down() == f"is down ({reason}) and only tried now and then"
        await heard.until("quarantined", 2)
    assert hook.tried.is_set()


async def test_one_that_must_not_be_started_again_is_quarantined_at_once() -> None:
    heard = Told()
    hook = SupervisedHook(Forbidden(), heard)
    async with open_rounds() as rounds, trio.open_nursery() as nursery:
        nursery.start_soon(hook.run, rounds, Restarts(probe_s=0.01))
        state = await heard.until("quarantined", 2)
        nursery.cancel_scope.cancel()
    assert state.reason == "it has changed"
    assert "restarting" not in [it.state for it in heard.states]


class Forbidden:
    """A spec that refuses each start for good."""

    name = hook_name = "forbidden"
    command = ("none",)
    directory = "/"

    @property
    def environment(self) -> dict[str, str]:
        return {}

    def guards(self, stage: Stage) -> bool:
        return False

    def resting(self, last: Hello | None) -> Hello:
        return last or Hello()

    @asynccontextmanager
    async def open(self, rounds: Rounds, late: Late) -> AsyncGenerator[Live]:
        await trio.lowlevel.checkpoint()
        raise NotAgain("it has changed")
        yield


async def test_a_quarantined_hook_that_works_again_is_taken_back(tmp_path: Path) -> None:
    program = tmp_path / "hook"
    base = spec()
    program.write_text("#!/bin/sh\nexit 9\n")
    program.chmod(0o755)
    async with open_supervised(command=("./hook",), directory=str(tmp_path)) as (hook, heard):
        await heard.until("quarantined")
        mended = tmp_path / "mended"
        mended.write_text(f"#!/bin/sh\nexec {' '.join(base.command[:4])}\n")
        mended.chmod(0o755)
        mended.rename(program)
        await heard.until("up")
        assert await ask(hook, "answer", result={}) == CONTINUE


async def test_a_command_that_does_not_exist_is_a_state_and_no_crash() -> None:
    async with open_supervised(command=("/nonexistent/hook",), restarts=SLOW) as (hook, heard):
        state = await heard.until("restarting")
        assert (state.reason or "").startswith("cannot start '/nonexistent/hook'")
        assert "cannot start" in getattr(await ask(hook, "where"), "reason", "")


async def test_tried_is_set_after_the_first_hello_however_it_went() -> None:
    for mode in ("plain", "exit_at_hello"):
        async with open_supervised(mode, restarts=SLOW) as (hook, _):
            assert not hook.tried.is_set()
            with trio.fail_after(DEADLINE_S):
                await hook.tried.wait()
            assert hook.state == ("up" if mode == "plain" else "restarting")


TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}


async def test_declared_tools_are_there_only_while_the_hook_can_answer_their_calls() -> None:
    hello = {"tools": [TOOL], "events": ["turn_*"]}
    async with open_supervised(hello=hello, restarts=SLOW) as (hook, heard):
        assert hook.declared.tools == ()
        await heard.until("up")
        assert [tool.name for tool in hook.declared.tools] == ["weather"]
        os.kill(hook.pid or 0, signal.SIGKILL)
        await heard.until("restarting")
        assert (hook.declared.tools, hook.declared.events) == ((), ("turn_*",))


async def test_a_required_hook_that_is_lost_ends_everything() -> None:
    heard = Told()
    hook = SupervisedHook(spec("exit_after_hello"), heard)
    hook.required = True
    async with open_rounds() as rounds:
        with trio.fail_after(DEADLINE_S), pytest.raises(RequiredHookFailed, match="child is required but it exited"):
            await hook.run(rounds, QUICK)
    assert hook.state == "stopped"


async def test_one_crashing_hook_does_not_disturb_another() -> None:
    async with open_supervised("exit_after_hello") as (_, heard), open_supervised() as (good, _):
        await heard.until("quarantined")
        pid = (await told(good, "where"))["pid"] if good.pid else None
        await heard.until("quarantined", 3)
        assert pid in (None, good.pid)
        assert good.restarts == 0


@pytest.mark.parametrize(("crashes", "low", "high"), [(0, 0.5, 1), (1, 0.5, 1), (2, 1, 2), (4, 4, 8), (9, 5, 10)])
def test_the_delay_doubles_up_to_a_limit_and_half_of_it_is_chance(crashes: int, low: float, high: float) -> None:
    restarts = Restarts(first_delay_s=1, longest_delay_s=10, crash_limit=10, probe_s=99)
    delays = {restarts.delay(crashes) for _ in range(50)}
    assert all(low <= delay <= high for delay in delays)
    assert len(delays) > 1


def test_after_the_limit_of_crashes_a_hook_is_only_probed() -> None:
    assert Restarts(crash_limit=3, probe_s=99).delay(3) == 99


async def test_stopping_during_a_slow_hello_leaves_nothing_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "CLOSE_WAIT_S", 0.05)
    async with open_supervised("mute") as (hook, _):
        await trio.testing.wait_all_tasks_blocked()
    assert hook.state == "stopped"
