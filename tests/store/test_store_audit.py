"""The audit chain: whole, signed, broken, cut off and partly forgotten; and a verifier in another language."""

from __future__ import annotations

import hashlib
import hmac
import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from secrets import token_hex

import pytest
import trio

from hookgate.protocol.journal.decisions import StoredGrant
from hookgate.store.journal import open_journal, opening
from hookgate.store.journal.audit.anchors import Verdict, anchor_file, key_file, verify
from hookgate.store.journal.audit.chain import links
from hookgate.store.journal.operators.looking import open_look
from tests.gotool import go_command, run_go
from tests.store.journals import ANN, fill

VERIFIER = Path(__file__).parents[2] / "docs" / "audit_verify.go"
KINDS = ["asked", "decided", "granted", "person", "intended", "call"]


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    await fill(tmp_path / "journal.db")
    return tmp_path / "journal.db"


def looked(file: Path) -> Verdict:
    with open_look(file) as tables:
        return verify(file, tables)


def change(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        for sql in statements:
            connection.execute(sql)


async def test_everything_that_was_asked_decided_and_run_is_in_it_without_a_persons_words(file: Path) -> None:
    with open_look(file) as tables:
        chain = list(links(tables))
    bodies = [json.loads(link.body) for link in chain]
    assert [body["kind"] for body in bodies] == KINDS
    assert [body["n"] for body in bodies] == [1, 2, 3, 4, 5, 6]
    assert chain[0].texts["arguments"][1] == b'{"big":1208925819614629174706176,"command":"rm notes.txt"}'
    assert not any(b"notes.txt" in link.body or b"bob" in link.body for link in chain)
    assert [body["prev"] for body in bodies] == [bytes(32).hex(), *(link.hash.hex() for link in chain[:-1])]
    assert looked(file) == Verdict("anchored", 6, 6)
    assert (key_file(file).stat().st_mode & 0o777, anchor_file(file).stat().st_mode & 0o777) == (0o600, 0o600)


async def test_what_is_stored_is_signed_soon_though_the_journal_stays_open(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "SOON_S", 0.01)
    with trio.fail_after(30):
        async with open_journal(file) as journal:
            await journal.decisions.grant(StoredGrant("g-new", "s", "ann", "rule:x", "any"))
            while looked(file) != Verdict("anchored", 7, 7):
                await trio.sleep(0.01)


async def test_a_call_has_one_whole_record_also_of_what_was_said_before_a_crash(file: Path) -> None:
    with open_look(file) as tables:
        call = list(links(tables))[-1]
    body = json.loads(call.body)
    assert [(it["hook"], it["action"]) for it in body["hooks"]] == [("guard", "continue"), ("reader", "deny_tool")]
    # The rules as they were when it began.
    assert (body["policy"], body["approvals"], body["grants"], body["outcome"]) == ("r", ["A1"], ["G1"], "ran")
    said = json.loads(call.texts["details"][1])
    assert (said["approvers"], said["actor"], said["reasons"]) == (["bob"], "telegram:ann", ["", "it names bob"])
    assert said["result"].endswith(" of 7000 bytes")


async def test_forgetting_takes_the_words_and_leaves_the_chain_whole(file: Path) -> None:
    async with open_journal(file) as journal:
        await journal.books.forget(ANN)
    assert looked(file) == Verdict("anchored", 6, 6)
    with open_look(file) as tables:
        assert [sorted(link.texts) for link in links(tables)] == [
            [],
            [],
            ["by", "text", "to"],
            ["ids", "name"],
            [],
            [],
        ]


@pytest.mark.parametrize(
    ("sql", "state", "why"),
    [
        (
            "UPDATE audit SET body = replace(body, 'true', 'false') WHERE number = 2",
            "broken",
            "record 2 is not what was",
        ),
        ("UPDATE audit_texts SET text = 'ls' WHERE record = 1", "broken", "record 1: its arguments is not what was"),
        ("DELETE FROM audit WHERE number = 3", "broken", "record 3 is missing"),
        ("DELETE FROM audit WHERE number > 3", "truncated", "a checkpoint covers 6 records, and 3 are here"),
        ("DELETE FROM audit", "truncated", "a checkpoint covers 6 records, and 0 are here"),
    ],
)
async def test_what_was_changed_or_cut_off_is_named_and_never_signed(
    file: Path, sql: str, state: str, why: str
) -> None:
    change(file, sql)
    signed = anchor_file(file).read_bytes()
    verdict = looked(file)
    assert verdict.state == state
    assert why in verdict.why
    async with open_journal(file):
        pass
    assert anchor_file(file).read_bytes() == signed


async def test_without_checkpoints_it_is_whole_and_no_more_and_with_forged_ones_broken(file: Path) -> None:
    signed = anchor_file(file).read_bytes()
    anchor_file(file).unlink()
    assert looked(file) == Verdict("unanchored", 6, 0)
    anchor_file(file).write_bytes(signed.replace(b'"n":6', b'"n":5'))
    assert looked(file).why == "a checkpoint is not signed with this key"


async def grown(file: Path, times: int) -> list[bytes]:
    """Another record and its checkpoint, so many times; all checkpoints."""
    for _ in range(times):
        async with open_journal(file) as journal:
            await journal.decisions.grant(StoredGrant(token_hex(8), "scope", "bob", "asker", "every call"))
    return anchor_file(file).read_bytes().splitlines(keepends=True)


def as_of_old(file: Path, line: bytes) -> bytes:
    """As checkpoints were signed that named neither their journal nor the one before."""
    number, hash_ = (json.loads(line)[name] for name in ("n", "hash"))
    mac = hmac.new(key_file(file).read_bytes(), f"{number}:{hash_}".encode(), hashlib.sha256).hexdigest()
    return json.dumps({"n": number, "hash": hash_, "mac": mac}).encode() + b"\n"


async def test_a_checkpoint_that_is_dropped_or_comes_from_another_journal_is_noticed(
    file: Path, tmp_path: Path
) -> None:
    lines = await grown(file, 2)
    assert looked(file) == Verdict("anchored", 8, 8)
    missing = "the checkpoint before that of record {} is missing"
    for left, why in (([lines[0], lines[2]], missing.format(8)), (lines[1:], missing.format(7))):
        anchor_file(file).write_bytes(b"".join(left))
        assert (looked(file).state, looked(file).why) == ("broken", why)
    other = tmp_path / "other.db"
    shutil.copy(key_file(file), key_file(other))
    theirs = await grown(other, 1)
    anchor_file(file).write_bytes(b"".join([*lines, *theirs]))
    assert looked(file).why == "a checkpoint is of another journal"
    # What a crash has left of a line is none, and costs the next one nothing.
    anchor_file(file).write_bytes(b"".join([*lines[:2], lines[2][:40]]))
    assert (await grown(file, 1))[-1].endswith(b"}\n")
    assert looked(file) == Verdict("anchored", 9, 9)


async def test_checkpoints_of_old_count_as_what_they_are_and_only_before_all_others(file: Path) -> None:
    [first] = await grown(file, 0)
    anchor_file(file).write_bytes(as_of_old(file, first))
    assert looked(file) == Verdict("anchored", 6, 6)
    old, new = await grown(file, 1)
    assert looked(file) == Verdict("anchored", 7, 7)
    anchor_file(file).write_bytes(new)
    assert looked(file).why == "the checkpoint before that of record 7 is missing"
    anchor_file(file).write_bytes(old + new + as_of_old(file, new))
    assert looked(file).why == "a checkpoint is not signed with this key"


async def test_a_program_that_knows_nothing_of_hookgate_verifies_what_is_exported(file: Path, tmp_path: Path) -> None:
    from hookgate.cli.people.chain import lines_of

    program = tmp_path / "verify"
    assert go_command()
    run_go("build", "-o", str(program), str(VERIFIER), cwd=tmp_path)
    exported = "".join(f"{json.dumps(line)}\n" for line in lines_of(file))

    def verified(text: str) -> tuple[int, str]:
        done = subprocess.run([program, key_file(file)], input=text, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.strip()

    assert verified(exported) == (0, "intact: 6 records, 6 of them under a checkpoint")
    unsigned = "".join(exported.splitlines(keepends=True)[:6])
    assert verified(unsigned) == (2, "intact: 6 records, 0 of them under a checkpoint")
    for broken, code, said in (
        (exported.replace("decided", "Decided"), 1, "broken: record 2"),
        ("\n".join(exported.splitlines()[1:]), 1, "broken: record 1"),
        (
            "\n".join(exported.splitlines()[:3] + exported.splitlines()[-1:]),
            3,
            "truncated: a checkpoint covers record 6",
        ),
        (exported.replace('"mac": "', '"mac": "0'), 1, "broken: the checkpoint of record 6"),
    ):
        status, text = verified(broken)
        assert (status, text.startswith(said)) == (code, True), text
    lines = await grown(file, 1)
    for checkpoints, code, said in (
        (lines, 0, "intact: 7 records, 7 of them under a checkpoint"),
        ([as_of_old(file, lines[0])], 2, "intact: 7 records, 6 of them under a checkpoint"),
        (lines[1:], 1, "broken: a checkpoint is missing, or of another journal, before that of record 7"),
        ([lines[0], as_of_old(file, lines[1])], 1, "broken: a checkpoint is missing"),
    ):
        anchor_file(file).write_bytes(b"".join(checkpoints))
        status, text = verified("".join(f"{json.dumps(line)}\n" for line in lines_of(file)))
        assert (status, text.startswith(said)) == (code, True), text
