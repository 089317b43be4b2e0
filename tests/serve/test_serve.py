"""`hookgate serve`: what it says of itself over HTTP, what ends its start, and how it ends."""

from __future__ import annotations

import signal
import socket
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
import pytest
import trio

from hookgate.cli.init.writing import run_init
from hookgate.config import ConfigError
from hookgate.protocol.catalog import StoreBusy, StoreCorrupt
from hookgate.protocol.journal.views import SessionRow
from hookgate.serve.run import settled
from hookgate.store.journal.operators.listing import read_sessions
from hookgate.store.journal.operators.looking import open_look
from tests.cli.program import DEADLINE_S, HOOKGATE, environment, none_left
from tests.processes import until
from tests.serve.gateway import configured, get, open_served
from tests.store.journals import keep_old

WORKS = Path(__file__).parents[2] / "plugins" / "python" / "audit_log.py"


async def test_health_is_alive_and_ready_names_what_is_not(tmp_path: Path) -> None:
    section = "[hooks.processes.{}]\ncommand = {}\nobserve = ['turn_end']\n"
    hooks = section.format("audit", [sys.executable, str(WORKS)]) + section.format(
        "broken", [sys.executable, "-c", "exit(3)"]
    )
    stopping = trio.Event()
    async with open_served(configured(tmp_path, hooks), stopping) as served:
        await served.runtime.tried()
        assert await get(served, "/health") == (200, {"alive": True})
        status, ready = await get(served, "/ready")
        assert (status, ready["ready"], ready["store"], ready["hooks"]["audit"]) == (503, False, "ok", "ok")
        assert "exit" in ready["hooks"]["broken"]
        assert (await get(served, "/else"))[0] == 404
    async with open_served(configured(tmp_path), stopping) as served:
        assert (await get(served, "/ready"))[1]["ready"] is True


async def test_a_gateway_without_a_channel_says_so_and_how_to_get_one(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path)) as served:
        _, line, *_ = served.lines
        assert line.startswith("No channel is configured, so nobody can talk to it. ")
        assert '[channels.web] with kind = "web"' in line
    async with open_served(configured(tmp_path, '[channels.web]\nkind = "web"\n')) as served:
        assert not any("No channel" in line for line in served.lines)
        status, said = await get(served, "/hooks/nope")
        assert (status, said) == (404, {"error": "there is nothing at /hooks/nope"})


async def test_a_gateway_that_stops_is_not_ready(tmp_path: Path) -> None:
    stopping = trio.Event()
    async with open_served(configured(tmp_path), stopping) as served:
        stopping.set()
        status, ready = await get(served, "/ready")
        assert (status, ready["stopping"]) == (503, True)


async def test_a_port_that_is_taken_is_a_mistake_of_the_configuration(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        refused = pytest.RaisesExc(ConfigError, match=f"http.listen: {listen} cannot be had")
        with pytest.RaisesGroup(refused, flatten_subgroups=True):
            async with open_served(configured(tmp_path, listen=listen)):
                raise AssertionError("it was opened")


async def test_a_journal_that_another_gateway_has_is_refused_and_one_that_is_damaged_left_alone(
    tmp_path: Path,
) -> None:
    settings = configured(tmp_path)
    async with open_served(settings):
        with pytest.raises(StoreBusy, match="another hookgate"):
            async with open_served(settings):
                raise AssertionError("it was opened")
    journal = tmp_path / "state" / "journal.db"
    journal.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreCorrupt):
        async with open_served(settings):
            raise AssertionError("it was opened")
    assert journal.read_bytes().startswith(b"not a database")


async def test_a_conversation_that_a_terminal_keeps_and_nobody_opens_gets_no_older_than_all_others(
    tmp_path: Path,
) -> None:
    kept = tmp_path / "state" / "journal.sessions" / "cli" / "old.db"
    await keep_old(kept)
    settings = configured(tmp_path)
    store = settings.config.store.model_copy(update={"keep_days": 9000.0})

    def sessions() -> tuple[SessionRow, ...]:
        with open_look(kept) as tables:
            return read_sessions(tables)

    assert len(sessions()) == 1
    async with open_served(replace(settings, config=settings.config.model_copy(update={"store": store}))):
        await until(lambda: not sessions())


async def test_the_program_tells_its_service_manager_and_ends_with_0(tmp_path: Path) -> None:
    configured(tmp_path)
    told = trio.socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    await told.bind(str(tmp_path / "notify"))
    env = {**environment(tmp_path), "NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "60000000"}
    with trio.fail_after(DEADLINE_S), told:
        async with trio.open_nursery() as nursery:
            process = await nursery.start(partial(trio.run_process, [*HOOKGATE, "serve"], cwd=tmp_path, env=env))
            first = {await told.recv(100), await told.recv(100)}
            assert first == {b"READY=1", b"WATCHDOG=1"}
            process.send_signal(signal.SIGHUP)
            assert (await told.recv(100)).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
            assert await told.recv(100) == b"READY=1"
            process.send_signal(signal.SIGTERM)
            while (said := await told.recv(100)) != b"STOPPING=1":
                assert said == b"WATCHDOG=1"
        assert process.returncode == 0
    await none_left(tmp_path)


async def test_what_init_writes_opens_a_page(tmp_path: Path) -> None:
    assert run_init(tmp_path, force=False, gateway=True) == 0
    file = tmp_path / "hookgate.toml"
    text = file.read_text().replace('#model = "ollama/qwen3:4b"', 'model = "ollama/qwen3:4b"')
    text = text.replace("#[channels.api]\n#kind", "[channels.api]\nkind")
    file.write_text(text.replace(":8710", ":0") + f'[store]\njournal = "{tmp_path}/state/journal.db"\n')
    async with open_served(settled(file)) as served:
        begin, page_line, *programs = served.lines
        assert [it.partition(":")[0] for it in (begin, page_line)] == ["hookgate answers at http", "web"]
        assert sorted(programs) == [f"programs: http://{served.address}/{it}" for it in ("metrics", "rpc", "v1")]
        async with httpx.AsyncClient() as client:
            page = await client.get(f"http://{served.address}/")
        assert page.status_code == 200
        assert "<title>" in page.text
