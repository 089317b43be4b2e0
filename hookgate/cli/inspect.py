"""Commands that look and start nothing: config check, hooks list, hooks explain."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from shutil import which
from typing import Any, cast

from hookgate import config as configuration
from hookgate.cli.plans import plans
from hookgate.cli.toolset import all_rules
from hookgate.config import ConfigError
from hookgate.hooks.mounts import Plan
from hookgate.mistakes import close
from hookgate.protocol.stages import Stage
from hookgate.protocol.values import Chat, Inbound, Step
from hookgate.sections import Config


def say(line: str) -> None:
    sys.stdout.write(line + "\n")


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def check_config(config_file: Path | None) -> int:
    """What would keep the gateway from starting is an error; what is only odd is a note. Raises ConfigError."""
    config, file = _loaded(config_file)
    for section in config.providers.values():
        configuration.secret(section.api_key_env)
    workspace, planned = configuration.workspace_folder(config), plans(config, file.parent)
    for plan in planned:
        _check_command(plan)
    for note in _notes(config, file, workspace):
        say(f"note: {note}")
    rules = counted(len(config.approvals), "approval rule")
    say(f"{file}: fine. Model {config.agent.model or '(none)'}, {counted(len(planned), 'hook')}, {rules}.")
    return 0


def _loaded(config_file: Path | None) -> tuple[Config, Path]:
    """Every mistake of the file is printed, not the first alone."""
    try:
        return configuration.load(config_file)
    except ConfigError as error:
        for other in error.others:
            sys.stderr.write(f"hookgate: {other}\n")
        raise


BUILTINS = (
    *("bash", "bash_kill", "bash_output", "edit", "glob", "grep", "ls", "read", "web_fetch", "write"),
    *("new_tool", "unregister_tool", "mcp_connect", "mcp_disconnect", "mcp_list"),
)


def _notes(config: Config, file: Path, workspace: Path) -> Iterator[str]:
    named = {f"approvals.{number}.tools": rule.tools for number, rule in enumerate(config.approvals)}
    named |= {
        f"hooks.processes.{name}.match.tools": hook.match.tools for name, hook in config.hooks.processes.items()
    }
    named["tools.enabled"] = config.tools.enabled
    for place, patterns in named.items():
        for pattern in patterns:
            if not any(fnmatch(tool, pattern.removeprefix("!")) for tool in BUILTINS):
                hint = close(pattern, BUILTINS) or "; is it a tool that a hook adds?"
                yield f"{place}: {pattern!r} covers no built-in tool{hint}"
    if not config.agent.model:
        yield "agent.model is not set: chat will not start without it"
    if file.resolve().is_relative_to(workspace):
        yield f"{file.name} lies in the workspace, where tools may change it; agent.workspace can name another folder"


def _check_command(plan: Plan) -> None:
    spec, folder = plan.spec, Path(plan.spec.directory)
    if not folder.is_dir():
        raise ConfigError(f"hooks.processes.{spec.name}.dir: {folder} is not a folder")
    program = spec.command[0]
    here = (folder / program).exists() if "/" in program else which(program, path=spec.environment.get("PATH"))
    if not here:
        raise ConfigError(f"hooks.processes.{spec.name}.command: {program!r} cannot be found")
    for word in spec.command[1:2]:
        if word.endswith((".py", ".js", ".sh", ".ts", ".rb")) and not (folder / word).exists():
            raise ConfigError(f"hooks.processes.{spec.name}.command: {word!r} is not there")


# --- hooks list ---------------------------------------------------------------------------------------------

COLUMNS = ("name", "state", "pid", "restarts", "priority", "mode", "stages", "calls", "failures", "p50_ms", "p99_ms")


def list_hooks(config_file: Path | None, control: Path | None, *, as_json: bool) -> int:
    from hookgate.control.client import NothingRunning, call, find_socket

    try:
        path = find_socket(configuration.runtime_directory(), control)
        rows, where = cast("list[dict[str, Any]]", call(path, "hooks.list")), f"The hookgate at {path}:"
    except NothingRunning:
        if control is not None:
            raise
        rows, where = configured(config_file), "No hookgate is running; this is what the configuration would start."
    if as_json:
        from hookgate.protocol.codec import encode

        say(encode(rows).decode())
        return 0
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
        "name": plan.name,
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
    for rule in all_rules(config):
        mismatch = rule.match.mismatch(case.step, case.tool)
        say(f"approval rule {rule.name}: {'does not apply: ' + mismatch if mismatch else 'a person is asked'}")
