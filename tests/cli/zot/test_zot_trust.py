"""What was agreed to is what runs: one look is handed on to the start, and each restart is judged again."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trio

from hookgate.assembly.extensions.extensions import Extensions, Joints
from hookgate.assembly.settings import ExtensionFlags
from hookgate.channels.terminal.dialogue import Dialogue
from hookgate.cli.terminal.trust import introduce
from hookgate.extensions import trust
from hookgate.extensions.trust import Trust, digest
from hookgate.hooks.zot.spec import ExtensionSpec
from hookgate.processes.child import NotAgain
from hookgate.processes.rounds import Rounds, open_rounds
from hookgate.sections import Config
from hookgate.tools.registry import Registry
from tests.cli.program import DEADLINE_S, none_left
from tests.cli.zot.zot_folders import extension, project


@dataclass(frozen=True)
class Here:
    """A project with one extension that is trusted."""

    directory: Path
    flags: ExtensionFlags
    read: list[Path]

    @property
    def spec(self) -> ExtensionSpec:
        (plan,) = Extensions(Config(), self.flags, Joints(Registry(), ()), self.flags.found).plans
        assert isinstance(plan.spec, ExtensionSpec)
        return plan.spec


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    for name in ("HOME", "ZOT_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    directory, agreed, read = extension(project(tmp_path), "ext"), Trust(tmp_path / "trusted"), list[Path]()

    def reading(folder: Path) -> str:
        read.append(folder)
        return digest(folder)

    monkeypatch.setattr(trust, "digest", reading)
    agreed.agree(directory, digest(directory))
    return Here(directory, ExtensionFlags(discover=True, trust=agreed), read)


async def nobody(dialogue: Dialogue) -> str | None:
    raise AssertionError(f"asked {dialogue.text((80, 24))!r}")


async def yes(_dialogue: Dialogue) -> str | None:
    await trio.lowlevel.checkpoint()
    return "yes"


async def test_where_nobody_is_asked_each_folder_is_read_once(here: Here) -> None:
    found = await introduce(Config(), here.flags, nobody, pytest.fail)
    assert replace(here, flags=replace(here.flags, found=found)).spec.name == "ext"
    assert here.read == [here.directory]


async def test_after_a_question_all_is_looked_at_again(here: Here) -> None:
    extension(here.directory.parent, "new")
    assert await introduce(Config(), here.flags, yes, pytest.fail) is None
    plans = Extensions(Config(), here.flags, Joints(Registry(), ())).plans
    assert [plan.spec.name for plan in plans] == ["ext", "new"]


@asynccontextmanager
async def open_in_time() -> AsyncGenerator[Rounds]:
    with trio.fail_after(DEADLINE_S):
        async with open_rounds() as rounds:
            yield rounds


async def test_one_that_has_changed_is_not_started_again_until_it_is_what_it_was(here: Here, tmp_path: Path) -> None:
    async with open_in_time() as rounds:
        spec = here.spec
        for _ in range(2):
            async with spec.open(rounds) as live:
                assert live.extension == "ext"
        (here.directory / "more.py").touch()
        with pytest.raises(NotAgain, match=r"^it has changed since it was trusted$"):
            await started(spec, rounds)
        (here.directory / "more.py").unlink()
        await started(spec, rounds)
        assert here.flags.trust
        here.flags.trust.forget(here.directory)
        with pytest.raises(NotAgain, match=r"^it is not trusted any more$"):
            await started(spec, rounds)
    await none_left(tmp_path)


async def started(spec: ExtensionSpec, rounds: Rounds) -> None:
    async with spec.open(rounds):
        pass
