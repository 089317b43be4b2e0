"""Requests to /hooks/NAME of a whole gateway: what is signed is stored and answered, what is not touches nothing."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from time import time
from typing import Any

import httpx
import pytest
import trio

from hookgate.channels.webhook.signing import read_secret, signed
from hookgate.operations.hooks import reload_hooks
from hookgate.operations.journal.messages import where
from hookgate.serve.run import Served
from tests.channels.storing import PNG
from tests.channels.webhook.asking_others import needs_others, others
from tests.channels.webhook.receiver import SECRET, Receiver, open_receiver, status
from tests.serve.gateway import configured, open_served

NEW, STRANGE = (f"whsec_{it * 43}=" for it in ("B", "C"))
CHANNEL = """
[channels.wh]
kind = "webhook"
secret_env = ["WH_SECRET", "WH_NEW_SECRET"]
url = "{url}"
allow_private = true
"""
SENDING = {"when": "send", "calls": [{"name": "send_file", "arguments": {"path": "a.png"}}]}
SCRIPT = {"steps": [SENDING, {"on": "tool", "when": "(?s).*", "text": "Sent."}, {"when": "(?s).*", "text": "Heard."}]}


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WH_SECRET", SECRET)
    monkeypatch.setenv("WH_NEW_SECRET", NEW)


@asynccontextmanager
async def opened(folder: Path, more: str = "") -> AsyncGenerator[tuple[Served, Receiver]]:
    async with open_receiver() as receiver:
        settings = configured(folder, CHANNEL.format(url=receiver.url) + more, json.dumps(SCRIPT))
        async with open_served(settings) as served:
            yield served, receiver


def headed(body: bytes, id_: str = "m1", secret: str = SECRET, off_s: int = 0, **others: str) -> dict[str, str]:
    own = signed([read_secret(secret)], id_, int(time()) + off_s, body)
    return {**own, "content-type": "application/json", **{name.replace("_", "-"): it for name, it in others.items()}}


async def post(served: Served, body: object, headers: dict[str, str] | None = None, **how: Any) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with httpx.AsyncClient(timeout=60) as client:
        url = f"http://{served.address}/hooks/wh"
        return await client.post(url, content=content, headers=headers or headed(content, **how))


async def stored(served: Served) -> list[tuple[str, str, int]]:
    """Conversations, with how much there is of each."""
    rows = await served.runtime.journal.books.sessions()
    return [(it.conversation.session, it.conversation.agent, it.entries) for it in rows]


async def test_what_is_signed_is_stored_once_answered_and_known_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as (served, receiver):
        body = b'{"text": "hello", "sender": "ann"}'
        first = await post(served, body)
        assert first.status_code == 202, first.text
        await receiver.until(lambda: receiver.sent)
        again = await post(served, body)
        other = await post(served, {"text": "other words under the same id", "chat": "elsewhere"})
        assert [it.json() for it in (again, other)] == [{**first.json(), "known": True}] * 2
        for secret, id_ in ((NEW, "m2"), (SECRET, "m3")):
            assert (await post(served, {"text": "hello"}, id_=id_, secret=secret)).json()["known"] is False
        await receiver.until(lambda: len(receiver.sent) == 3)
        assert {it[0] for it in await stored(served)} == {"wh:ann", "wh:webhook"}
        [said] = [it.event for it in receiver.sent if it.event["subject"] == "wh:ann"]
        assert said["type"] == "hookgate.message.answer"
        assert said["data"]["text"] == "Heard."
        assert said["data"]["in_reply_to"] == "m1"
        assert all(it.is_signed() and it.is_signed(NEW) for it in receiver.sent)


WRONG: Sequence[tuple[int, bytes, dict[str, Any]]] = (
    (401, b'{"text": "x"}', {"secret": STRANGE}),
    (401, b'{"text": "x"}', {"off_s": -310}),
    (401, b'{"text": "x"}', {"off_s": 600}),
    (401, b'{"text": "x"}', {"webhook_signature": "no comma"}),
    (401, b'{"text": "x"}', {"webhook_signature": ""}),
    (401, b'{"text": "x"}', {"webhook_timestamp": "soon"}),
    (401, b'{"text": "x"}', {"webhook_id": ""}),
    (400, b'{"text": "x"}', {"webhook_id": "m" * 10_000}),
    (400, b"not JSON", {}),
    (400, b'{"text": "\xff\xfe"}', {}),
    (400, b'{"text": "x", "chat": 1.5}', {}),
    (400, b'{"specversion": "1.0", "id": "1", "source": "/", "type": "hookgate.message.answer"}', {}),
    (413, b'{"text": "' + b"x" * 1_000_000 + b'"}', {}),
)


async def test_what_is_not_signed_or_is_no_message_touches_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as (served, receiver):
        for code, body, how in WRONG:
            answer = await post(served, body, **how)
            assert (answer.status_code, how) == (code, how), answer.text
            assert answer.json()["error"]
        async with httpx.AsyncClient() as client:
            url = f"http://{served.address}/hooks/wh"
            assert (await client.get(url)).status_code == 405
            assert (await client.post(f"{url}/more", content=b"{}")).status_code == 404
            assert (await client.post(url, content=b'{"text": "unsigned"}')).status_code == 401
        assert await stored(served) == []
        assert receiver.sent == []
        assert served.runtime.channels["wh"].state.state == "receiving"


async def test_a_body_that_comes_too_slowly_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookgate.channels.webhook.endpoint.BODY_S", 0.1)
    async with opened(tmp_path) as (served, _receiver):
        body = b'{"text": "slow"}'
        head = "".join(f"{name}: {it}\r\n" for name, it in headed(body).items())
        host, port = served.address.rsplit(":", 1)
        stream = await trio.open_tcp_stream(host, int(port))
        async with stream:
            start = f"POST /hooks/wh HTTP/1.1\r\nhost: h\r\n{head}content-length: {len(body)}\r\n\r\n"
            await stream.send_all(start.encode() + body[:5])
            answer = b""
            while not answer.startswith(b"HTTP/1.1 408 "):
                answer += await stream.receive_some()
        assert await stored(served) == []


async def test_an_address_that_signs_nothing_rightly_has_few_bodies_read_at_once_and_is_not_shut_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hookgate.channels.webhook.endpoint.MOST_DOUBTED", 1)
    async with opened(tmp_path) as (served, _receiver):
        host, port = served.address.rsplit(":", 1)
        stream = await trio.open_tcp_stream(host, int(port))
        async with stream:
            head = "".join(f"{name}: {it}\r\n" for name, it in headed(b"x").items())
            await stream.send_all(f"POST /hooks/wh HTTP/1.1\r\nhost: h\r\n{head}content-length: 9\r\n\r\n".encode())
            while (refused := await post(served, {"text": "x"}, secret=STRANGE)).status_code == 401:
                pass
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        while (answer := await post(served, {"text": "hello"})).status_code == 503:
            await trio.sleep(0.01)
        assert answer.status_code == 202
        assert (await post(served, {"text": "x"}, secret=STRANGE)).status_code == 401


async def test_what_an_event_says_of_its_chat_makes_nobody_alone_there(tmp_path: Path) -> None:
    asking = '[[approvals]]\ntools = ["send_file"]\n[people.a]\nids = ["wh:a"]\nroles = ["approver"]\n'
    async with opened(tmp_path, f'chat_from = "/host"\ntext_from = "/text"\n{asking}') as (served, receiver):
        assert (await post(served, {"host": "webhook", "text": "send"})).status_code == 202
        while not (waiting := await served.runtime.agent.approvals.pending()):
            await trio.sleep(0.01)
        await receiver.until(lambda: receiver.sent)
        chat = waiting[0].shown.chat
        assert (chat.session_key, chat.chat_type) == ("wh:webhook", "group")


async def test_whoever_is_not_on_the_list_is_refused_and_may_come_again_once_they_are(tmp_path: Path) -> None:
    async with opened(tmp_path, 'allow = ["ann"]\n') as (served, receiver):
        refused = await post(served, {"text": "let me in", "sender": "eve"})
        assert (refused.status_code, refused.json()) == (403, {"error": "eve is not heard here"})
        await receiver.until(lambda: "not on the list" in "".join(receiver.texts()))
        configured(tmp_path, CHANNEL.format(url=receiver.url) + 'allow = ["ann", "eve"]\n', json.dumps(SCRIPT))
        assert (await reload_hooks(served.runtime)).needs_restart == ()
        assert (await post(served, {"text": "let me in", "sender": "eve"})).status_code == 202
        await receiver.until(lambda: receiver.texts()[-1] == "Heard.")


async def test_files_come_and_go_in_the_message(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    async with opened(tmp_path) as (served, receiver):
        url = f"data:image/png;name=b.png;base64,{b64encode(PNG).decode()}"
        assert (await post(served, {"text": "send it back", "media": [url]})).status_code == 202
        [sent] = await receiver.until(lambda: receiver.told("hookgate.message.output"))
        [file] = sent["data"]["media"]
        assert (file["type"], b64decode(file["content"])) == ("image/png", PNG)
        assert await served.runtime.tools.media.is_of(sha256(PNG).hexdigest(), "wh:webhook")
        refused = await post(served, {"text": "x", "media": [url] * 11}, id_="m2")
        assert refused.status_code == 400


async def test_a_reload_takes_over_how_bodies_are_read(tmp_path: Path) -> None:
    async with opened(tmp_path) as (served, receiver):
        rules = 'text_from = "/data/message"\nchat_from = "/data/host"\n'
        configured(tmp_path, CHANNEL.format(url=receiver.url) + rules, json.dumps(SCRIPT))
        assert (await reload_hooks(served.runtime)).needs_restart == ()
        event = {
            "specversion": "1.0",
            "id": "1",
            "source": "/x",
            "type": "a.b",
            "data": {"message": "/new", "host": "h1"},
        }
        assert (await post(served, event)).status_code == 202
        await receiver.until(lambda: receiver.texts() == ["Heard."])
        assert receiver.sent[0].event["data"]["chat"] == "h1"
        assert (await post(served, {"text": "of no event"}, id_="m2")).status_code == 400


PAGER = """
[channels.pager]
kind = "webhook"
url = "{url}"
url_secret_env = "WH_NEW_SECRET"
allow_private = true
events = "dead_letter"
"""


async def test_what_never_arrives_is_a_dead_letter_that_operators_see_and_a_pager_is_told(tmp_path: Path) -> None:
    async with open_receiver() as pager, opened(tmp_path, PAGER.format(url=pager.url)) as (served, receiver):
        receiver.answers.append(status(410))
        id_ = (await post(served, {"text": "hello"})).json()["id"]
        [told] = await pager.until(lambda: pager.told("hookgate.event.dead_letter"))
        why = "it answered 410: nobody is there any more"
        lost = {"channel": "wh", "chat": "webhook", "output": "answer", "reason": why}
        assert told["data"]["payload"] == lost
        [found] = await where(served.runtime.journal, id_)
        assert [(it.what, it.why) for it in found.passages][-1] == ("dead", why)
        assert why in served.runtime.channels["wh"].state.why
        assert served.runtime.channels["pager"].state.state == "receiving"


@pytest.fixture
def _others() -> None:
    needs_others()


@pytest.mark.usefixtures("_others")
async def test_what_others_sign_is_heard_and_what_is_told_they_can_verify_and_read(tmp_path: Path) -> None:
    async with opened(tmp_path) as (served, receiver):
        with others() as ask:
            now, id_ = int(time()), "msg_theirs"
            headers, body = ask("write", structured=True, attributes={"type": "a", "source": "/x"}, data={"a": "ö"})
            signature = ask("sign", secret=SECRET, id=id_, at=now, body=body)
            own = {"webhook-id": id_, "webhook-timestamp": str(now), "webhook-signature": signature}
            assert (await post(served, body.encode(), {**headers, **own})).status_code == 202
            [sent] = await receiver.until(lambda: receiver.sent)
            told = {"body": sent.body.decode(), "headers": dict(sent.headers)}
            assert ask("verify", secret=SECRET, **told) == sent.event
            attributes, data = ask("read", **told)
            assert (attributes["type"], attributes["id"]) == ("hookgate.message.answer", sent.id)
            assert (data["text"], data["in_reply_to"]) == ("Heard.", id_)
