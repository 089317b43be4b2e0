"""The benchmarks run and produce figures; how good these are is not judged here."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import trio

from benchmarks.__main__ import BENCHMARKS
from benchmarks.echo import STEP, build, frame_of, open_floor, open_gate, plan, tool_call
from benchmarks.figures import Bar, Run, quantile
from benchmarks.report import BEGIN, END, rewritten, row
from hookgate.hooks.children.supervise import RequiredHookFailed
from hookgate.hooks.rules import Rules
from hookgate.protocol.hook.stages import Question, Stage
from tests.postgres import programs

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("echo", tmp_path_factory.mktemp("echo"))


NEEDS = {"shared": pytest.mark.skipif(programs() is None, reason="this machine has no PostgreSQL server")}


@pytest.mark.parametrize("name", [pytest.param(it, marks=NEEDS.get(it, ())) for it in BENCHMARKS])
async def test_each_benchmark_produces_figures(name: str, echo: Path) -> None:
    with trio.fail_after(60):
        figures = await BENCHMARKS[name].measure(Run(echo, rounds=1, share=0.02))
    assert figures
    for figure in figures:
        assert figure.floor > 0
        assert figure.value >= 0
        assert re.fullmatch(r"\|.+\|", row(figure))


async def test_a_hook_that_is_down_yields_no_figure() -> None:
    missing = plan("gone", ["/nonexistent/hook"], Rules(stages=frozenset({Stage.BEFORE_TOOL})))
    with trio.fail_after(20), pytest.RaisesGroup(RequiredHookFailed, flatten_subgroups=True):
        async with open_gate([missing]):
            pass


async def test_a_hook_whose_calls_fail_yields_no_figure(echo: Path) -> None:
    # The echo child says `continue`, which is no answer of an approver.
    approver = plan("echo", [str(echo)], Rules(stages=frozenset({Stage.APPROVE_TOOL})))
    with trio.fail_after(20), pytest.RaisesGroup(AssertionError):
        async with open_gate([approver]) as gate:
            await gate.approve_tool(STEP, tool_call())


def test_the_floor_is_asked_with_half_a_kilobyte_of_params(echo: Path) -> None:
    question = Question(Stage.BEFORE_TOOL, STEP, tool_call())
    assert len(question.framed_params(5.0)) == 512
    with open_floor([str(echo)]) as floor:
        floor.ask(frame_of(question))


@pytest.mark.parametrize(
    ("bar", "pairs", "met"),
    [
        (Bar("a", "b", "ms", 2.0), [(1.0, 1.9), (10.0, 19.0), (1.0, 9.0)], True),
        (Bar("a", "b", "ms", 2.0), [(1.0, 2.1)], False),
        (Bar("a", "b", "ms", 2.0, absolute=True), [(0.1, 1.9)], True),
        (Bar("a", "b", "ms", 2.0, absolute=True, and_times=3.0), [(1.0, 4.9)], True),
        (Bar("a", "b", "ms", 2.0, absolute=True, and_times=3.0), [(1.0, 5.1)], False),
        (Bar("a", "b", "ms"), [(0.1, 1000.0)], True),
    ],
)
def test_a_bar_judges_the_median_of_the_runs(bar: Bar, pairs: Sequence[tuple[float, float]], met: bool) -> None:
    assert bar.judged(pairs).met is met


def test_a_quantile_is_one_of_the_values() -> None:
    assert [quantile([3.0, 1.0, 2.0, 4.0], share) for share in (0.0, 0.5, 0.99)] == [1.0, 3.0, 4.0]


def test_only_what_stands_between_the_markers_is_rewritten() -> None:
    readme = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert rewritten(readme, "new") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    with pytest.raises(ValueError, match="the page has no"):
        rewritten("nothing", "new")


def test_the_command_prints_a_table_and_is_strict_only_when_told_to() -> None:
    command = [sys.executable, "-m", "benchmarks", "approvers", "--share", "0.02"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "| five approvers" in done.stdout
    assert "cores" in done.stdout.splitlines()[-1]
