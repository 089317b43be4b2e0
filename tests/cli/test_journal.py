"""`hookgate store` and `hookgate sessions` as a person types them, beside a gateway and without one."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import trio

from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.values import Arrival
from hookgate.store.journal import open_journal
from tests.cli import program
from tests.model_server import Answer, open_model_server
from tests.store.journals import ANN, CARL, fill, keep_old

MISSING = "is not there: nothing has been stored in it yet"


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    """One with a journal that holds two conversations."""
    write_config(tmp_path)
    await fill(tmp_path / "journal.db")
    return tmp_path


def write_config(folder: Path) -> None:
    (folder / "hookgate.toml").write_text('[store]\njournal = "journal.db"\n')


async def hookgate(folder: Path, *arguments: str) -> CompletedProcess[str]:
    ended = await program.run(folder, *arguments)
    return CompletedProcess(ended.args, ended.returncode, ended.stdout.decode(), ended.stderr.decode())


async def said(folder: Path, *arguments: str) -> str:
    ended = await hookgate(folder, *arguments)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def names(folder: Path) -> list[str]:
    return [it.name for it in folder.iterdir()]


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


async def test_conversations_are_listed_shown_and_found_by_the_id_that_is_listed(folder: Path) -> None:
    listed = (await said(folder, "sessions", "list")).splitlines()
    assert listed[0].split()[:2] == [CARL.id, "2026-09-22"]
    assert listed[0].endswith("  0 messages, 1 unfinished")
    assert listed[1].startswith(f"{ANN.id}  2026-09-21 ")
    assert listed[1].endswith("  4 messages")
    rows = json.loads(await said(folder, "sessions", "list", "--json"))
    assert [(it["id"], it["entries"], it["unfinished"]) for it in rows] == [(CARL.id, 0, 1), (ANN.id, 4, 0)]
    assert await said(folder, "sessions", "show", ANN.id) == (
        "1 user M1: Remove notes.txt\n    please\n"
        '2 assistant: I will.\n    calls bash {"command": "rm notes.txt"}\n'
        "3 tool: removed\n4 assistant: Done.\n"
    )


async def test_a_message_is_found_by_its_id_or_how_that_begins_with_every_step_of_its_way(folder: Path) -> None:
    async with open_journal(folder / "journal.db") as journal:
        claim = await journal.work.claim("g", 60)
        assert claim is not None
        assert claim.message == "M2"
        running = await said(folder, "where", "M2")
        # Whoever has the journal works on it, though it cannot be asked.
        silent, first, *steps = running.splitlines()
        why = "and cannot be asked: its control socket is off ([control] enabled = false), or elsewhere: "
        assert silent.startswith(f"A gateway runs, process {os.getpid()}, {why}")
        assert first == f"M2 in {CARL.id} is running: hello?"
        status = await hookgate(folder, "status")
        assert (status.returncode, status.stderr[:18]) == (2, "hookgate: a gatewa")
        assert why in status.stderr
        assert [it.split()[-1] for it in steps] == ["accepted", "running"]
        await journal.work.release(claim)
        [found] = json.loads(await said(folder, "where", "--json"))
        assert (found["message"], found["conversation"], found["state"]) == ("M2", CARL.id, "queued")
    assert [it["state"] for it in json.loads(await said(folder, "where", "M", "--json"))] == ["delivered", "queued"]
    way = [it.split()[-1] for it in (await said(folder, "where", "M1")).splitlines()[1:]]
    assert way == ["accepted", "running", "waiting", "answered", "delivered"]
    # What people know of it: a word, who said it, by any of their names.
    by_word = (await said(folder, "where", "notes.TXT")).splitlines()
    assert by_word[0] == f"M1 in {ANN.id} is delivered: Remove notes.txt please"
    assert [it["message"] for it in json.loads(await said(folder, "where", "carl", "--json"))] == ["M2"]
    with (folder / "hookgate.toml").open("a") as file:
        file.write('[people.charles]\nids = ["telegram:carl"]\n')
    none, queued, *_ = (await said(folder, "where", "charles")).splitlines()
    assert none.startswith("No gateway runs ")
    assert none.endswith(": what is unfinished goes on with the next start.")
    assert queued.startswith(f"M2 in {CARL.id} is queued")
    for id_ in ("M9", "9" * 20):
        unknown = await hookgate(folder, "where", id_)
        assert (unknown.returncode, unknown.stderr) == (1, f"hookgate: {folder}/journal.db holds no message {id_}\n")


async def test_what_is_written_out_is_all_that_is_stored(folder: Path) -> None:
    exported = lines(await said(folder, "store", "export"))
    kinds = [it["kind"] for it in exported]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        **{"conversation": 2, "message": 2, "entry": 4, "call": 1, "request": 1, "row": 2, "grant": 1, "person": 1},
    }
    by_kind = {it["kind"]: it for it in reversed(exported)}
    assert [it["what"] for it in by_kind["message"]["passages"]][-2:] == ["answered", "delivered"]
    [vote] = by_kind["request"]["votes"]
    assert (vote["person"], vote["approved"], vote["grant"]) == ("bob", True, "session")
    assert (by_kind["call"]["id"], by_kind["call"]["result"]["for_llm"]) == ("2.0", "removed")
    one = lines(await said(folder, "sessions", "export", CARL.id))
    assert [(it["kind"], it.get("inbound", {}).get("text")) for it in one] == [
        ("conversation", None),
        ("message", "hello?"),
    ]


async def test_a_conversation_is_forgotten_and_the_other_is_not(folder: Path) -> None:
    ended = await hookgate(folder, "sessions", "forget", ANN.id)
    assert (ended.returncode, "--yes does it without a question" in ended.stderr) == (1, True)
    assert await said(folder, "sessions", "forget", ANN.id, "--yes") == f"forgot {ANN.id}\n"
    assert CARL.id in await said(folder, "sessions", "list")
    assert "notes.txt" not in await said(folder, "store", "export")
    async with open_journal(folder / "journal.db") as journal:
        known = await journal.intake.accept(Arrival(Inbound(Chat("telegram", "42"), "again"), "default", "u1"))
        assert known.known


async def test_the_file_is_checked_copied_and_looked_at_while_a_gateway_writes_it(folder: Path) -> None:
    file = folder / "journal.db"
    async with open_journal(file) as journal:
        await journal.intake.accept(Arrival(Inbound(Chat("telegram", "8"), "new"), "default", "u3"))
        whole = await said(folder, "store", "check")
        assert whole.startswith(f"{file} is whole: 3 conversations, 3 messages (2 unfinished), 0 to be sent, ")
        assert (await said(folder, "store", "backup", "copy.db")).startswith("copy.db is a whole copy: ")
        assert "telegram:8/default/0" in await said(folder, "sessions", "list")
        for refused in (("sessions", "forget", ANN.id, "--yes"), ("store", "trim", "--days", "1")):
            ended = await hookgate(folder, *refused)
            assert (ended.returncode, ended.stdout) == (1, "")
            assert ended.stderr.startswith(f"hookgate: {file} is in use by another hookgate (process ")
    async with open_journal(folder / "copy.db") as copy:
        assert len(await copy.books.sessions()) == 3
    assert (folder / "copy.db").stat().st_mode & 0o777 == 0o600


async def test_a_backup_overwrites_nothing_and_leaves_no_half(folder: Path) -> None:
    (folder / "mine").write_text("mine")
    for to in ("mine", "no/such/folder"):
        ended = await hookgate(folder, "store", "backup", to)
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr.startswith(f"hookgate: {folder}/{to}")
    assert (folder / "mine").read_text() == "mine"
    assert [name for name in names(folder) if name.endswith(".new")] == []


async def test_what_is_old_and_what_is_too_much_is_dropped_but_not_what_somebody_waits_for(folder: Path) -> None:
    assert (await said(folder, "store", "trim", "--days", "36500")).startswith("2 conversations left, ")
    assert (await said(folder, "store", "trim", "--mb", "0.001")).startswith("1 conversation left, ")
    exported = await said(folder, "store", "export")
    assert "notes.txt" not in exported
    assert "hello?" in exported
    assert (await hookgate(folder, "store", "trim")).returncode == 2


async def test_what_is_kept_by_name_is_trimmed_though_nobody_opens_it(folder: Path) -> None:
    old, opened = (folder / "journal.sessions" / "cli" / f"{name}.db" for name in ("old", "open"))
    for file in (old, opened):
        await keep_old(file)
    written = old.stat().st_mtime
    async with open_journal(opened):
        trimmed, left = (await said(folder, "store", "trim", "--days", "9000")).splitlines()
    assert trimmed == "1 conversation kept by name trimmed"
    assert left.startswith("2 conversations left, ")
    listed = await said(folder, "sessions", "list")
    assert ("--session open" in listed, "--session old" in listed) == (True, False)
    assert old.stat().st_mtime == pytest.approx(written)


async def test_a_conversation_that_is_kept_is_listed_with_what_goes_on_with_it_and_shown_by_that_name(
    folder: Path,
) -> None:
    for channel, name in (("cli", "mine"), ("rpc", "bot"), ("rpc", "mine")):
        await fill(folder / "journal.sessions" / channel / f"{name}.db")
    listed = await said(folder, "sessions", "list")
    for shown in ("(hookgate chat --session mine)", "(hookgate rpc --session bot)", "(hookgate rpc --session mine)"):
        assert shown in listed
    one = await said(folder, "sessions", "show", ANN.id, "--session", "bot")
    assert one
    assert await said(folder, "sessions", "show", ANN.session, "--session", "rpc/bot") == one
    assert await said(folder, "sessions", "show", ANN.session, "--session", "mine") == one


async def test_the_record_is_listed_the_newest_first_and_in_whole_for_programs(folder: Path) -> None:
    call, *_, asked = rows = (await said(folder, "audit")).splitlines()
    of = f"tool bash, outcome ran, actor telegram:ann, session {ANN.id}, channel telegram, call 2.0"
    assert (len(rows), call[:14], call[23:]) == (6, "6  2026-09-21 ", f"  call      {of}")
    assert asked.startswith("1  2026-09-21 ")
    assert asked.endswith("  asked     tool bash, request A1")
    [newest] = json.loads(await said(folder, "audit", "--last", "1", "--json"))
    assert (newest["n"], newest["details"]["arguments"]["command"]) == (6, "rm notes.txt")
    with closing(sqlite3.connect(folder / "journal.db")) as other:
        other.execute("UPDATE audit SET body = '[1' WHERE number = 6")
        other.commit()
    assert (await said(folder, "audit", "--last", "1")).split()[-2:] == ["unreadable", "-"]


async def test_damage_is_said_line_by_line_and_mended_by_nobody(folder: Path) -> None:
    file = folder / "journal.db"
    with closing(sqlite3.connect(file)) as other:
        other.execute("UPDATE messages SET inbound = '[1'")
        other.execute("UPDATE conversations SET written = 1")
        other.execute("DELETE FROM passages WHERE what = 'answered'")
        other.commit()
    before = file.read_bytes()
    ended = await hookgate(folder, "store", "check")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.splitlines() == [
        f"hookgate: {file}: 2 of messages.inbound cannot be read",
        f"hookgate: {file}: 3 entries beyond the last number that was given",
        f"hookgate: {file}: 1 ended messages whose outcome nobody can see",
    ]
    data = bytearray(before)
    data[8192 : len(data) // 2] = b"\xa5" * (len(data) // 2 - 8192)
    file.write_bytes(data)
    ended = await hookgate(folder, "store", "check")
    assert ended.returncode == 1
    assert str(file) in ended.stderr
    assert file.read_bytes() == data


@pytest.mark.parametrize(
    "command",
    [
        *(["store", it] for it in ("check", "export")),
        ["store", "backup", "x"],
        ["store", "trim", "--days", "1"],
        *(["sessions", it, "telegram:1/default/0"] for it in ("show", "export", "forget")),
        ["sessions", "list", "--session", "nobody"],
    ],
    ids=" ".join,
)
async def test_a_journal_that_is_not_there_is_said_and_not_made(tmp_path: Path, command: list[str]) -> None:
    write_config(tmp_path)
    ended = await hookgate(tmp_path, *command)
    assert (ended.returncode, ended.stdout, ended.stderr.endswith(f" {MISSING}\n")) == (1, "", True)
    assert "nobody" in command or ended.stderr.startswith(f"hookgate: {tmp_path}/journal.db ")
    listed = await hookgate(tmp_path, "sessions", "list", "--json")
    assert (listed.returncode, listed.stdout, listed.stderr) == (0, "[]\n", "")


async def test_where_nothing_was_ever_stored_nothing_is_unfinished(tmp_path: Path) -> None:
    write_config(tmp_path)
    assert json.loads(await said(tmp_path, "where", "--json")) == []
    assert await said(tmp_path, "where") == "nothing is unfinished\n"
    assert names(tmp_path) == ["hookgate.toml"]
    unknown = await hookgate(tmp_path, "where", "M9")
    assert (unknown.returncode, unknown.stderr.endswith(f" {MISSING}\n")) == (1, True)
    assert [name for name in names(tmp_path) if name.startswith("journal")] == []


@pytest.mark.parametrize("command", ["show", "export", "forget"])
async def test_a_conversation_that_is_not_there_is_said(folder: Path, command: str) -> None:
    ended = await hookgate(folder, "sessions", command, "telegram:1/x/0")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"hookgate: {folder}/journal.db holds no conversation telegram:1/x/0\n"


@pytest.mark.parametrize("kept", [(), ("--session", "work")])
async def test_what_a_chat_works_on_is_found_wherever_it_keeps_it(tmp_path: Path, kept: tuple[str, ...]) -> None:
    async with open_model_server(Answer(head=False, ending="hang")) as server:
        file = program.configured(tmp_path, server.base_url) / "hookgate.toml"
        file.write_text(file.read_text().replace("enabled = false", "enabled = true", 1))
        async with program.open_pipes(tmp_path, "chat", *kept) as chat:
            await chat.line("be SLOW")
            with trio.fail_after(program.DEADLINE_S):
                await server.arrived.wait()
            for words in ([], ["SLOW"], ["1"]):
                ended = await hookgate(tmp_path, "where", *words)
                assert (ended.returncode, ended.stderr) == (0, "")
                assert "M1 in cli:terminal/main/0 is running" in ended.stdout
            [row] = json.loads(await said(tmp_path, "where", "--json"))
            assert (row["message"], row["text"]) == ("M1", "be SLOW")
            unknown = await hookgate(tmp_path, "where", "FAST")
            assert (unknown.returncode, unknown.stdout) == (1, "")
            status = await said(tmp_path, "status")
            assert ("1 in memory, 1 stored" if kept else "1 in memory, none of them is kept") in status
            assert "asks the model" in status


async def test_a_conversation_that_is_kept_by_name_is_found_by_its_id_alone(folder: Path) -> None:
    kept = folder / "journal.sessions" / "cli"
    await fill(kept / "work.db", agent="work")
    for command in ("show", "export"):
        assert "I will." in await said(folder, "sessions", command, "telegram:42/work/0")
    await fill(kept / "more.db", agent="work")
    several = await hookgate(folder, "sessions", "show", "telegram:42/work/0")
    assert (several.returncode, several.stdout) == (1, "")
    assert several.stderr.endswith("is kept by several names: add --session NAME, one of more, work\n")
    await said(folder, "sessions", "forget", "telegram:42/work/0", "--yes", "--session", "more")
    await said(folder, "sessions", "forget", "telegram:42/work/0", "--yes")
    assert "42/work/0" not in await said(folder, "sessions", "list", "--session", "work")


async def test_conversations_are_listed_by_the_time_that_is_shown_whatever_has_been_done_to_their_files(
    tmp_path: Path,
) -> None:
    write_config(tmp_path)
    kept = tmp_path / "journal.sessions" / "cli"
    await fill(kept / "new.db")
    await keep_old(kept / "old.db")
    rows = json.loads(await said(tmp_path, "sessions", "list", "--json"))
    assert [it["kept_as"] for it in rows] == ["new", "new", "old"]
    assert [it["last_at"] for it in rows] == sorted((it["last_at"] for it in rows), reverse=True)


async def test_where_all_is_kept_by_name_a_wrong_one_is_told_so(tmp_path: Path) -> None:
    write_config(tmp_path)
    await keep_old(tmp_path / "journal.sessions" / "cli" / "work.db")
    for command in ("show", "export", "forget"):
        refused = await hookgate(tmp_path, "sessions", command, "wrong")
        why = "no conversation wrong is stored, and none is kept by that name: `hookgate sessions list` has those"
        assert (refused.returncode, refused.stderr) == (1, f"hookgate: {why} that are\n")
    unknown = await hookgate(tmp_path, "where", "hello")
    assert (unknown.returncode, MISSING in unknown.stderr) == (1, False)
    assert unknown.stderr.endswith(" with --session NAME; `hookgate sessions list` has the names\n")
    assert "work" in await said(tmp_path, "sessions", "list")


async def test_a_conversation_that_is_kept_is_found_by_its_name(tmp_path: Path) -> None:
    write_config(tmp_path)
    kept = tmp_path / "journal.sessions"
    for name in ("cli/old", "cli/more", "rpc/bot"):
        await keep_old(kept / f"{name}.db")
    await fill(kept / "cli" / "more.db")
    for name in ("old", "bot", "rpc/bot"):
        assert await said(tmp_path, "sessions", "show", name) == "1 user M1: hello\n"
        assert "hello" in await said(tmp_path, "sessions", "export", name)
    several = await hookgate(tmp_path, "sessions", "forget", "more", "--yes")
    assert several.stderr.startswith("hookgate: more holds several: say which, ID --session more: cli:/default/0, ")
    for command in ("show", "export"):
        newest = await hookgate(tmp_path, "sessions", command, "more")
        assert newest.stdout == await said(tmp_path, "sessions", command, CARL.id, "--session", "more")
        before = f"'hookgate sessions show ID --session more' shows one before it: cli:/default/0, {ANN.id}\n"
        assert (newest.returncode, newest.stderr) == (0, f"this is {CARL.id}, the newest of more; {before}")
    assert await said(tmp_path, "sessions", "forget", "old", "--yes") == "forgot cli:/default/0\n"
    assert await said(tmp_path, "sessions", "show", "cli:/default/0", "--session", "more")
