"""Gateways that share a database: what each shows of all, how they take a configuration over, one after the other."""

from __future__ import annotations

from pathlib import Path

from hookgate.cli.status.lines import report
from hookgate.control.gateway import gateway_methods
from hookgate.operations.gateways import GatewayStatus, read_gateway
from hookgate.operations.metrics import metrics
from hookgate.operations.status import status
from hookgate.protocol.codec import encode
from hookgate.protocol.journal.cluster import Member
from hookgate.telemetry.exposition import exposition
from tests.cli.program import hook
from tests.postgres import Server
from tests.serve.several import open_several, sharing

WEB = '[channels.web]\nkind = "web"\n[tools]\nsandbox = "off"\n'
RULE = '[[approvals]]\ntools = ["write"]\n'


async def test_each_shows_all_of_them_by_name(server: Server, tmp_path: Path) -> None:
    address = server.database()
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    first = sharing(one, address, WEB + hook(one, "guard", 'intercept = ["before_tool"]'))
    async with open_several(first, sharing(two, address, WEB + RULE)) as (a, b):
        for served in (a, b):
            found = await status(served.runtime)
            assert [it.config for it in found.gateways] == [str(it / "hookgate.toml") for it in (one, two)]
            assert [it.here for it in found.gateways] == [served is a, served is b]
            assert {it.state for each in found.gateways for it in each.channels} == {"receiving"}
            assert ["has other approval rules" in it for it in found.problems] == [True]
            rows = await gateway_methods(served.runtime)["hooks.list"].call()
            name = found.gateways[0].name
            assert [(it.gateway, it.here) for it in rows if it.command] == [(name, served is a)]
            lines = "\n".join(report(found, None))
            assert lines.count(name) > len(rows)
            assert b"hookgate_gateways 2" in exposition(await metrics(served.runtime, "ok"), openmetrics=False)


def test_what_a_gateway_of_another_version_says_of_itself_is_understood_or_left_alone() -> None:
    member = Member("id", "host:1", "9.0", 5.0)
    newer = {
        "name": "x",
        "version": "9.0",
        "since": 1,
        "config": "/c",
        "mood": "good",
        "hooks": [{"name": "h", "state": "up", "x": 1}],
    }
    found = read_gateway(member, encode(newer).decode())
    assert (found.name, found.config, found.hooks[0].state) == ("host:1", "/c", "up")
    for text in ("", "[", '{"name": 1}', '{"name": "x", "version": "9", "since": 1, "hooks": {"h": "up"}}'):
        assert read_gateway(member, text) == GatewayStatus("host:1", "9.0", 5.0)
