"""hookgate's keys: no process of the same user reads them from hookgate, nor from what hookgate starts for itself."""

from __future__ import annotations

import json
import os
import site
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
import trio

from hookgate.processes.in_subprocess import run_apart
from hookgate.tools.search.query import Query
from hookgate.tools.search.search import search
from tests.cli.program import DEADLINE_S, environment
from tests.cli.rpc_client import scripted
from tests.processes import below, until

NOBODY = 65534
KEY = "sk-kept-from-everybody-0123456789"
# What a hook can read of the processes above it, up to those that are not hookgate's.
SPY = """
import json, os, sys

def readable(path):
    try:
        with open(path, "rb") as file:
            return file.read(1) != b""
    except OSError:
        return False

seen, pid = {}, os.getppid()
for _ in range(2):
    seen[pid] = [name for name in ("environ", "maps", "auxv") if readable(f"/proc/{pid}/{name}")]
    with open(f"/proc/{pid}/stat") as file:
        pid = int(file.read().rpartition(")")[2].split()[1])
seen["own"] = ["environ"] if readable("/proc/self/environ") else []
seen["env"] = sorted(os.environ)
with open("seen.part", "w") as file:
    json.dump(seen, file)
os.rename("seen.part", "seen")
for line in sys.stdin:
    call = json.loads(line)
    if "id" in call:
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": {"ok": True}}), flush=True)
"""


@dataclass(frozen=True)
class Ordinary:
    """A folder of an ordinary user's; whom to become for that, and a Python that this user may run."""

    folder: Path
    user: int | None
    python: str


@pytest.fixture
def ordinary() -> Iterator[Ordinary]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.geteuid() != 0:
            yield Ordinary(folder, None, sys.executable)
            return
        os.chown(name, NOBODY, NOBODY)
        for python in (sys.executable, "/usr/bin/python3"):
            if runs(Ordinary(folder, NOBODY, python)):
                yield Ordinary(folder, NOBODY, python)
                return
        pytest.skip("as root: no ordinary user of this machine may run a Python that has what hookgate needs")


def runs(as_: Ordinary) -> bool:
    command = [as_.python, "-c", "import hookgate.rpc.service, pydantic"]
    try:
        ended = subprocess.run(
            command, cwd=as_.folder, user=as_.user, env=paths(), check=False, capture_output=True, timeout=DEADLINE_S
        )
    except PermissionError:
        return False
    return ended.returncode == 0


def paths() -> dict[str, str]:
    """Where another Python finds hookgate and what it needs."""
    return {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *site.getsitepackages()])}


async def test_a_hook_of_the_same_user_cannot_read_hookgates_environment(ordinary: Ordinary) -> None:
    folder = ordinary.folder
    (folder / "spy.py").write_text(SPY)
    more = f'[hooks.processes.spy]\ncommand = ["{ordinary.python}", "spy.py"]\nobserve = ["*"]\n'
    scripted(folder, more=more)
    process = await trio.lowlevel.open_process(
        [ordinary.python, "-m", "hookgate", "rpc"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd=folder,
        user=ordinary.user,
        env={**environment(folder), **paths(), "OPENAI_API_KEY": KEY},
    )
    try:
        await until((folder / "seen").exists)
        seen = json.loads((folder / "seen").read_text())
        assert seen.pop("own") == ["environ"]
        assert "OPENAI_API_KEY" not in seen.pop("env")
        assert list(seen.values()) == [[], []]
        assert str(process.pid) in seen
    finally:
        process.terminate()
        with trio.fail_after(DEADLINE_S), trio.CancelScope(shield=True):
            await process.wait()


async def test_work_that_is_done_apart_sees_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert await run_apart(partial(os.getenv, "OPENAI_API_KEY"), DEADLINE_S) is None


async def test_a_search_sees_no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    seen: list[bytes] = []

    async def look() -> None:
        while not seen:
            for it in (it for it in below(os.getpid()) if b"tools.search.child" in it.line):
                # It may have ended meanwhile.
                with suppress(OSError):
                    seen.append(await trio.Path(f"/proc/{it.pid}/environ").read_bytes())
            await trio.lowlevel.checkpoint()

    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            while not seen:
                await search(Query(str(tmp_path), pattern="x"), "grep")
    assert seen == [b""]
