"""Webhooks with a whole gateway: one conversation with the real program, and what a configuration may say."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from time import time
from typing import Any

import httpx
import pytest
import trio

from hookgate import config as configuration
from hookgate.assembly.preflight.check import unset
from hookgate.channels.webhook.signing import read_secret, signed
from hookgate.config import ConfigError
from tests.channels.webhook.receiver import SECRET, Sent, hang, open_receiver
from tests.cli.program import none_left
from tests.flow.test_flow_serve import worker
from tests.serve.gateway import configured, open_served
from tests.serve.started import DEADLINE_S, serving

OTHER = f"whsec_{'B' * 43}="
SCRIPT = {
    "steps": [
        {"when": "note", "calls": [{"name": "bash", "arguments": {"command": "echo once >> notes.txt"}}]},
        {"on": "tool", "when": "(?s).*", "text": "It is written."},
        {"when": "(?s).*", "text": "Hello."},
    ]
}
HOOK = """
import sys
from pathlib import Path
sys.path.insert(0, {plugins!r})
from hookgate_plugin import Plugin

plugin = Plugin(sys.argv[1])


@plugin.before_tool(tools=["bash"])
def seen(call):
    Path({folder!r}, f"{{sys.argv[1]}}.txt").write_text(call.arguments["command"])


plugin.run()
"""
CHANNELS = """
[channels.web]
kind = "web"
[channels.wh]
kind = "webhook"
secret_env = "WH_SECRET"
allow = ["ann", "eve"]
url = "{url}"
allow_private = true
[channels.pager]
kind = "webhook"
url = "{url}"
url_secret_env = ["PAGER_SECRET"]
allow_private = true
events = ["approval_requested", "turn_end"]
[people.ann]
ids = ["wh:ann"]
roles = ["approver"]
[[approvals]]
tools = ["bash"]
[hooks.processes.ours]
command = ["{python}", "hook.py", "ours"]
intercept = ["before_tool"]
on_failure = "deny"
match = {{ channels = ["wh"], senders = ["eve"], chat_types = ["group"] }}
[hooks.processes.others]
command = ["{python}", "hook.py", "others"]
intercept = ["before_tool"]
on_failure = "deny"
match = {{ channels = ["!wh"] }}
"""


async def post(client: httpx.AsyncClient, id_: str, secret: str = SECRET, **said: str) -> httpx.Response:
    body = json.dumps(said).encode()
    headers = signed([read_secret(secret)], id_, int(time()), body)
    return await client.post("/hooks/wh", content=body, headers=headers)


def _twice(sent: list[Sent]) -> list[Any] | None:
    """The two events that came twice, each the same."""
    again = {it.id: it.event for n, it in enumerate(sent) if it.body in [other.body for other in sent[:n]]}
    return list(again.values()) if len(again) == 2 else None


async def test_a_call_is_judged_asked_for_allowed_and_answered_by_webhooks_through_a_crash(tmp_path: Path) -> None:
    plugins = str(Path(__file__).parents[2] / "plugins" / "python")
    (tmp_path / "hook.py").write_text(HOOK.format(plugins=plugins, folder=str(tmp_path)))
    secrets = {"WH_SECRET": SECRET, "PAGER_SECRET": OTHER}
    with trio.fail_after(DEADLINE_S):
        async with open_receiver(hang, hang) as receiver:
            configured(tmp_path, CHANNELS.format(url=receiver.url, python=sys.executable), json.dumps(SCRIPT))
            async with serving(tmp_path, **secrets) as (process, client):
                assert (await post(client, "m1", chat="ops", sender="eve", text="note it")).status_code == 202
                [card] = await receiver.until(lambda: receiver.told("hookgate.approval.open"))
                [paged] = await receiver.until(lambda: receiver.told("hookgate.event.approval_requested"))
                assert paged["source"] == "/hooks/pager"
                assert paged["data"]["payload"]["id"] == card["data"]["request"]["id"]
                assert card["data"]["request"]["arguments"] == {"command": "echo once >> notes.txt"}
                # Whoever is told has heard it, and hookgate does not know that.
                os.kill(worker(process), signal.SIGKILL)
                await process.wait()
            await none_left(tmp_path)
            async with serving(tmp_path, **secrets) as (process, client):
                both = await receiver.until(lambda: _twice(receiver.sent))
                assert {it["id"] for it in both} == {card["id"], paged["id"]}
                yes = card["data"]["approve"]
                assert (await post(client, "f1", OTHER, chat="ops", sender="ann", text=yes)).status_code == 401
                assert (await post(client, "m1", chat="ops", sender="ann", text=yes)).json()["known"] is True
                assert (await post(client, "m2", chat="ops", sender="bob", text=yes)).status_code == 403
                assert (await post(client, "m3", chat="ops", sender="eve", text=yes)).status_code == 202
                await receiver.until(lambda: any("may decide this" in it for it in receiver.texts()))
                assert not (tmp_path / "notes.txt").exists()
                assert (await post(client, "m4", chat="ops", sender="ann", text=yes)).status_code == 202
                await receiver.until(lambda: "It is written." in receiver.texts())
                [answer] = [it for it in receiver.told("hookgate.message.answer")]
                assert answer["data"]["in_reply_to"] == "m1"
                await receiver.until(lambda: receiver.told("hookgate.approval.approved"))
                await receiver.until(lambda: receiver.told("hookgate.event.turn_end"))
                assert (await client.post("/hooks/pager", content=b"{}")).status_code == 404
                process.send_signal(signal.SIGTERM)
                await process.wait()
    assert (tmp_path / "notes.txt").read_text() == "once\n"
    assert (tmp_path / "ours.txt").read_text() == "echo once >> notes.txt"
    assert not (tmp_path / "others.txt").exists()
    pages = [it for it in receiver.sent if it.event["source"] == "/hooks/pager"]
    assert all(it.is_signed(OTHER) and not it.is_signed(SECRET) for it in pages)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("", "secret_env has to name the variable"),
        ('secret_env = "A"\nevents = ["turn_end"]', "events go to a url"),
        ('url = "https://example.org/"', "url_secret_env has to name"),
        ('secret_env = "A"\nurl = "http://example.org/"', "has to begin with https://"),
        ('secret_env = "A"\nurl = "https://u:p@example.org/"', "without a user's name"),
        ('secret_env = "A"\nurl = "https://["', "url is no URL"),
        ('secret_env = "A"\nurl = "ftp://example.org/"', "has to read https://HOST"),
        ('secret_env = "A"\ntoken_env = "B"', "token_env is no key of a channel of the kind 'webhook'"),
        ('secret_env = "A"\ntext_from = "data"', "text_from"),
        ('secret_env = "A"\nurl = "https://example.org/"\nevents = ["turn_ends"]', "events"),
        ('secret_env = "A"\ntoken_env = "B"\nusers = {}', "users is no key"),
    ],
)
def test_a_webhook_that_cannot_work_is_a_mistake(keys: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        configuration.parse(f'[channels.wh]\nkind = "webhook"\n{keys}\n', Path("hookgate.toml"))


async def test_what_is_no_secret_or_not_set_is_told_before_and_ends_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel = '[channels.wh]\nkind = "webhook"\nsecret_env = ["WH_A", "WH_B"]\n'
    monkeypatch.setenv("WH_A", SECRET)
    monkeypatch.delenv("WH_B", raising=False)
    settings = configured(tmp_path, channel)
    told = "channels.wh.secret_env.1: WH_B is not set: serve will not start"
    assert list(unset(settings.config)) == [told]
    for value, says in (("", "WH_B"), ("hunter2", "channels.wh.secret_env: a secret is whsec_")):
        monkeypatch.setenv("WH_B", value)
        refused = pytest.RaisesExc(ConfigError, match=says)
        with pytest.RaisesGroup(refused, flatten_subgroups=True, allow_unwrapped=True):
            async with open_served(settings):
                pass
