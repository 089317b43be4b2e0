"""Private folders go with their owners, and with the next gateway where an owner was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from hookgate.processes.private import OWNER, open_private_folder, sweep

PREFIX = "hookgate-test-"
OWNS = f"""
import os, sys, trio
from hookgate.processes.private import open_private_folder
async def main():
    async with open_private_folder({PREFIX!r}) as folder:
        (folder / "kept").write_text("x")
        print(folder, flush=True)
        sys.stdin.read()
        os.kill(os.getpid(), 9)
trio.run(main)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def owner(tmp_path: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", OWNS]
    return subprocess.Popen(command, text=True, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


async def test_a_folder_goes_with_all_in_it_when_it_is_left() -> None:
    async with open_private_folder(PREFIX) as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
    assert not folder.exists()


async def test_what_a_killed_owner_left_goes_and_what_a_living_one_has_stays(tmp_path: Path) -> None:
    with owner(tmp_path) as killed, owner(tmp_path) as living:
        assert killed.stdout is not None
        assert living.stdout is not None
        left, held = (Path(it.readline().strip()) for it in (killed.stdout, living.stdout))
        killed.communicate(timeout=60)
        await sweep(PREFIX, young_s=0.0)
        assert (left.exists(), held.exists()) == (False, True)
        living.communicate(timeout=60)


async def test_what_is_young_a_stranger_s_or_no_folder_of_ours_stays(tmp_path: Path) -> None:
    for name in ("young", "plain"):
        (tmp_path / f"{PREFIX}{name}").mkdir()
    (tmp_path / f"{PREFIX}young" / OWNER).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / f"{PREFIX}fifo")
    before = sorted(os.listdir(tmp_path))
    await sweep(PREFIX)
    assert sorted(os.listdir(tmp_path)) == before
