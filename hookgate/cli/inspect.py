"""Commands that look and start nothing: config check, hooks list, hooks explain."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

from hookgate import config as configuration
from hookgate.cli.plans import approval_rules, plans
from hookgate.config import Config, ConfigError
from hookgate.hooks.mounts import Plan
from hookgate.protocol.stages import Stage
from hookgate.protocol.values import Chat, Inbound, Step


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def check_config(config_file: Path | None) -> int:
    """Raises ConfigError; what it prints is for a person."""
    config, file = configuration.load(config_file)
    for section in config.providers.values():
        configuration.secret(section.api_key_env)
    planned = plans(config, file.parent)
    for plan in planned:
        _check_command(plan)
    model = config.agent.model or "(none)"
    rules = counted(len(config.approvals), "approval rule")
    say(f"{file}: fine. Model {model}, {counted(len(planned), 'hook')}, {rules}.")
    return 0


def _check_command(plan: Plan) -> None:
    spec, folder = plan.spec, Path(plan.spec.directory)
    if not folder.is_dir():
        raise ConfigError(f"hooks.processes.{spec.name}.dir: {folder} is not a folder")
    program = spec.command[0]
    here = (folder / program).exists() if "/" in program else which(program, path=spec.environment.get("PATH"))
    if not here:
        raise ConfigError(f"hooks.processes.{spec.name}.command: {program!r} cannot be found")


# --- hooks list ---------------------------------------------------------------------------------------------

COLUMNS = ("name", "state", "pid", "restarts", "priority", "mode", "stages", "calls", "failures", "p50_ms", "p99_ms")


def list_hooks(config_file: Path | None, control: Path | None, *, as_json: bool) -> int:
    from hookgate.cli.control import ask_gateway
    from hookgate.control.client import NothingRunning

    try:
        rows, where = ask_gateway("hooks.list", {}, control), ""
    except NothingRunning:
        if control is not None:
            raise
        rows, where = configured(config_file), "No hookgate is running; this is what the configuration would start."
    if as_json:
        from hookgate.protocol.codec import encode

        say(encode(rows).decode())
        return 0
    if where:
        say(where)
    for line in table(rows):
        say(line)
    return 0


def configured(config_file: Path | None) -> list[dict[str, Any]]:
    config, file = configuration.load(config_file)
    off = [
        {"name": name, "state": "off", "mode": "off", "stages": list(section.intercept), "priority": section.priority}
        for name, section in config.hooks.processes.items()
        if section.mode == "off"
    ]
    return [*(describe(plan, "not started") for plan in plans(config, file.parent)), *off]


def describe(plan: Plan, state: str) -> dict[str, Any]:
    rules = plan.rules
    return {
        "name": plan.spec.name,
        "state": state,
        "priority": rules.priority,
        "mode": rules.mode,
        "stages": [stage for stage in Stage if stage in rules.stages],
        "observe": list(rules.observe.patterns),
        "command": list(plan.spec.command),
    }


def table(rows: list[dict[str, Any]]) -> list[str]:
    """Columns that any row fills, as wide as they must be."""
    if not rows:
        return ["no hooks"]
    names = [name for name in COLUMNS if any(row.get(name) not in (None, "", []) for row in rows)]
    cells = [names, *([_cell(row.get(name)) for name in names] for row in rows)]
    widths = [max(len(line[i]) for line in cells) for i in range(len(names))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def _cell(value: Any) -> str:  # noqa: ANN401 - any JSON
    match value:
        case None | [] | "":
            return "-"
        case list():
            return ",".join(str(item) for item in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case _:
            return str(value)


# --- hooks explain ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Case:
    step: Step
    tool: str


def explain(config_file: Path | None, call: Mapping[str, str]) -> int:
    """The chain of each stage that such a call passes, in order, and why each hook is in or out."""
    config, file = configuration.load(config_file)
    case = _case(config, call)
    chain = sorted(plans(config, file.parent), key=lambda plan: (plan.rules.priority, plan.spec.name))
    stages = [s for s in Stage if s in (Stage.BEFORE_LLM, Stage.AFTER_LLM)] if not case.tool else _TOOL_STAGES
    for stage in stages:
        say(f"{stage}:")
        for line in _explained(chain, stage, case) or ["  (no hook stands here)"]:
            say(line)
    for name, section in config.hooks.processes.items():
        if section.mode == "off":
            say(f"{name}: out, its mode is off")
    if case.tool:
        _explain_approval(config, case)
    return 0


_TOOL_STAGES = [Stage.BEFORE_TOOL, Stage.APPROVE_TOOL, Stage.AFTER_TOOL]


def _case(config: Config, call: Mapping[str, str]) -> _Case:
    chat = Chat(call["channel"], call["chat"], call["sender"], call["chat_type"], call["thread"])
    model = call["model"] or config.agent.model
    return _Case(Step(config.agent.name, "", Inbound(chat, ""), model=model), call["tool"])


def _explained(chain: list[Plan], stage: Stage, case: _Case) -> list[str]:
    lines: list[str] = []
    for plan in chain:
        if stage not in plan.rules.stages:
            continue
        mismatch = plan.rules.match.mismatch(case.step, case.tool)
        audit = " (audit: it is asked, nothing it says counts)" if plan.rules.mode == "audit" else ""
        verdict = f"out: {mismatch}" if mismatch else f"in{audit}, {_terms(plan, stage)}"
        lines.append(f"  {plan.rules.priority:>4}  {plan.spec.name:<16} {verdict}")
    return lines


def _terms(plan: Plan, stage: Stage) -> str:
    return f"timeout {plan.rules.timeout(stage):g} s, on failure {plan.rules.policy(stage)}"


def _explain_approval(config: Config, case: _Case) -> None:
    for rule in approval_rules(config):
        mismatch = rule.match.mismatch(case.step, case.tool)
        say(f"approval rule {rule.name}: {'does not apply: ' + mismatch if mismatch else 'a person is asked'}")
