"""The child that both sides of a comparison talk to, the floor's way of talking to it, and a gate in front of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from hookgate.config import base_environment
from hookgate.hooks.children.mounts import Mounts, Plan, open_mounts
from hookgate.hooks.children.process import ProcessSpec
from hookgate.hooks.children.supervise import Restarts
from hookgate.hooks.gate import Gate
from hookgate.hooks.rules import Rules
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.hook.peer import request_frame
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import Step, ToolCall
from tests.gotool import run_go

SOURCES = Path(__file__).parent / "go"
TIMEOUT_S = 5.0
PARAMS_BYTES = 512

STEP = Step("main", "main-turn-1", Inbound(Chat("telegram", "42", "7"), "clean up"), model="openai/gpt-5-mini")


def build(name: str, folder: Path) -> Path:
    """The program of this name, into the folder."""
    run_go("build", "-o", str(folder / name), ".", cwd=SOURCES / name)
    return folder / name


def tool_call(name: str = "bash") -> ToolCall:
    """A call whose before_tool params, `deadline_ms` included, are half a kilobyte."""
    bare = ToolCall("call_1", name, {"command": ""})
    room = PARAMS_BYTES - len(Question(Stage.BEFORE_TOOL, STEP, bare).framed_params(TIMEOUT_S))
    return ToolCall("call_1", name, {"command": ("rm -r build; " * 40)[:room]})


def frame_of(question: Question) -> bytes:
    """The very bytes that the gate writes for it."""
    return request_frame(1, question.stage.method, question.framed_params(TIMEOUT_S))


class Floor:
    """A child and nothing between it and two system calls."""

    def __init__(self, stdin: int, stdout: int) -> None:
        self._stdin, self._stdout = stdin, stdout

    def ask(self, frame: bytes) -> None:
        """One blocking write, then blocking reads up to the end of the line."""
        written = os.write(self._stdin, frame)
        while written < len(frame):
            written += os.write(self._stdin, frame[written:])
        while not os.read(self._stdout, 1 << 16).endswith(b"\n"):
            pass


@contextmanager
def open_floor(command: Sequence[str]) -> Iterator[Floor]:
    """Start the child; it ends when its stdin is closed."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as child:
        assert child.stdin
        assert child.stdout
        yield Floor(child.stdin.fileno(), child.stdout.fileno())
        child.stdin.close()


def plan(name: str, command: Sequence[str], rules: Rules) -> Plan:
    """A hook that must come up: a figure of a gate whose hook is down would be a fine one."""
    spec = ProcessSpec(name, tuple(command), ".", base_environment(), rules.stages, observes=False)
    return Plan(spec, rules, required=True)


@asynccontextmanager
async def open_gate(plans: Sequence[Plan]) -> AsyncGenerator[Gate]:
    """A gate with running, supervised hooks. Leaving checks that none of their calls failed, and stops them."""
    gate = Gate()
    async with open_mounts(Mounts(gate, Restarts()), plans):
        yield gate
        failed = [name for name, stats in gate.stats.items() if stats.failures]
        assert not failed, f"calls to {failed} failed, so their figures mean nothing"
