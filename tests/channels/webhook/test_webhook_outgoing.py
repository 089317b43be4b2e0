"""What is said in a webhook's chats, before a receiver that behaves as real ones do, and over a journal in a file."""

from __future__ import annotations

import sqlite3
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from socket import AF_INET, SOCK_STREAM
from time import time
from typing import Any

import pytest
import trio
import trio.lowlevel

from hookgate.channels.webhook.opening import OpenWebhook, open_webhook
from hookgate.channels.webhook.settings import Rules, WebhookParts, WebhookSettings
from hookgate.channels.webhook.signing import read_secret
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import Undelivered
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import DeadLetter, HookState, TurnStart
from tests.certificates import believed, certified
from tests.channels.storing import Storing, asked, delivering, request, storing
from tests.channels.webhook.receiver import SECRET, Receiver, close, hang, open_receiver, pour, status

KEY = read_secret(SECRET)
ANN = Chat("wh", "ops", "ann", "group")
HELLO = Outbound(ANN, "**Hello**")
DEADLINE_S = 60.0


@dataclass
class Bench:
    gateway: Storing
    opened: OpenWebhook
    receiver: Receiver

    async def says(self, text: str, **more: Any) -> None:
        await self.gateway.journal.posting.post("agent", [replace(HELLO, text=text, **more)])

    async def refused(self) -> Undelivered:
        with pytest.raises(Undelivered) as refused:
            await self.opened.channel.send(HELLO, "k")
        return refused.value


@asynccontextmanager
async def opened(
    folder: Path, receiver: Receiver, *, delivers: bool = False, **settings: Any
) -> AsyncGenerator[Bench]:
    """The same folder again is a restart."""
    given = WebhookSettings("wh", "https://h", (KEY,), receiver.url, (KEY,), allow_private=True)
    with trio.fail_after(DEADLINE_S):
        async with storing(folder, lambda: None) as gateway:
            parts = _parts(gateway)
            async with open_webhook(replace(given, **settings), parts) as it:
                bench = Bench(gateway, it, receiver)
                while it.channel.state.state != "receiving":
                    await trio.lowlevel.checkpoint()
                if not delivers:
                    yield bench
                    return
                async with delivering(gateway.journal, it.channel):
                    yield bench


def _parts(gateway: Storing) -> WebhookParts:
    its, told = gateway.parts, ("hook_state", "dead_letter")
    asked = (its.ready, lambda _inbound: False, its.receive, its.receive, lambda _chat: "agent")
    return WebhookParts(*asked, Rules, lambda: told, its.journal, its.media)  # pyright: ignore[reportArgumentType]


async def test_what_is_said_is_signed_and_the_same_row_is_the_same_event_after_a_crash_too(tmp_path: Path) -> None:
    async with open_receiver() as receiver:
        async with opened(tmp_path, receiver) as bench:
            receipts = [await bench.opened.channel.send(HELLO, "row") for _ in range(2)]
        async with opened(tmp_path, receiver) as bench:
            receipts.append(await bench.opened.channel.send(HELLO, "row"))
            assert await bench.opened.channel.send(HELLO, "another row") not in receipts
        first, *again = (it for it in receiver.sent[:3])
        assert {it.id for it in (first, *again)} == set(receipts)
        assert {it.body for it in again} == {first.body}
        assert all(it.is_signed() for it in receiver.sent)
        assert first.headers["content-type"] == "application/cloudevents+json"
        assert first.event == {
            "specversion": "1.0",
            "id": first.id,
            "source": "https://h/hooks/wh",
            "type": "hookgate.message.answer",
            "datacontenttype": "application/json",
            "subject": "wh:ops",
            "data": {
                "chat": "ops",
                "thread": None,
                "sender": "ann",
                "text": "**Hello**",
                "in_reply_to": None,
                "media": [],
            },
        }
    async with open_receiver() as receiver, opened(tmp_path / "new", receiver) as bench:
        assert await bench.opened.channel.send(HELLO, "row") not in receipts, "another journal has rows of its own"


async def test_a_receipt_that_is_lost_in_a_crash_is_an_event_that_comes_again_under_its_id(tmp_path: Path) -> None:
    async with open_receiver() as receiver:
        async with opened(tmp_path, receiver, delivers=True) as bench:
            await bench.says("once")
            await receiver.until(lambda: receiver.sent)
        with sqlite3.connect(tmp_path / "journal.db") as journal:
            # As a crash leaves it that comes between the receiver's answer and the journal.
            journal.execute("UPDATE outbox SET state = NULL, receipt = ''")
        journal.close()
        async with opened(tmp_path, receiver, delivers=True):
            await receiver.until(lambda: len(receiver.sent) == 2)
        assert len({it.id for it in receiver.sent}) == 1
        assert len({it.body for it in receiver.sent}) == 1


@pytest.mark.parametrize(
    ("answer", "why", "final", "after_s"),
    [
        (status(500), "it answered 500", False, None),
        (status(503, "retry-after: 7"), "it answered 503", False, 7.0),
        (status(429, "retry-after: 99999999999"), "it answered 429", False, 3600.0),
        (status(429, "retry-after: soon"), "it answered 429", False, None),
        (status(503, "retry-after: Wed, 21 Oct 2015 07:28:00 GMT"), "it answered 503", False, 0.0),
        (status(410), "it answered 410: nobody is there any more", True, None),
        (status(302, "location: http://127.0.0.1:1/"), "it answered 302, which is a redirect: none is", False, None),
        (status(302, "location: http://["), "it", False, None),
        (status(404), "it answered 404", False, None),
        (close, "it broke the connection", False, None),
    ],
)
async def test_what_a_receiver_does_not_take_is_said_and_may_be_tried_again(
    tmp_path: Path, answer: Any, why: str, final: bool, after_s: float | None
) -> None:
    async with open_receiver(answer) as receiver, opened(tmp_path, receiver) as bench:
        refused = await bench.refused()
        assert (refused.why[: len(why)], refused.final, refused.retry_after_s) == (why, final, after_s)
        assert bench.opened.channel.state.state == "degraded"
        assert refused.why in bench.opened.channel.state.why
        assert receiver.url not in bench.opened.channel.state.why
        await bench.opened.channel.send(HELLO, "k")
        assert bench.opened.channel.state.state == "receiving"
        assert len(receiver.sent) == 2, "nothing was followed"


async def test_a_receiver_that_says_yes_and_then_talks_without_end_has_heard_it(tmp_path: Path) -> None:
    async with open_receiver(pour) as receiver, opened(tmp_path, receiver) as bench:
        assert await bench.opened.channel.send(HELLO, "k")


async def test_a_receiver_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hookgate.channels.webhook.sender.WITHIN_S", 0.2)
    async with open_receiver(hang) as receiver, opened(tmp_path, receiver) as bench:
        assert (await bench.refused()).why == "it did not answer within 0.2 s"


async def test_addresses_that_are_not_public_are_reached_only_where_that_is_configured(tmp_path: Path) -> None:
    async with open_receiver() as receiver:
        for number, url in enumerate((receiver.url, receiver.url.replace("127.0.0.1", "localhost"))):
            async with opened(tmp_path / str(number), receiver, url=url, allow_private=False) as bench:
                assert "allow_private in [channels.wh]" in (await bench.refused()).why
            async with opened(tmp_path / str(number), receiver, url=url) as bench:
                await bench.opened.channel.send(HELLO, "k")
        assert [it.headers["host"].partition(":")[0] for it in receiver.sent] == ["127.0.0.1", "localhost"]
        async with opened(tmp_path / "x", receiver, url="https://no.such.host.invalid/") as bench:
            assert (await bench.refused()).why == "its name means no address"


@dataclass
class Names(trio.abc.HostnameResolver):
    """What names mean, the next time something else."""

    meanings: dict[str, list[list[str]]]

    async def getaddrinfo(self, host: Any, port: Any, *_how: Any, **_more: Any) -> Any:
        found = self.meanings[host if isinstance(host, str) else host.decode()]
        addresses = found.pop(0) if len(found) > 1 else found[0]
        return [(AF_INET, SOCK_STREAM, 6, "", (it, int(port or 0))) for it in addresses]

    async def getnameinfo(self, sockaddr: Any, flags: Any) -> Any:
        raise NotImplementedError


async def test_the_address_that_was_looked_at_is_connected_to_and_has_to_prove_the_name(
    tmp_path: Path,
) -> None:
    key, certificate = certified(tmp_path, "good.test")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    # One of two is out of order, and a name that would lead elsewhere a moment later is not asked again.
    elsewhere = [["127.0.0.3", "127.0.0.1"], ["127.0.0.4"]]
    trio.socket.set_custom_hostname_resolver(Names({"good.test": elsewhere, "bad.test": [["127.0.0.1"]]}))
    with believed(certificate):
        async with open_receiver(tls=server) as receiver:
            for name in ("good.test", "bad.test"):
                url = receiver.url.replace("127.0.0.1", name)
                async with opened(tmp_path / name, receiver, url=url) as bench:
                    if name == "good.test":
                        assert await bench.opened.channel.send(HELLO, "k")
                    else:
                        assert (await bench.refused()).why == "it could not prove who it is (TLS failed)"
    [sent] = receiver.sent
    assert sent.headers["host"].partition(":")[0] == "good.test"


async def test_what_gets_through_at_last_comes_in_order_and_what_never_does_is_a_dead_letter(tmp_path: Path) -> None:
    answers = status(500), status(410), status(204)
    async with open_receiver(*answers) as receiver, opened(tmp_path, receiver, delivers=True) as bench:
        for text in ("one", "two"):
            await bench.says(text)
        await receiver.until(lambda: "two" in receiver.texts())
        assert receiver.texts() == ["one", "one", "two"]
        assert len({it.id for it in receiver.sent}) == 2
        while await bench.gateway.journal.posting.outgoing("wh"):
            await trio.sleep(0.01)


async def test_a_request_says_how_to_decide_and_comes_again_with_what_became_of_it(tmp_path: Path) -> None:
    async with open_receiver() as receiver, opened(tmp_path, receiver, delivers=True) as bench:
        shown = request(ANN, command="rm -rf x", secret="[REDACTED:1]")
        await asked(bench.gateway.journal, shown, ("ann",))
        [told] = await receiver.until(lambda: receiver.told("hookgate.approval.open"))
        assert told["data"]["request"]["arguments"] == {"command": "rm -rf x", "secret": "[REDACTED:1]"}
        assert told["data"]["request"]["tool"] == "bash"
        assert told["data"]["approve"] == f"/approve {shown.id}"
        assert told["data"]["deny"] == f"/deny {shown.id}"
        await bench.gateway.journal.decisions.void(shown.id, "it was stopped", ())
        [told] = await receiver.until(lambda: receiver.told("hookgate.approval.void"))
        assert told["data"]["request"]["outcome"] == "It is void: it was stopped."
        assert "approve" not in told["data"]


async def test_events_that_are_wanted_are_told_and_lost_ones_are_no_event(tmp_path: Path) -> None:
    async with open_receiver() as receiver, opened(tmp_path, receiver, delivers=True) as bench:
        heard = (
            TurnStart("secret words", 0),
            DeadLetter("wh", "(events)", "hook_state", "output", "it answered 410"),
            HookState("guard", "quarantined", "it ended with status 3"),
            DeadLetter("tg", "7", None, "answer", "it was blocked"),
        )
        for number, payload in enumerate(heard, 1):
            bench.opened.telling.hear(Event(payload, None, number, int(time() * 1e9)))
        [told] = await receiver.until(lambda: receiver.told("hookgate.event.hook_state"))
        assert told["data"]["payload"] == {
            "hook": "guard",
            "state": "quarantined",
            "reason": "it ended with status 3",
            "restarts": 0,
        }
        await receiver.until(lambda: receiver.told("hookgate.event.dead_letter"))
        assert [it.event["type"] for it in receiver.sent].count("hookgate.event.dead_letter") == 1
        assert len(receiver.sent) == 2


async def test_without_a_url_nothing_is_sent_and_nobody_can_be_asked(tmp_path: Path) -> None:
    async with open_receiver() as receiver, opened(tmp_path, receiver, url="") as bench:
        assert await bench.opened.channel.send(HELLO, "k") == ""
        with pytest.raises(Undelivered, match="has no url") as refused:
            await bench.opened.channel.send(replace(HELLO, request="r"), "k")
        assert refused.value.final
        assert receiver.sent == []
