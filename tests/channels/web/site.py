"""A web channel on loopback over a journal in a file, with a gateway that only stores: tests play the turn."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h11
import httpx
import trio

from hookgate.channels.http.server import serve_http
from hookgate.channels.web.access.passwords import hashed
from hookgate.channels.web.channel import WebChannel
from hookgate.channels.web.opening import open_web
from hookgate.channels.web.settings import WebParts, WebSettings
from hookgate.protocol.approval import Decision, Outcome, Voter
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payload import Payload
from hookgate.protocol.journal.decisions import StoredRequest, Vote
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Accepted, Arrival, Claim, Draft
from hookgate.protocol.values import Message, Step
from hookgate.store.journal import open_journal
from hookgate.store.media import FileMedia, MediaLimits

TOKEN = "the-token"
SETTINGS = WebSettings("web", TOKEN, {"ann": hashed("right", 8), "bob": hashed("bobs", 8)}, show_trace=True)


class AsItIs:
    """A redactor without secrets."""

    def text(self, text: str) -> str:
        return text

    def value(self, value: Any) -> Any:
        return value


@dataclass
class Site:
    url: str
    channel: WebChannel
    journal: Journal
    stop: trio.Event
    arrived: trio.MemoryReceiveChannel[Inbound]
    media: FileMedia

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.url, timeout=30)

    @asynccontextmanager
    async def ann(self, name: str = "ann", password: str = "right") -> AsyncIterator[httpx.AsyncClient]:
        async with self.client() as client:
            assert (await client.post("/api/login", json={"user": name, "password": password})).status_code == 204
            client.headers["x-csrf-token"] = (await client.get("/api/me")).json()["csrf"]
            yield client

    async def deliver(self) -> None:
        """What is on its way to chats."""
        while rows := await self.journal.posting.outgoing("web"):
            for row in rows:
                await self.journal.posting.sent(row.id, await self.channel.send(row.outbound, row.id))

    async def next(self) -> Turn:
        """Of the next message that arrives."""
        return await self.begin((await self.arrived.receive()).message_id)

    async def begin(self, message: str, *, again: bool = False) -> Turn:
        """What the loop does when it takes the oldest message, which has to be this one; `again`: after a crash."""
        claim = await self.journal.work.claim("g", 60)
        assert claim is not None
        assert claim.inbound is not None
        assert claim.inbound.message_id == message
        if claim.inbound.replaces:
            await self.journal.work.rewind(claim, claim.inbound.replaces)
        if not again:
            await self.journal.work.append(claim, [Draft(Message("user", claim.inbound.text))])
        return Turn(self, claim, claim.inbound)


@dataclass
class Turn:
    site: Site
    claim: Claim
    inbound: Inbound
    number: int = field(default=0)

    @property
    def chat(self) -> Chat:
        return self.inbound.chat

    def tell(self, payload: Payload) -> None:
        self.number += 1
        self.site.channel.hear(Event(payload, Step("agent", "t", self.inbound), self.number, 0))

    async def answer(self, text: str) -> None:
        """Stored, then sent."""
        await self.site.journal.work.complete(
            self.claim, "answered", [Draft(Message("assistant", text))], [Outbound(self.chat, text)]
        )
        await self.site.deliver()


@asynccontextmanager
async def opened(folder: Path, settings: WebSettings = SETTINGS, listen: str = "127.0.0.1:0") -> AsyncIterator[Site]:
    """The same folder again is a restart."""
    stop, ready, addresses = trio.Event(), trio.Event(), list[str]()
    arrive, arrived = trio.open_memory_channel[Inbound](100)

    def started(address: str) -> None:
        addresses.append(address)
        ready.set()

    with trio.fail_after(180):
        async with open_journal(folder / "journal.db") as journal, trio.open_nursery() as nursery:

            async def receive(inbound: Inbound) -> Accepted:
                kind = "command" if inbound.text.startswith("/") else "message"
                key = f"{inbound.chat.session_key} {inbound.message_id}"
                accepted = await journal.intake.accept(Arrival(inbound, "agent", key, kind=kind))
                arrive.send_nowait(inbound)
                return accepted

            async def decide(request: str, decision: Decision, voter: Voter) -> Outcome:
                standing = await journal.decisions.decide(
                    request, Vote(voter.id, decision.approved, decision.reason, voter=voter)
                )
                if standing is None:
                    return Outcome(False, "unknown", "There is no such request.")
                return Outcome(standing.counted, standing.state, f"{standing.state} by {standing.votes[-1].person}")

            def may(request: StoredRequest, voter: Voter) -> bool:
                return voter.id in (request.shown.approvers or (request.shown.chat.sender,))

            async def forget(chat: Chat) -> None:
                await journal.books.forget(await journal.intake.conversation(chat.session_key, "agent"))

            media = FileMedia(folder / "media", MediaLimits(quota=100_000, user_quota=60_000))

            async def turn_away(inbound: Inbound) -> None:
                await journal.intake.refuse(Arrival(inbound, "agent", ""), "a stranger")

            asked = receive, decide, may, lambda _chat: "agent", forget
            parts = WebParts(
                *asked, journal, media, AsItIs(), lambda _user: "", turn_away, lambda user: user == "owner"
            )
            async with open_web(settings, parts) as web:

                async def serve() -> None:
                    await serve_http(web.app, listen, started=started, stop=stop)

                nursery.start_soon(serve)
                await ready.wait()
                yield Site(f"http://{addresses[0]}", web.channel, journal, stop, arrived, media)
                stop.set()


class Heard:
    """A stream of events as it comes in. Not httpx's: its iterators cannot be left in the middle."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.last_id = ""
        self._stream, self._http, self._text = stream, h11.Connection(h11.CLIENT), ""

    async def ask(self, client: httpx.AsyncClient, target: str, headers: dict[str, str]) -> None:
        request = client.build_request("GET", target, headers=headers)
        head = h11.Request(method="GET", target=target, headers=list(request.headers.raw))
        await self._stream.send_all((self._http.send(head) or b"") + (self._http.send(h11.EndOfMessage()) or b""))
        answer = await self._part()
        assert isinstance(answer, h11.Response)
        assert answer.status_code == 200

    async def next(self, *names: str) -> tuple[str, Any]:
        """The next event with one of these names."""
        while True:
            name, data = await self._event()
            if name in names:
                return name, data

    async def _event(self) -> tuple[str, Any]:
        while True:
            event, found, rest = self._text.partition("\n\n")
            if not found:
                part = await self._part()
                assert isinstance(part, h11.Data), "the stream has ended"
                self._text += bytes(part.data).decode()
                continue
            self._text = rest
            fields = dict(line.split(": ", 1) for line in event.splitlines() if not line.startswith(":"))
            if fields:
                self.last_id = fields["id"]
                return fields["event"], json.loads(fields["data"])

    async def _part(self) -> Any:
        while (part := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._stream.receive_some())
        return part


@asynccontextmanager
async def listening(client: httpx.AsyncClient, chat: str, last_id: str = "") -> AsyncIterator[Heard]:
    async with await trio.open_tcp_stream(client.base_url.host, client.base_url.port or 0) as stream:
        heard = Heard(stream)
        await heard.ask(client, f"/api/chats/{chat}/events", {"last-event-id": last_id} if last_id else {})
        yield heard


def texts(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    return ((it["role"], it["text"]) for it in messages)
