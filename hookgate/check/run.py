"""The order of a conformance run: which processes are started, which checks share one, when it is over.

A check that fails spoils its process, so the next one gets a fresh one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import field
from functools import partial
from time import monotonic

import trio

from hookgate.check.advice import advised, not_started
from hookgate.check.asking import CheckTimeouts, Learnt, NothingToAsk, Offer, WrongAnswer
from hookgate.check.mailbox import StrayOutput
from hookgate.check.own_tools import probe_injected_tools, probe_owned_tools
from hookgate.check.probes import (
    PARSE_FIX,
    SPLIT_FIX,
    Probe,
    probe_hello,
    probe_left_out,
    probe_plain_v1,
    probe_separators,
    probe_stage,
    probe_text,
    probe_unknown_members,
    probe_unknown_method,
    probe_unknown_notification,
    probe_unnamed,
)
from hookgate.check.report import Finding, Report, failed, skipped
from hookgate.check.stream import (
    answers_finding,
    probe_big_line,
    probe_cancel,
    probe_end_of_input,
    probe_events,
    probe_joined_lines,
    probe_many_calls,
    probe_split_lines,
    stdout_finding,
)
from hookgate.check.subject import HookGone, NoAnswer, Subject, open_subject
from hookgate.processes.child import Late
from hookgate.processes.pipes import Program
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import ToolSpec

__all__ = ["LIMITS", "CheckTimeouts", "Offer", "Report", "check"]

LIMITS = CheckTimeouts()
EVERYTHING = Offer()
HELLO = Probe("hello", probe_hello)
PLAIN_V1 = Probe("plain v1", probe_plain_v1)
AFTER_STAGES = (
    Probe("unknown method", probe_unknown_method),
    Probe("unknown notification", probe_unknown_notification),
    Probe("unknown members", probe_unknown_members),
    Probe("many calls", probe_many_calls),
    Probe("split lines", probe_split_lines),
    Probe("joined lines", probe_joined_lines),
    Probe("big line", probe_big_line),
    Probe("separators", probe_separators, SPLIT_FIX),
    Probe("text", probe_text),
    Probe("cancel", probe_cancel),
    Probe("events", probe_events),
    Probe("owned tools", probe_owned_tools),
    Probe("injected tools", probe_injected_tools),
)
END_OF_INPUT = Probe("end of input", probe_end_of_input)

SILENCE_FIX = "answer every request that has an id, and flush stdout after each line: the caller hangs"
UNHEARD_FIX = (
    "what compiles or downloads first (go run, npx) is built before, or given more time: --hello-timeout, or "
    "hello_timeout_ms in [hooks.defaults] where it is configured; all else answers hook.hello, and flushes stdout"
)
UNREAD_FIX = (
    "write each answer as one line of JSON, not indented, end it with \\n, flush stdout, and print all else to stderr"
)
GONE_FIX = "keep running until stdin ends, whatever a line holds; what it wrote to stderr may say why"
FLOOD_FIX = "write one line for each request that has an id, and print all else to stderr: a flood is cut off"
STRAY_FIX = "answer each request once, with its own id as the number that came; never answer what has no id"
START_FIX = "give the command as one would run it, without a shell; a path is taken from --dir"
TIME_FIX = "make it start and answer faster, or look at the failures above first"


@dataclass
class _Trial:
    """A run in progress."""

    start: Program
    known: Learnt
    heard: StrayOutput = field(default_factory=StrayOutput)
    findings: list[Finding] = field(default_factory=list[Finding])
    plan: deque[Probe] = field(default_factory=lambda: deque([HELLO]))


async def check(
    command: tuple[str, ...],
    environment: Mapping[str, str],
    directory: str,
    limits: CheckTimeouts = LIMITS,
    offer: Offer = EVERYTHING,
    late: Late = lambda _why: None,
    problem: Callable[[ToolSpec], str | None] = lambda _spec: None,
    taken: frozenset[str] = frozenset(),
) -> Report:
    """Put the hook that `command` starts to the test; `late` is told where its hello does not come soon. `problem`
    says why a gateway would not offer a tool, `taken` has the names of its own. Leaves nothing running.

    Raises nothing (but Cancelled)."""
    began = monotonic()
    trial = _Trial(Program(command, directory, environment), Learnt(limits, offer, late, problem, taken))
    with trio.move_on_after(limits.total_s) as scope:
        await _run_plan(trial)
    if scope.cancelled_caught:
        trial.findings.append(_out_of_time(trial))
    if trial.known.declared or trial.heard.noise:
        trial.findings += [answers_finding(trial.heard), stdout_finding(trial.heard)]
    if trial.known.declared is None:
        trial.findings.append(skipped("everything else", "not checked: it has to say hello first"))
    return Report(command, tuple(trial.findings), trial.known.declared, monotonic() - began)


async def _run_plan(trial: _Trial) -> None:
    while trial.plan:
        failure = await _run_process(trial)
        if failure:
            trial.findings.append(failure)


async def _run_process(trial: _Trial) -> Finding | None:
    """One process, until a check fails or ends it, or the plan is done. The failure, if there is one."""
    async with AsyncExitStack() as stack:
        try:
            hook = await stack.enter_async_context(open_subject(trial.start, trial.heard, trial.known.limits.call_s))
        except OSError as error:
            what = f"cannot start {trial.start.command[0]!r}: {error.strerror or error} ({error.filename})"
            return failed("hello", what + _give_up(trial), not_started(trial.start, START_FIX))
        failure = await _greet(hook, trial) or await _run_probes(hook, trial)
    # Only now has its stderr been read to the end.
    return failure and advised(replace(failure, stderr=hook.stderr))


async def _greet(hook: Subject, trial: _Trial) -> Finding | None:
    """A fresh process in the middle of the run must say hello as the first one did."""
    if trial.plan[0] in (HELLO, PLAIN_V1):
        return None
    finding = await _judge(HELLO, hook, trial)
    if finding.verdict != "FAIL":
        return None
    return replace(finding, what=f"when started again: {finding.what}{_give_up(trial)}")


async def _run_probes(hook: Subject, trial: _Trial) -> Finding | None:
    while trial.plan:
        probe = trial.plan[0]
        finding = await _judge(probe, hook, trial)
        # Not before: a check that the end of the time cuts off is one that was not made.
        trial.plan.popleft()
        if finding.verdict == "FAIL":
            return finding
        trial.findings.append(finding)
        if probe is HELLO:
            stages = (Probe(stage, partial(probe_stage, stage)) for stage in trial.known.offered)
            unnamed = (Probe(", ".join(names), probe_unnamed) for names in (trial.known.unnamed,) if names)
            placed = (Probe("configured stages", probe_left_out),) if trial.known.left_out else ()
            trial.plan.extend((*placed, *stages, *unnamed, *AFTER_STAGES, END_OF_INPUT, PLAIN_V1))
        # What it still owes after a warning would hold up the answers of the next check.
        if probe is END_OF_INPUT or (finding.verdict == "warn" and hook.mailbox.owes_answers):
            break
    return None


async def _judge(probe: Probe, hook: Subject, trial: _Trial) -> Finding:
    """The probe's finding, or what its error means; an answer that nobody asked for fails it too."""
    try:
        finding = await probe.run(hook, trial.known)
    except NothingToAsk:
        finding = skipped(probe.name, "not checked: no call that it would need gets an answer")
    except BadMessage as error:
        sides = (error.came, error.expected) if isinstance(error, WrongAnswer) else ("", "")
        finding = failed(probe.name, str(error).removeprefix(f"{probe.name}: "), probe.fix or PARSE_FIX, *sides)
    except HookGone as error:
        flooded = trial.heard.flooded
        fix, came = (FLOOD_FIX, "a flood") if flooded else (probe.fix or GONE_FIX, "the end of the process")
        finding = failed(probe.name, str(error), fix, came, "an answer, and then the next")
    except NoAnswer as error:
        trial.known.limits = trial.known.limits.hastier()
        unread = hook.mailbox.unread
        fix = probe.fix or (UNREAD_FIX if unread else UNHEARD_FIX if probe is HELLO else SILENCE_FIX)
        finding = failed(probe.name, str(error), fix, unread or "nothing", "a line with the id of the request")
    strays = [*hook.mailbox.strays]
    hook.mailbox.strays.clear()
    hook.mailbox.noise.clear()
    return _with_stray(finding, *strays[0]) if strays else finding


def _with_stray(finding: Finding, stray: str, place: str) -> Finding:
    if finding.verdict == "FAIL":
        return replace(finding, what=f"{finding.what}; this came instead: {stray!r}", fix=STRAY_FIX)
    return failed(finding.check, f"an answer that nobody asked for, {place}: {stray!r}", STRAY_FIX)


def _out_of_time(trial: _Trial) -> Finding:
    return failed("time", f"{trial.known.limits.total_s:g} s are over{_give_up(trial)}", TIME_FIX)


def _give_up(trial: _Trial) -> str:
    """Drop the rest of the plan, and say which checks that leaves out."""
    left = ", ".join(probe.name for probe in trial.plan if probe is not HELLO)
    trial.plan.clear()
    return f"; not checked: {left}" if left else ""
