"""Which hook a command is about: one of the configuration by its name, or a command line as it stands."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hookgate import config as configuration
from hookgate.assembly.hooks.guards import GUARD
from hookgate.assembly.hooks.opening import process_spec, rules
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.assembly.preflight.check import built_in
from hookgate.channels.printable import printable
from hookgate.cli.printing import complain
from hookgate.config import ConfigError
from hookgate.hooks.children.mounts import Plan
from hookgate.hooks.children.process import ProcessSpec
from hookgate.hooks.rules import Rules
from hookgate.mistakes import close
from hookgate.processes.child import Late
from hookgate.processes.interpreters import INTERPRETERS, PROJECT_TOOLS, program_name
from hookgate.processes.last_words import WARNING
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.hook.match import Globs
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.zot.names import EXTENSION
from hookgate.rehearsal.subject import Telling
from hookgate.sections import Config, LogSection

if TYPE_CHECKING:
    from hookgate.processes.pipes import TakeLines


@dataclass(frozen=True)
class Named:
    """What the command line says: a `name`, or a `program` and its arguments. `directory` and `env` are a program's
    alone, and `hello_timeout_s`, so long its start may take: a configured hook has its own."""

    name: str
    program: tuple[str, ...]
    config_file: Path | None = None
    directory: str = ""
    env: tuple[str, ...] = ()
    hello_timeout_s: float | None = None

    @property
    def is_program(self) -> bool:
        return bool(self.program)


def plan_of(named: Named) -> tuple[Plan, Config]:
    """As a gateway would start it, and the configuration that says so. A program, of which nothing is configured, is
    offered every stage. Raises ConfigError."""
    if not named.is_program:
        return _configured(named)
    return Plan(_program(named), Rules(stages=ALL_STAGES)), Config()


def own_tools(config: Config) -> frozenset[str]:
    """Names of hookgate's own, which a hook's of the same name stands behind."""
    enabled = Globs(config.tools.enabled)
    return frozenset(name for name in built_in().snapshot().tools if enabled.covers(name))


ALL_STAGES = frozenset(Stage)
HELLO_S = 60.0
"""What a program may take to its hello: `go run` and `npx` compile and download, the first time."""


def _configured(named: Named) -> tuple[Plan, Config]:
    if named.directory or named.env or named.hello_timeout_s:
        ours = "--dir, --env and --hello-timeout are for a program behind `--`"
        raise ConfigError(f"{ours}: a configured hook has its own")
    config, file = configuration.load(named.config_file)
    name, processes = named.name, config.hooks.processes
    if name not in processes and name.startswith(EXTENSION):
        why = "an extension speaks zot's protocol and not that of hooks"
        raise ConfigError(
            f"{name} cannot be asked so: {why}; `hookgate hooks check {name}` starts it and says what is odd"
        )
    if name not in processes and name.startswith(GUARD):
        raise ConfigError(f"{name} is built in: [guards] sets it, and there is no program to ask")
    if name not in processes:
        there = ", ".join(processes) or "none"
        hint = f"(there are: {there}); a program goes behind `--`"
        raise ConfigError(f"{file}: there is no hook {name!r}{close(name, processes)} {hint}")
    section, defaults = processes[name], config.hooks.defaults
    spec = process_spec(name, section, config, file.parent)
    return Plan(spec, rules(section, defaults), section.required), config


def spec_of(plan: Plan) -> ProcessSpec:
    assert isinstance(plan.spec, ProcessSpec)  # noqa: S101 - extensions have another wire
    return plan.spec


def _program(named: Named) -> ProcessSpec:
    environment = {**configuration.base_environment(), **pairs(named.env)}
    name, directory = _program_name(named), named.directory or "."
    hello_s = named.hello_timeout_s or HELLO_S
    started = ProcessSpec(name, named.program, directory, environment, ALL_STAGES, observes=True, configured=False)
    here = _beside(named)
    told = {"media_dir": str(configuration.media_folder(here)), "workspace": configuration.workspace_told(here)}
    return replace(started, hello_timeout_s=hello_s, **told)


def _beside(named: Named) -> Config:
    """The configuration in whose place a program is tried: what was recorded there names files of its folders."""
    try:
        return configuration.load(named.config_file)[0]
    except ConfigError:
        if named.config_file:
            raise
        return Config()


def _program_name(named: Named) -> str:
    """Of what an interpreter runs, else of the program itself; never of an argument."""
    program, *rest = named.program
    scripts = (it for it in rest if not it.startswith("-") and (Path(named.directory) / it).is_file())
    script = next(scripts, program) if program_name(program) in _RUN_OTHERS else program
    return Path(script).stem or "hook"


_RUN_OTHERS = INTERPRETERS.keys() | PROJECT_TOOLS | {"env"}


def pairs(env: Sequence[str]) -> Mapping[str, str]:
    return dict(_pair(item) for item in env)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ConfigError(f"--env {text!r}: write it NAME=VALUE")
    return name, value


def quiet() -> None:
    """What the log would say of the hook is said by the command itself."""
    set_up_logs(LogSection(level="error"))


def telling(named: Named, plan: Plan) -> Telling:
    return Telling(_show_stderr(plan.name), say_late(named, plan))


def say_late(named: Named, plan: Plan) -> Late:
    """That it has not said hello yet, and what gives it more time."""
    longer = "--hello-timeout SECONDS" if named.is_program else "hello_timeout_ms in [hooks.defaults]"
    until = f"waiting for up to {spec_of(plan).hello_timeout_s:g} s ({longer})"
    return lambda why: complain(f"{plan.name}: no hello yet: {why}; {until}")


def _show_stderr(name: str) -> TakeLines:
    """What the hook says to people, as it comes, behind its name: once, where the SDKs have written it there."""

    def take(lines: Sequence[bytes]) -> None:
        for line in lines:
            text = printable(line.decode("utf-8", "replace")).removeprefix(WARNING)
            sys.stderr.write(f"{name}: {text.removeprefix(f'{name}: ')}\n")
        sys.stderr.flush()

    return take
