"""What tests of every folder use: PATHs without a program, and leaving out tests for which the machine has none."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path

import httpx
import pytest
from hypothesis import settings
from structlog.dev import ConsoleRenderer, plain_traceback

from tests.folders import open_folder
from tests.machine import Without, left_out, link_programs, missing, no_walls
from tests.postgres import MADE, PREFIX, Server, postgres, programs
from tests.preloaded import SHARED, open_preloaded, start

settings.register_profile("short", max_examples=30, deadline=None)
settings.register_profile("long", max_examples=3000, deadline=None)
settings.load_profile("short")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(NAME, ...): programs without which the test means nothing")
    if config.getoption("numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ:
        # Whoever starts the workers has the server for all of them, which imports while they collect.
        stack = ExitStack()
        config.add_cleanup(stack.close)
        stack.enter_context(open_preloaded())
        os.environ[SHARED] = start()
        os.environ[MADE] = str(stack.enter_context(open_folder(PREFIX)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Ten thousand tests are no garbage: to look through them again and again takes as long as to collect them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """At once, not at the end: a run that is cut off has said what failed."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\n{report.nodeid} failed ({report.when})\n{report.longreprtext}", file=sys.__stderr__, flush=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    lacking = set(missing())
    without = [item for item in items if _needs(item) & lacking]
    config.hook.pytest_deselected(items=without)
    items[:] = [item for item in items if item not in without]


def pytest_runtest_setup(item: pytest.Item) -> None:
    if "bwrap" in _needs(item) and no_walls():
        pytest.skip(no_walls())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if missing():
        terminalreporter.write_line(left_out())


def _needs(item: pytest.Item) -> set[str]:
    return {name for mark in item.iter_markers("needs") for name in mark.args}


@pytest.fixture(scope="session", autouse=True)
def _folders(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Nothing is left in the home of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_STATE_HOME", "XDG_DATA_HOME"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
        yield


@pytest.fixture(scope="session", autouse=True)
def _plain_log() -> None:
    """What a test logs is seen where it fails: pictures of every frame and its variables cost more than the tests."""
    ConsoleRenderer.get_active().exception_formatter = plain_traceback


@pytest.fixture(scope="session", autouse=True)
def _authorities_once() -> Generator[None]:
    """Every client of httpx reads all of them, which takes longer than what it asks then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("httpx._transports.default.create_ssl_context", cache(httpx.create_ssl_context))
        yield


@pytest.fixture(scope="session", autouse=True)
def _preloaded(_folders: None) -> Generator[None]:
    with open_preloaded():
        yield


@pytest.fixture(scope="session")
def _folders_named() -> Counter[str]:
    """How many there are, by their names without a number."""
    return Counter()


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, _folders_named: Counter[str]
) -> Path:
    """As pytest makes it, which looks through those of all tests before for each."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    while True:
        folder = tmp_path_factory.getbasetemp() / f"{name}{_folders_named[name]}"
        _folders_named[name] += 1
        # One whose own name ends in a number may have it.
        with suppress(FileExistsError):
            folder.mkdir(0o700)
            return folder


@pytest.fixture(scope="session")
def server() -> Generator[Server]:
    if programs() is None:
        pytest.skip("this machine has no PostgreSQL server")
    with postgres() as server:
        yield server


@pytest.fixture(scope="session")
def folders_of_programs() -> dict[frozenset[str], Path]:
    """By what they lack: each is made once."""
    return {}


@pytest.fixture
def without(
    folders_of_programs: dict[frozenset[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Without:
    """Takes programs from PATH until the test ends."""

    def take(*names: str) -> str:
        lacking = frozenset(names)
        if lacking not in folders_of_programs:
            folders_of_programs[lacking] = tmp_path_factory.mktemp("programs")
            link_programs(folders_of_programs[lacking], os.environ["PATH"], lacking)
        path = str(folders_of_programs[lacking])
        monkeypatch.setenv("PATH", path)
        return path

    return take


@pytest.fixture(autouse=True)
def machine(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The programs that are not on PATH for this test: see `with_and_without`."""
    lacking: tuple[str, ...] = getattr(request, "param", ())
    if lacking:
        request.getfixturevalue("without")(*lacking)
    return lacking
