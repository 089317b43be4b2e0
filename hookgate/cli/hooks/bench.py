"""`hookgate hooks bench`: how long a hook takes, beside what the way to it and back takes anyway."""

from __future__ import annotations

from dataclasses import asdict

from hookgate.cli.hooks.preparing import prepared
from hookgate.cli.hooks.subjects import Named, own_tools, plan_of, quiet, telling
from hookgate.cli.hooks.trying import About, question_of
from hookgate.cli.hooks.wording import call_of
from hookgate.cli.printing import failed, say, say_json
from hookgate.protocol.dataclasses import dataclass
from hookgate.rehearsal.bench import BenchFailed, Times, timed
from hookgate.rehearsal.subject import open_subject

CALLERS = (1, 8)


@dataclass(frozen=True)
class _Row:
    hook: Times
    floor: Times


async def bench_hook(named: Named, about: About, calls: int, *, as_json: bool) -> int:
    """1 where it gives no usable answer. Raises ConfigError."""
    quiet()
    plan, config = plan_of(named)
    question = question_of(config, about)
    rows: list[_Row] = []
    async with open_subject(plan, telling(named, plan), own_tools(config)) as subject:
        question, _ = await prepared(config, subject, question, recorded=about.file is not None)
        if why := subject.absent or subject.unasked(question):
            return failed(f"{plan.name}: {why}")
        for callers in CALLERS:
            try:
                rows.append(_Row(*await timed(subject, question, callers, calls)))
            except BenchFailed as error:
                return failed(f"{plan.name} gave no usable answer at {question.stage}: {error}")
    if as_json:
        return say_json(
            [{"callers": it.hook.callers, "hook": asdict(it.hook), "floor": asdict(it.floor)} for it in rows]
        )
    size = len(question.framed_params(1.0))
    say(f"{plan.name}, asked {call_of(question)}")
    say(f"{calls} calls of {size} bytes, microseconds a call")
    say(f"{'callers':>7}  {'p50':>8}  {'p99':>8}  {'floor p50':>9}  {'floor p99':>9}  {'ratio':>5}")
    for it in rows:
        sides = f"{it.hook.p50_us:>8.1f}  {it.hook.p99_us:>8.1f}  {it.floor.p50_us:>9.1f}  {it.floor.p99_us:>9.1f}"
        say(f"{it.hook.callers:>7}  {sides}  {it.hook.p50_us / it.floor.p50_us:>5.1f}")
    say("floor: `cat` with the same bytes, in blocking reads and writes on this machine; no figure of the README")
    return 0
