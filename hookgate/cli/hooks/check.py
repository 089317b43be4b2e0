"""`hookgate hooks check`: a conformance run, printed."""

from __future__ import annotations

from collections.abc import Iterator

from hookgate.assembly.preflight.naming import match_faults
from hookgate.check.printing import report_lines
from hookgate.check.report import Finding, failed, warned
from hookgate.check.run import LIMITS, CheckTimeouts, Offer, Report, check
from hookgate.cli.hooks.extension import extension_report
from hookgate.cli.hooks.subjects import Named, own_tools, plan_of, say_late, spec_of
from hookgate.cli.printing import say, say_json
from hookgate.hooks.children.mounts import Plan
from hookgate.hooks.children.process import ProcessSpec
from hookgate.protocol.dataclasses import replace
from hookgate.sections import Config
from hookgate.tools.schema.spec import spec_problem

NO_GATEWAY = "no gateway starts with it: mend it in the configuration"
IN_VAIN = "the hook is asked about nothing because of it: mend it, unless something brings what it names"


async def check_hook(named: Named, *, as_json: bool) -> int:
    """A configured hook at its own stages and within its own limits; a program at all of them; a zot extension by
    what it says when it is started. Raises ConfigError."""
    report = None if named.is_program else await extension_report(named)
    if report is None:
        report = await _checked(named)
    if as_json:
        say_json(report.members())
    else:
        for line in report_lines(report):
            say(line)
    return 0 if report.passed else 1


async def _checked(named: Named) -> Report:
    plan, config = plan_of(named)
    spec, late = spec_of(plan), say_late(named, plan)
    limits, offer = (_started(spec), Offer()) if named.is_program else (_limits(plan, spec), _offer(plan, spec))
    program = (spec.command, spec.environment, spec.directory)
    report = await check(*program, limits, offer, late, spec_problem, own_tools(config))
    if named.is_program:
        return report
    return replace(report, findings=(*_of_match(config, named.name), *report.findings))


def _of_match(config: Config, name: str) -> Iterator[Finding]:
    """What of its `match` covers nothing: no gateway starts where a guard would be asked about no call."""
    for fault in match_faults(config, name):
        said = fault.text.removeprefix(f"hooks.processes.{name}.")
        yield failed("match", said, NO_GATEWAY) if fault.stops else warned("match", said, IN_VAIN)


def _started(spec: ProcessSpec) -> CheckTimeouts:
    """Of a program: it may take longer to start than a gateway would wait."""
    return replace(LIMITS, hello_s=spec.hello_timeout_s, total_s=LIMITS.total_s + spec.hello_timeout_s)


def _limits(plan: Plan, spec: ProcessSpec) -> CheckTimeouts:
    """More time in all where a stage has more."""
    stages_s = {stage: plan.rules.timeouts[stage] for stage in spec.stages}
    return CheckTimeouts(
        hello_s=spec.hello_timeout_s,
        usual_hello_s=spec.hello_timeout_s,
        # Of what is no call at a stage: nothing configures that.
        call_s=min(max((LIMITS.again_s, *stages_s.values())), LIMITS.long_s),
        total_s=LIMITS.total_s + spec.hello_timeout_s + sum(stages_s.values()),
        stages_s=stages_s,
    )


def _offer(plan: Plan, spec: ProcessSpec) -> Offer:
    closed = frozenset(stage for stage in spec.stages if plan.required or plan.rules.policy(stage) != "continue")
    return Offer(spec.name, spec.stages, spec.observes, spec.max_in_flight, configured=True, guarded=closed)
