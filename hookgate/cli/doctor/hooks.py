"""Each hook process is started once, introduced, asked a harmless question wherever it stands, and stopped."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from shutil import which

import trio

from hookgate import config as configuration
from hookgate.assembly.hooks.opening import process_spec, rules
from hookgate.check.advice import about_node
from hookgate.cli.doctor.finding import Examined, Finding, broken, note, ok
from hookgate.cli.doctor.packages import install, is_known
from hookgate.cli.doctor.questions import question
from hookgate.hooks.children.process import HookProcess, open_process
from hookgate.hooks.decision import allowed_at
from hookgate.hooks.rules import Rules
from hookgate.processes.child import HelloFailed
from hookgate.processes.rounds import Rounds, open_rounds
from hookgate.protocol.hook.answers import Failed
from hookgate.protocol.hook.hello import left_out
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.sections.hooks import HookSection

LINES_HEARD = 50
"""Of its stderr, for what is known to help."""
APPROVER_S = 15.0
"""An approver may be asking a person, and need not be waited for."""


async def hooks(it: Examined) -> list[Finding]:
    """One finding each, in the order of the file."""
    found: dict[str, Finding] = {}

    async def one(rounds: Rounds, name: str, section: HookSection) -> None:
        found[name] = await _Trial(it, name, section).run(rounds)

    async with open_rounds() as rounds, trio.open_nursery() as starts:
        for name, section in it.config.hooks.processes.items():
            starts.start_soon(one, rounds, name, section)
    return [found[name] for name in it.config.hooks.processes]


class _Trial:
    """One start of one hook."""

    def __init__(self, it: Examined, name: str, section: HookSection) -> None:
        self._it, self._name, self._section = it, name, section
        self._rules: Rules = rules(section, it.config.hooks.defaults)
        self._spec = process_spec(name, section, it.config, it.base)
        self._lines: deque[str] = deque(maxlen=LINES_HEARD)
        self._answers: list[str] = []
        self._problems: list[str] = []
        self._doubts: list[str] = []

    async def run(self, rounds: Rounds) -> Finding:
        if self._section.mode == "off":
            return ok(self._name, "its mode is off: not started")
        try:
            async with open_process(self._spec, rounds, self._heard) as hook:
                if doubt := left_out(hook.declared, self._rules.stages):
                    self._doubts.append(doubt)
                for stage in Stage:
                    await self._stage(hook, stage)
        except HelloFailed as error:
            self._problems.append(str(error))
        return self._finding()

    def _heard(self, lines: Sequence[bytes]) -> None:
        self._lines.extend(line.decode("utf-8", "replace") for line in lines if line.strip())

    async def _stage(self, hook: HookProcess, stage: Stage) -> None:
        if stage not in hook.declared.standing(self._rules.stages) or hook.ended.is_set():
            return
        asked = question(self._it.config, self._section.match, stage)
        if why := self._rules.match.mismatch(asked.step, asked.tool, asked.model):
            self._answers.append(f"{stage}: not asked ({why})")
        else:
            await self._ask(hook, asked)

    async def _ask(self, hook: HookProcess, asked: Question) -> None:
        stage, limit_s = asked.stage, self._rules.timeouts[asked.stage]
        patience_s = APPROVER_S if stage is Stage.APPROVE_TOOL and limit_s > APPROVER_S else limit_s + 1
        with trio.move_on_after(patience_s):
            match allowed_at(stage, await hook.ask(asked, limit_s)):
                case Failed(reason=reason):
                    self._problems.append(f"{stage}: {reason}; then its on_failure is {self._rules.policy(stage)!r}")
                case answer:
                    self._answers.append(f"{stage}: {answer.action}")
            return
        waited = f"no answer within {patience_s:g} s of its {limit_s:g}"
        self._doubts.append(f"{stage}: {waited}; it may be asking a person")

    def _finding(self) -> Finding:
        if self._problems:
            last = f"; last on its stderr: {self._lines[-1]}" if self._lines else ""
            return broken(self._name, f"{'; '.join(self._problems)}{last}", self._remedy())
        if self._doubts:
            return note(self._name, "; ".join((*self._doubts, *self._answers)))
        return ok(self._name, "; ".join(("it introduces itself", *self._answers)))

    def _remedy(self) -> str:
        if advice := about_node(self._lines):
            return advice
        program, folder = self._spec.command[0], Path(self._spec.directory)
        if (
            which(str(folder / program) if "/" in program else program, path=self._spec.environment.get("PATH"))
            is None
        ):
            missing = f"{install(program)}, or " if is_known(program) else ""
            return f"{missing}mend command in [hooks.processes.{self._name}]"
        file = self._it.file
        here = file is None or file.resolve() == Path(configuration.FILE_NAME).resolve()
        return f"hookgate hooks check {self._name}{'' if here else f' --config {shlex.quote(str(file))}'}"
