"""`hookgate hooks explain`: who would be asked about a call, and why; nothing is started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from hookgate import config as configuration
from hookgate.assembly.hooks.opening import people
from hookgate.assembly.tools.opening import all_rules
from hookgate.cli.printing import say, say_json
from hookgate.config import ConfigError
from hookgate.mistakes import close
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.values import Step

if TYPE_CHECKING:
    from hookgate.approvals.rules import Rule
    from hookgate.assembly.hooks.hook_order import Link
    from hookgate.sections import Config

_TOOL_STAGES = (Stage.BEFORE_TOOL, Stage.APPROVE_TOOL, Stage.AFTER_TOOL)


BRINGS = "; but if it brings this tool it is asked last, to run it"


@dataclass(frozen=True)
class _Case:
    """`note`: why nothing of the configuration is known to have the tool; empty where something is."""

    step: Step
    tool: str
    note: str


@dataclass(frozen=True)
class _Standing:
    """A hook at a stage. `why_not`: why it is not asked, None: it is. `audit`: nothing that it says counts.
    `timeout_s`: None for a guard, which runs in this process and always answers."""

    name: str
    priority: int
    why_not: str | None
    audit: bool
    timeout_s: float | None
    on_failure: str
    known_later: bool


@dataclass(frozen=True)
class _Rule:
    """An approval rule. `why_not`: why it does not apply; `origins`: it applies to calls of these alone."""

    name: str
    why_not: str | None
    origins: tuple[str, ...]


def explain(config_file: Path | None, call: Mapping[str, str], roles: str | None = None, *, as_json: bool) -> int:
    """The chain of each stage that such a call passes, in order, and why each hook is in or out. Without a tool it is
    about a message. `roles` None: those that the configuration gives the sender. Raises ConfigError."""
    from hookgate.assembly.hooks.hook_order import chain

    config, file = configuration.load(config_file)
    note = _unknown_tool(config, call["tool"]) if call["tool"] else ""
    case = _Case(step_of(config, call, roles), call["tool"], note)
    laid = chain(config, file.parent)
    stages = _TOOL_STAGES if case.tool else [stage for stage in Stage if stage not in _TOOL_STAGES]
    asked = {stage: [_standing(it, stage, case) for it in laid.links if stage in it.rules.stages] for stage in stages}
    rules = [_rule(rule, case) for rule in all_rules(config)] if case.tool else []
    if as_json:
        told = {stage.value: [asdict(it) for it in standings] for stage, standings in asked.items()}
        more = {"approvals": [asdict(it) for it in rules], "note": note} if case.tool else {}
        return say_json({"stages": told, "out": dict(laid.out), **more})
    for line in _lines(asked, laid.out, rules, note):
        say(line)
    return 0


def step_of(config: Config, call: Mapping[str, str], roles: str | None) -> Step:
    """Who says it, where, and which agent and model answer there. Raises ConfigError."""
    from hookgate.approvals.people import People, requester
    from hookgate.assembly.agents import Routes

    chat = Chat(call["channel"], call["chat"], call["sender"], call["chat_type"], call["thread"])
    agent = call["agent"] or Routes(config)(chat)
    if agent not in (config.agent.name, *config.agents):
        raise ConfigError(f"there is no agent {agent!r}{close(agent, (config.agent.name, *config.agents))}")
    section = config.agents.get(agent)
    model = call["model"] or (section.model if section is not None and section.model else config.agent.model)
    known = People(people(config)).roles(requester(chat)) if roles is None else tuple(filter(None, roles.split(",")))
    return Step(agent, "", Inbound(chat, ""), model=model, roles=known)


def _standing(link: Link, stage: Stage, case: _Case) -> _Standing:
    rules = link.rules
    why_not = rules.match.mismatch(case.step, case.tool)
    if why_not and stage is Stage.BEFORE_TOOL and _may_own(link, case):
        why_not += BRINGS
    return _Standing(
        link.name,
        rules.priority,
        why_not,
        audit=rules.mode == "audit",
        timeout_s=None if rules.inside else rules.timeouts[stage],
        on_failure=rules.policy(stage),
        known_later=link.rank is not None,
    )


def _may_own(link: Link, case: _Case) -> bool:
    """A hook process says only while it runs which tools it brings, and its `tools` need not cover them."""
    process = not link.rules.inside and link.rank is None and link.rules.mode == "enforce"
    return process and bool(case.note) and link.rules.match.mismatch(case.step) is None


def _rule(rule: Rule, case: _Case) -> _Rule:
    return _Rule(rule.name, rule.match.mismatch(case.step, case.tool), rule.origins.patterns)


def _unknown_tool(config: Config, tool: str) -> str:
    """What was only mistyped would pass the same chain."""
    from hookgate.assembly.preflight.naming import known_names

    why = known_names(config).stranger(tool)
    return f"tool {tool}: {why.replace('covers', 'is', 1)}" if why else ""


# --- for people ---------------------------------------------------------------------------------------------


def _lines(
    asked: Mapping[Stage, Sequence[_Standing]], out: Mapping[str, str], rules: Sequence[_Rule], note: str
) -> Iterator[str]:
    for stage, standings in asked.items():
        yield f"{stage}:"
        width = max((len(it.name) for it in standings), default=0)
        yield from [f"  {it.priority:>5}  {it.name:<{width}}  {_verdict(it)}" for it in standings] or [
            "  (no hook stands here)"
        ]
    yield from (f"{name}: out, {why}" for name, why in out.items())
    for rule in rules:
        origins = f" about calls of origin {', '.join(rule.origins)}" if rule.origins else ""
        verdict = f"does not apply: {rule.why_not}" if rule.why_not else f"a person is asked{origins}"
        yield f"approval rule {rule.name}: {verdict}"
    if note:
        yield note


def _verdict(it: _Standing) -> str:
    if it.why_not:
        return f"out: {it.why_not}"
    audit = " (audit: it is asked, nothing it says counts)" if it.audit else ""
    timed = "" if it.timeout_s is None else f"timeout {it.timeout_s:g} s, "
    later = "; whether it intercepts this is known when it runs" if it.known_later else ""
    return f"in{audit}, {timed}on failure {it.on_failure}{later}"
