"""What a journal has said is stored is there after the process was killed, and after the power was cut."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import trio

from hookgate.protocol.journal.values import AlreadyIntended, Claim, Conversation, Intent
from hookgate.store.journal import StoredJournal, open_journal
from tests.store.power import power_shim

ROOT = Path(__file__).parents[2]
WRITER = Path(__file__).with_name("journal_writer.py")
PATIENCE_S = 60.0
ROUNDS = 6


async def killed_after(file: Path, lines: int, durability: str, name: str, **environment: str) -> list[str]:
    """What a writer had said was stored when it was killed outright, in the middle of what it did."""
    program = [sys.executable, str(WRITER), str(file), durability, name]
    said = bytearray()
    process = await trio.lowlevel.open_process(
        program, stdout=subprocess.PIPE, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), **environment}
    )
    assert process.stdout is not None
    try:
        with trio.fail_after(PATIENCE_S):
            while said.count(b"\n") < lines and (data := await process.stdout.receive_some()):
                said += data
            process.kill()
            while data := await process.stdout.receive_some():
                said += data
            await process.wait()
    finally:
        process.kill()
        await process.stdout.aclose()
    assert said.count(b"\n") >= lines
    return said.decode().splitlines()


async def found(journal: StoredJournal, said: Sequence[str]) -> None:
    """Everything that was said is true, of each message and call."""
    claims = dict[str, Claim]()
    for word, name, *rest in map(str.split, said):
        if word == "intended":
            session = rest[0]
            if session not in claims:
                # What was cut off there comes before all other work.
                left = await journal.intake.unfinished("message", session)
                message = left[0].accepted.id if left else ""
                claim = await journal.work.claim("test", 600, Conversation(session, "agent"), message)
                assert claim is not None
                claims[session] = claim
            with pytest.raises(AlreadyIntended):
                await journal.work.intend(claims[session], Intent(name, "p"))
        else:
            passages = [it.what for place in await journal.books.where(name) for it in place.passages]
            assert word in passages, (word, name, passages)
    for claim in claims.values():
        await journal.work.release(claim)


async def test_nothing_that_was_stored_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    chance, said = random.Random(4), list[str]()
    file = tmp_path / "journal.db"
    for number in range(ROUNDS):
        durability = ("power", "process")[number % 2]
        said += await killed_after(file, chance.randrange(1, 120), durability, f"r{number}-")
        async with open_journal(file) as journal:
            await found(journal, said)
            for row in await journal.posting.outgoing("test"):
                # An answer is there where its message is answered, and only there.
                assert row.outbound.text == f"answer to {row.in_reply_to}"
                assert "answered" in [it.what for it in (await journal.books.where(row.in_reply_to))[0].passages]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = power_shim(tmp_path_factory.mktemp("shim"))
    if library is None:
        pytest.skip("no C compiler on this machine: what a power cut leaves is not looked at")
    return library


async def cut_off(folder: Path, lines: int, durability: str, shim: Path) -> tuple[Path, list[str]]:
    """A journal as a disk has it whose power was cut, and what had been said to be stored."""
    file, shadow = folder / "journal.db", folder / "shadow"
    async with open_journal(file):
        pass
    shadow.mkdir()
    shutil.copy(file, shadow)
    said = await killed_after(file, lines, durability, "p", LD_PRELOAD=str(shim), POWER_SHADOW=str(shadow))
    return shadow / "journal.db", said


@pytest.mark.parametrize("lines", [2, 37, 150])
async def test_nothing_that_was_stored_is_lost_when_the_power_is_cut(tmp_path: Path, lines: int, shim: Path) -> None:
    file, said = await cut_off(tmp_path, lines, "power", shim)
    async with open_journal(file) as journal:
        await found(journal, said)


async def test_without_barriers_a_power_cut_loses_the_end_and_damages_nothing(tmp_path: Path, shim: Path) -> None:
    """Which also shows that this cut takes something away."""
    file, said = await cut_off(tmp_path, 60, "process", shim)
    async with open_journal(file) as journal:
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            await found(journal, said)
