"""Two gateways on one database: a call that waits for people goes on once they have decided at the other gateway,
also where what that has told is lost."""

from __future__ import annotations

from pathlib import Path
from time import time

import pytest
import trio

from hookgate.approvals.people import requester
from hookgate.approvals.rules import Rule
from hookgate.protocol.approval import Decision
from hookgate.store.places import Database
from hookgate.store.postgres import cluster, notes, open_postgres_journal
from tests.approvals.asking import NO, STEP, YES, House, Person
from tests.postgres import Server

DEADLINE_S = 60.0
NEVER_S = 1e9
LISTENING = "datname = current_database() AND query LIKE 'LISTEN %'"


@pytest.mark.parametrize(
    ("again_s", "look_s", "decision"),
    [
        pytest.param(2.0, NEVER_S, YES, id="it listens again"),
        pytest.param(NEVER_S, 0.5, NO, id="it looks now and then"),
    ],
)
async def test_a_decision_is_found_that_was_told_while_nobody_listened(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    again_s: float,
    look_s: float,
    decision: Decision,
) -> None:
    monkeypatch.setattr(notes, "AGAIN_S", again_s)
    monkeypatch.setattr(cluster, "LOOK_S", look_s)
    database = Database(server.database(), tmp_path / "journal")
    person, ended = Person(), list[bool]()
    with trio.fail_after(DEADLINE_S):
        async with (
            open_postgres_journal(database, shared=True) as one,
            open_postgres_journal(database, shared=True) as two,
        ):
            while len(one.cluster.members) < 2 or len(two.cluster.members) < 2:
                await trio.sleep(0.01)
            waits, other = (House(Rule("r"), journal=it, clock=time) for it in (one, two))

            async def ask() -> None:
                ended.append(await waits.allowed(person))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask)
                await person.asked.wait()
                cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {LISTENING}"
                assert server.sql(cut, database.address).split() == ["t", "t"]
                [request] = await other.approvals.pending()
                outcome = await other.approvals.decide(request.id, decision, requester(STEP.chat))
                assert outcome.counted, outcome
            assert ended == [decision.approved]
