"""`/metrics` as Prometheus scrapes it, read by its own parsers; and who gets it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from hookgate.config import parse
from hookgate.protocol.chat import Chat, Inbound
from hookgate.serve.run import Served
from hookgate.telemetry.exposition import MOST_SERIES, OPENMETRICS, TEXT, Counts, Durations, exposition
from tests.serve.gateway import configured, open_served
from tests.telemetry.others import read_by, skip_without_others

MORE = """
[channels.page]
kind = "web"
[people.ann]
ids = ["metrics:prometheus"]
roles = ["operator"]
[hooks.processes.guard]
command = ["{python}", "guard.py"]
intercept = ["before_tool"]
on_failure = "deny"
"""
GUARD = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    said = {"protocol_version": 1, "name": "guard", "stages": ["before_tool"]}
    if asked["method"] == "hook.before_tool":
        denied = asked["params"]["arguments"].get("path") == "secret"
        said = {"action": "deny_tool", "reason": "no"} if denied else {"action": "continue"}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
"""
SCRIPT = {
    "steps": [
        {"when": "look", "calls": [{"name": "ls", "arguments": {}}]},
        {"when": "steal", "calls": [{"name": "ls", "arguments": {"path": "secret"}}]},
        {"when": "make up", "calls": [{"name": "no_such_tool", "arguments": {}}]},
        {"when": "wait", "calls": [{"name": "bash", "arguments": {"command": "tail -n 0 -f script.json"}}]},
        {"when": "break", "fail": {"kind": "auth", "reason": "this key is not known"}},
    ]
}


@pytest.fixture(autouse=True)
def _readers() -> None:
    skip_without_others()


async def scraped(served: Served, accept: str = TEXT) -> dict[str, list[Any]]:
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"http://{served.address}/metrics", headers={"accept": accept})
        assert answer.status_code == 200
        assert answer.headers["content-type"] == (OPENMETRICS if "openmetrics" in accept else TEXT)
        return await read_by("read_metrics.py", answer.content, answer.headers["content-type"])


def value(families: dict[str, list[Any]], sample: str, **labels: str) -> float:
    """The sum over all samples of that name with these labels, among others."""
    _, samples = families[sample] if sample in families else families[sample.rpartition("_")[0]]
    return sum(v for name, own, v in samples if name == sample and labels.items() <= own.items())


async def talk(served: Served, *texts: str) -> None:
    for number, text in enumerate(texts):
        said = Inbound(Chat("page", "ann-private-chat", "ann-herself"), text, message_id=str(number))
        await served.runtime.gateway.receive(said)
    await served.runtime.gateway.idle("page:ann-private-chat")


async def test_a_scrape_has_figures_that_prove_where_every_call_went(tmp_path: Path) -> None:
    (tmp_path / "guard.py").write_text(GUARD)
    settings = configured(tmp_path, MORE.format(python=sys.executable), json.dumps(SCRIPT))
    async with open_served(settings) as served:
        await talk(served, "look", "steal", "make up", "break")
        found = await scraped(served)
        calls = value(found, "hookgate_tool_calls_total")
        decisions = {it: value(found, "hookgate_tool_call_decisions_total", decision=it) for it in DECISIONS}
        assert (calls, decisions) == (2, {"denied": 1, "answered": 0, "allowed": 1})
        assert value(found, "hookgate_tool_call_ends_total") == decisions["allowed"]
        assert value(found, "hookgate_tool_skipped_total", reason="not_found") == 1
        by_hook = {"hook": "guard", "stage": "before_tool"}
        assert value(found, "hookgate_hook_duration_seconds_count", **by_hook, action="continue") == 1
        assert value(found, "hookgate_hook_duration_seconds_count", **by_hook, action="deny_tool") == 1
        assert value(found, "hookgate_turn_duration_seconds_count", channel="page", outcome="completed") == 3
        assert value(found, "hookgate_turn_duration_seconds_count", channel="page", outcome="error") == 1
        assert value(found, "hookgate_model_duration_seconds_count", agent="main", outcome="error") == 1
        assert value(found, "hookgate_tool_duration_seconds_count", tool="ls", outcome="ok") == 1
        assert value(found, "hookgate_tool_duration_seconds_bucket", tool="ls", le="+Inf") == 1
        assert value(found, "hookgate_channel_state", channel="page", state="receiving") == 1
        assert value(found, "hookgate_hook_up", hook="guard") == 1
        assert value(found, "hookgate_store_up") == 1
        assert value(found, "process_resident_memory_bytes") > 1e7
        said = json.dumps(found)
        assert [word for word in ("ann-", "private", "no_such_tool") if word in said] == []
        strict = await scraped(served, "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
        assert strict.keys() == {name.removesuffix("_total") for name in found}
        assert value(strict, "hookgate_tool_calls_total") == calls


async def test_a_call_that_a_person_has_stopped_counts_as_one_that_was_cancelled(tmp_path: Path) -> None:
    chat = Chat("page", "c", "ann")
    async with open_served(configured(tmp_path, '[channels.page]\nkind = "web"\n', json.dumps(SCRIPT))) as served:
        receive = served.runtime.gateway.receive
        await receive(Inbound(chat, "wait", message_id="1"))
        with trio.fail_after(60):
            while not value(await scraped(served), "hookgate_turns_doing", doing="tool"):
                await trio.sleep(0.01)
        await receive(Inbound(chat, "/stop", message_id="2"))
        await served.runtime.gateway.idle(chat.session_key)
        (_, samples) = (await scraped(served))["hookgate_tool_duration_seconds"]
        counted = [own for name, own, _ in samples if name == "hookgate_tool_duration_seconds_count"]
        assert counted == [{"tool": "bash", "outcome": "cancelled"}]


DECISIONS = ("denied", "answered", "allowed")


async def test_who_is_not_on_this_machine_shows_the_key_of_an_operator(tmp_path: Path) -> None:
    (tmp_path / "guard.py").write_text(GUARD)
    async with open_served(configured(tmp_path, MORE.format(python=sys.executable))) as served:
        keys = served.runtime.keys
        operator, shown = await keys.add("metrics", "prometheus", "test")
        _, other = await keys.add("metrics", "nobody", "test")
        async with httpx.AsyncClient(base_url=f"http://{served.address}") as client:

            async def asked(key: str = "", **headers: str) -> int:
                bearer = {"authorization": f"Bearer {key}"} if key else {}
                return (await client.get("/metrics", headers={**bearer, **headers})).status_code

            elsewhere = {"host": "gateway.example.org"}
            assert (await asked(), await asked(**elsewhere)) == (200, 401)
            assert await asked(**{"x-forwarded-for": "203.0.113.7"}) == 401
            assert (await asked(shown, **elsewhere), await asked(other, **elsewhere)) == (200, 403)
            assert (await client.post("/metrics")).status_code == 405
            await keys.revoke(operator, "test")
            assert await asked(shown, **elsewhere) == 401


async def test_whoever_asks_with_a_name_that_is_none_is_not_on_this_machine(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path)) as served, httpx.AsyncClient() as client:
        answer = await client.get(f"http://{served.address}/metrics", headers={"host": "["})
        assert (answer.status_code, answer.json()["error"][:10]) == (401, "show a key")


@pytest.mark.parametrize("origin", ["https://gateway.example.org", ""])
async def test_behind_a_proxy_or_where_it_is_said_everybody_shows_a_key(origin: str, tmp_path: Path) -> None:
    settings = configured(tmp_path, f'[channels.page]\nkind = "web"\norigin = "{origin}"\n')
    if not origin:
        said = parse('[http]\nlisten = "127.0.0.1:0"\nmetrics = "key"\n', tmp_path / "hookgate.toml").http
        settings = replace(settings, config=settings.config.model_copy(update={"http": said}))
    async with open_served(settings) as served, httpx.AsyncClient() as client:
        assert (await client.get(f"http://{served.address}/metrics")).status_code == 401
        assert "metrics" in settings.config.keyed


async def test_scrapes_that_follow_each_other_closely_write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookgate.operations.journal.store.FRESH_S", 3600.0)
    async with open_served(configured(tmp_path)) as served:
        holds, held = served.runtime.journal.holds, list[str]()
        hold = holds.hold

        async def counted(*given: Any) -> bool:
            held.append(given[0])
            return await hold(*given)

        monkeypatch.setattr(holds, "hold", counted)
        async with httpx.AsyncClient() as client:
            for _ in range(3):
                assert "hookgate_store_up 1" in (await client.get(f"http://{served.address}/metrics")).text
        assert held == ["ready"]


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    settings = configured(tmp_path)
    http = settings.config.http.model_copy(update={"metrics": False})
    settings = replace(settings, config=settings.config.model_copy(update={"http": http}))
    async with open_served(settings) as served, httpx.AsyncClient() as client:
        assert (await client.get(f"http://{served.address}/metrics")).status_code == 404


async def test_names_that_others_make_up_cost_no_more_than_a_bounded_number_of_series() -> None:
    counts, durations = Counts("c", "Counted.", "name"), Durations("d", "Timed.", "name")
    for number in range(MOST_SERIES + 50):
        counts.add(f'odd "{number}\\\n')
        durations.add("one", seconds=0.002)
    with trio.fail_after(60):
        text = exposition([counts.family, durations.family], openmetrics=True)
        found = await read_by("read_metrics.py", text, OPENMETRICS)
    assert value(found, "c_total") == value(found, "d_count") == MOST_SERIES + 50
    assert value(found, "c_total", name="other") == 50
    assert value(found, "c_total", name='odd "7\\\n') == 1
    assert value(found, "d_bucket", le="0.001") == 0
    assert value(found, "d_bucket", le="0.0025") == MOST_SERIES + 50
