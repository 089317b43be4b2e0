"""What tests of every folder use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.machine import Without, link_programs


@pytest.fixture(scope="session")
def folders_of_programs(tmp_path_factory: pytest.TempPathFactory) -> dict[frozenset[str], Path]:
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
