"""docs/scaling.md keeps its word: two gateways with its configuration share a database; what costs is counted
elsewhere (tests/store/postgres/test_message_cost.py); what operators see is said by the code."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import trio

from hookgate.assembly.settings import Settings
from hookgate.channels.web.access.passwords import hashed
from hookgate.config import load
from hookgate.sections import Config
from tests.docs.page import codes, read_page
from tests.postgres import Server
from tests.serve.gateway import get, open_served

ROOT = Path(__file__).parents[2]
PAGE = read_page(ROOT / "docs" / "scaling.md")
EVENTS = ("gateway_lost", "gateway_was_away", "database_lost", "others_not_told")


def configured(folder: Path, address: str) -> Settings:
    (folder / "work").mkdir(parents=True)
    text = PAGE.one("file").text.replace("PASSWORD", hashed("right", 8)).replace("0.0.0.0:8710", "127.0.0.1:0")
    text = text.replace("/srv/hookgate/work", str(folder / "work"))
    url = "postgresql://hookgate@db.example.org/hookgate?sslmode=verify-full"
    assert url in text
    file = folder / "hookgate.toml"
    state = f'path = "{folder}/tools.db"\njournal = "{folder}/state/journal.db"\n[control]\nenabled = false\n'
    file.write_text(text.replace(f'url = "{url}"\n', f'url = "{address}"\n{state}'))
    config: Config = load(file)[0]
    return Settings(config, folder, file, serving=True)


async def test_two_gateways_with_its_configuration_know_of_each_other(server: Server, tmp_path: Path) -> None:
    address = server.database()
    async with AsyncExitStack() as stack:
        gateways = [
            await stack.enter_async_context(open_served(configured(tmp_path / name, address)))
            for name in ("one", "two")
        ]
        for it in gateways:
            assert (await get(it, "/ready"))[0] == 200
            while len(it.runtime.journal.cluster.members) < len(gateways):
                await trio.sleep(0.02)


def test_what_operators_see_is_said_by_the_code() -> None:
    code = "".join(file.read_text() for file in (ROOT / "hookgate" / "store" / "postgres").rglob("*.py"))
    shown = {
        word for part in PAGE.parts if "operator" in part.lines[0] for row in part.rows for word in codes(row[2])
    }
    assert set(EVENTS) <= shown
    assert [it for it in EVENTS if f'"{it}"' not in code] == []
