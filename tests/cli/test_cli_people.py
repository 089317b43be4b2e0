"""`hookgate approvals` and `hookgate audit` where no gateway runs, a decision being stored in the file, and where
several run."""

from __future__ import annotations

import json
import shutil
import socket
from contextlib import AsyncExitStack
from pathlib import Path
from time import time

import pytest
import trio

from hookgate.cli.people.deciding import list_waiting
from hookgate.cli.people.roles import unnamed
from hookgate.config import parse
from hookgate.protocol.approval import Terms, Wish
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.values import Step
from hookgate.store.journal import open_journal
from hookgate.store.journal.audit.anchors import anchor_file
from tests.approvals.asking import STEP, House, Person
from tests.cli.program import PROMPT, configured, open_pipes, run
from tests.cli.test_completion import offered
from tests.cli.test_journal import hookgate, said, write_config
from tests.model_server import calls, open_model_server


@pytest.fixture
async def waiting(tmp_path: Path) -> tuple[Path, str]:
    return await left_waiting(tmp_path, Wish("rule:shell", content="shell"))


async def left_waiting(tmp_path: Path, wish: Wish, step: Step = STEP) -> tuple[Path, str]:
    """A folder with a journal as it lies there when a gateway dies while a call waits, and the request's id."""
    alive, dead = tmp_path / "alive", tmp_path / "dead"
    alive.mkdir()
    write_config(alive)
    async with open_journal(alive / "journal.db", "process") as journal:
        house, person = House(journal=journal, clock=time), Person()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.settle, [wish], person, step)
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


async def test_what_waits_in_any_of_several_that_run_here_is_listed_and_decided(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(open_model_server(*[calls(("1", "ls", "{}"))] * 2))
        file = configured(tmp_path, server.base_url, '[[approvals]]\ntools = ["ls"]\n') / "hookgate.toml"
        file.write_text(file.read_text().replace("enabled = false", "enabled = true", 1))
        older, newer = [
            await stack.enter_async_context(open_pipes(tmp_path, "chat", "--yes-from-stdin")) for _ in range(2)
        ]
        await newer.sees(PROMPT)
        await older.line("look")
        await older.sees("allow? ")
        [waits] = json.loads((await run(tmp_path, "approvals", "--json")).stdout)
        await newer.type("look\n")
        await newer.sees("allow? ")
        own, both = waits["request"], (await run(tmp_path, "approvals")).stdout.decode().splitlines()
        assert {line.split()[0] for line in both} > {own}
        assert await offered(tmp_path, "approvals", "decide", own[:4]) == [own]
        assert (await run(tmp_path, "approvals", "decide", own[:8], "no")).stdout == b"Refused.\n"
        await older.sees("denied by approval")
        late = await run(tmp_path, "approvals", "decide", own[:8], "yes")
        assert late.stderr == b"hookgate: operator has refused it already.\n"
        short, unknown = [(await run(tmp_path, "approvals", "decide", it, "yes")).stderr for it in ("abc", "wxyz")]
        assert short.startswith(b"hookgate: Say more of its id")
        assert unknown == b"hookgate: There is no such request.\n"


async def test_the_list_says_who_asks_and_who_has_allowed_it_where_several_have_to(tmp_path: Path) -> None:
    wish = Wish("hook:guard", "Really push?", approvers=("boss", "9"), terms=Terms(required=2))
    group = replace(STEP, inbound=Inbound(Chat("telegram", "77", "boss", "group"), "x"))
    folder, request = await left_waiting(tmp_path, wish, group)
    assert "bash  hook:guard: Really push?, 0 of 2  {" in await said(folder, "approvals", "list")
    counted = await said(folder, "approvals", "decide", request, "yes")
    assert counted == "1 of 2: it waits for somebody else as well.\n"
    assert "bash  hook:guard: Really push?, 1 of 2 (operator)  {" in await said(folder, "approvals", "list")
    [row] = json.loads(await said(folder, "approvals", "list", "--json"))
    assert (row["required"], row["allowed"]) == (2, ["operator"])
    assert await said(folder, "approvals", "decide", request, "no") == "Refused.\n"


async def test_one_that_gives_no_answer_is_named_since_nobody_knows_what_waits_there(tmp_path: Path) -> None:
    write_config(tmp_path)
    (sockets := tmp_path / "hookgate").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as stopped:
        stopped.bind(str(sockets / "1.sock"))
        stopped.listen()
        listed = await run(tmp_path, "approvals", XDG_RUNTIME_DIR=str(tmp_path))
    assert (listed.returncode, listed.stdout) == (0, b"nothing waits for people\n")
    name = f"the hookgate at {sockets}/1.sock gives no answer"
    assert listed.stderr.decode() == f"note: {name}: it is stopped (Ctrl-Z), or stuck\n"


async def test_what_waits_is_listed_and_decided_in_the_file(waiting: tuple[Path, str]) -> None:
    folder, request = waiting
    listed = await said(folder, "approvals", "list")
    assert listed.split()[:4] == [request, "telegram:42", "bash", "rule:shell"]
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
