"""`hookgate approvals` and `hookgate audit` where no gateway runs: a decision is stored in the file."""

from __future__ import annotations

import shutil
from pathlib import Path
from time import time

import pytest
import trio

from hookgate.approvals.rules import Rule
from hookgate.cli.people.deciding import list_waiting
from hookgate.cli.people.roles import unnamed
from hookgate.config import parse
from hookgate.store.journal import open_journal
from hookgate.store.journal.audit.anchors import anchor_file
from tests.approvals.asking import STEP, House, Person
from tests.cli.test_journal import hookgate, said, write_config


@pytest.fixture
async def waiting(tmp_path: Path) -> tuple[Path, str]:
    """A folder with a journal as it lies there when a gateway dies while a call waits, and the request's id."""
    alive, dead = tmp_path / "alive", tmp_path / "dead"
    alive.mkdir()
    write_config(alive)
    async with open_journal(alive / "journal.db", "process") as journal:
        house, person = House(Rule("shell"), journal=journal, clock=time), Person()
        subject = await house.subject()
        async with trio.open_nursery() as nursery:
            wishes = house.approvals.wishes(STEP, subject.call)
            nursery.start_soon(house.approvals.settle, subject, wishes, person)
            await person.asked.wait()
            shutil.copytree(alive, dead)
            nursery.cancel_scope.cancel()
    return dead, person.requests[0].id


def test_where_nothing_was_ever_stored_nothing_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    write_config(tmp_path)
    assert list_waiting(None, None, as_json=False) == list_waiting(None, None, as_json=True) == 0
    assert capsys.readouterr().out == "nothing waits for people\n[]\n"


async def test_a_role_that_nothing_names_is_noted_with_the_one_that_was_meant(tmp_path: Path) -> None:
    write_config(tmp_path)
    made = await hookgate(tmp_path, "keys", "add", "ann", "--channel", "rpc", "--role", "operater")
    assert made.returncode == 0
    meant = "'operater' (did you mean 'operator'?): it gives no right, unless a hook asks for it"
    assert made.stderr.splitlines()[1] == f"note: nothing in the configuration names the role {meant}"
    lists = '[[approvals]]\ntools = ["bash"]\napprovers = ["role:ops"]\nroles = ["!intern*"]\n'
    config = parse(lists, tmp_path / "hookgate.toml")
    assert [unnamed(it, config) for it in ("operator", "approver", "ops", "interns")] == [""] * 4
    assert "(did you mean 'ops'?)" in unnamed("opss", config)


async def test_what_waits_is_listed_and_decided_in_the_file(waiting: tuple[Path, str]) -> None:
    folder, request = waiting
    listed = await said(folder, "approvals", "list")
    assert listed.split()[:3] == [request, "telegram:42", "bash"]
    assert await said(folder, "approvals", "decide", request[:6], "no", "--reason", "not today") == "Refused.\n"
    for told in (request, request[:8]):
        late = await hookgate(folder, "approvals", "decide", told, "yes")
        assert (late.returncode, late.stderr) == (1, "hookgate: operator has refused it already: not today.\n")
    assert await said(folder, "approvals", "list") == "nothing waits for people\n"
    assert await said(folder, "audit", "verify") == (
        "intact and anchored: 2 records, all of them under a signed checkpoint\n"
    )
    assert len((await said(folder, "audit", "export")).splitlines()) >= 3
    anchor_file(folder / "journal.db").unlink()
    unsigned = await hookgate(folder, "audit", "verify")
    assert (unsigned.returncode, unsigned.stdout) == (
        2,
        "intact, but unanchored: 2 records, and the last 2 are under no signed checkpoint\n"
        "A hookgate that runs signs what is new within seconds, and all of it when it stops: ask again then.\n",
    )
