"""The question before each start of a program: whether its files are still what a person has left there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from hookgate.assembly.keeping.kept import Keeping
from hookgate.assembly.keeping.seals import Seals, refusal
from hookgate.processes.pipes import Program, Runnable
from hookgate.protocol.dataclasses import replace

if TYPE_CHECKING:
    from hookgate.hooks.children.process import ProcessSpec
    from hookgate.processes.child import Recheck
    from hookgate.tools.mcp.server import ServerSpec


class Rechecks:
    """Why something is left out; empty: it is not."""

    def __init__(self, keeping: Keeping, seals: Seals) -> None:
        self._keeping, self._seals = keeping, seals

    def hook(self, spec: ProcessSpec) -> ProcessSpec:
        """The same, asked about before each start."""
        return replace(spec, environment=self._quiet(spec), recheck=self._program(spec))

    def server(self, spec: ServerSpec) -> ServerSpec:
        """The same for one that is a program."""
        if not spec.command:
            return spec
        program = Program(spec.command, spec.directory or ".", spec.environment)
        return replace(spec, environment=self._quiet(program), recheck=self._program(program))

    def _program(self, program: Runnable) -> Recheck:
        async def recheck() -> str:
            return await self._asked(lambda: self._keeping.sealed_by(program))

        return recheck

    def _quiet(self, program: Runnable) -> Mapping[str, str]:
        """Where tools work, Python would leave its bytecode beside the program, and so change what is sealed."""
        quiet = {"PYTHONDONTWRITEBYTECODE": "1"} if self._keeping.works_beside(program) else {}
        return {**quiet, **program.environment}

    def folder(self, folder: Path) -> Recheck:
        async def recheck() -> str:
            return await self._asked(lambda: self._keeping.sealable((folder,)))

        return recheck

    async def configuration(self) -> str:
        return await self._asked(self._keeping.configuration)

    async def start(self) -> str:
        """Of all that makes no sense to leave out: without it hookgate would be another one."""
        return await self._asked(self._keeping.started)

    def file(self, path: Path) -> str:
        """For what is only read. Blocks a little."""
        return refusal(self._seals.broken(self._keeping.sealable((path,)))) if self._seals.doubtful else ""

    async def _asked(self, paths: Callable[[], Iterable[str]]) -> str:
        if not self._seals.doubtful:
            return ""
        return refusal(await trio.to_thread.run_sync(lambda: self._seals.broken(paths())))
