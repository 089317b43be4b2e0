"""A gateway that only stores and delivers, over a journal in a file, for a channel of a platform that is tried alone;
and requests that wait for somebody's yes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import trio

from hookgate.channels.platforms.parts import PlatformParts
from hookgate.loop.delivery.delivery import Delivery
from hookgate.protocol.approval import ApprovalRequest, Decision, Outcome, Voter
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.journal.decisions import Standing, StoredRequest, Vote
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Accepted, Arrival, Claim, Upstream
from hookgate.protocol.values import ToolCall
from hookgate.store.journal import open_journal
from hookgate.store.media import FileMedia

COMMANDS = (("stop", "end what runs here"), ("help", "this text"), ("reload-ext", "not for a menu"))
REQUEST = "0123456789abcdef"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)
FULL = StoreFailed("the disk is full")


@dataclass
class Storing:
    """`failing`: what it fails with, one message after the other. `stir` is told of each message. `strangers`: by
    their ids those who are not heard."""

    journal: Journal
    media: FileMedia
    stir: Callable[[], None]
    failing: list[Exception]
    received: list[Inbound] = field(default_factory=list)
    offsets: list[str] = field(default_factory=list)
    strangers: set[str] = field(default_factory=set[str])
    said: list[Decision] = field(default_factory=list[Decision])

    @property
    def parts(self) -> PlatformParts:
        asked = (
            _ready,
            lambda it: it.chat.sender not in self.strangers,
            self._receive,
            self._decide,
            lambda: COMMANDS,
        )
        return PlatformParts(*asked, self.journal, self.media)

    async def _receive(self, inbound: Inbound, upstream: Upstream) -> Accepted:
        if self.failing:
            self.stir()
            raise self.failing.pop(0)
        key = f"{inbound.chat.session_key} {inbound.message_id}"
        offset = {"offset": upstream.offset, "stream": upstream.stream}
        arrival = Arrival(inbound.sound, "agent", key, upstream.account, **offset)
        accepted = await self.journal.intake.accept(arrival)
        if not accepted.known:
            self.received.append(inbound)
            self.offsets.append(upstream.offset)
        self.stir()
        return accepted

    async def _decide(self, request: str, decision: Decision, voter: Voter) -> Outcome:
        self.said.append(decision)
        decisions = self.journal.decisions
        standing = await decisions.standing(request)
        if standing is None:
            return Outcome(False, "unknown", "There is no such request.")
        if voter.id not in {it.id for it in standing.request.voters}:
            return Outcome(False, standing.state, "Only Ann may decide this.")
        standing = await decisions.decide(request, Vote(voter.id, decision.approved, by=decision.by, voter=voter))
        assert standing is not None
        return Outcome(standing.counted, standing.state, f"{standing.state}: {standing.counted}")


async def _ready() -> None:
    await trio.lowlevel.checkpoint()


@asynccontextmanager
async def storing(
    folder: Path, stir: Callable[[], None], failing: list[Exception] | None = None
) -> AsyncGenerator[Storing]:
    """The same folder again is a restart."""
    async with open_journal(folder / "journal.db") as journal:
        yield Storing(journal, FileMedia(folder / "media"), stir, [] if failing is None else failing)


@asynccontextmanager
async def delivering(journal: Journal, channel: Channel) -> AsyncGenerator[None]:
    """What is stored for its chats, cards too."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Delivery(journal.posting, {channel.name: channel}).run)
        yield
        nursery.cancel_scope.cancel()


# --- requests ---


def request(chat: Chat, **arguments: str) -> ApprovalRequest:
    call = ToolCall("c", "bash", arguments or {"command": "rm -rf /tmp/x\u202e"})
    return ApprovalRequest(REQUEST, chat, call, "rule:shell", "Run bash?", "", (), 600, "d")


async def asked(
    journal: Journal,
    shown: ApprovalRequest,
    voters: tuple[str, ...],
    required: int = 1,
    elsewhere: Chat | None = None,
) -> Claim:
    """As a call that waits does it: here, and perhaps in another chat; what was said before has been answered."""
    for left in await journal.intake.unfinished("message", shown.chat.session_key):
        await journal.intake.settle(left.accepted.id, "answered")
    accepted = await journal.intake.accept(Arrival(Inbound(shown.chat, "do it", message_id="1"), "agent", shown.id))
    claim = await journal.work.claim("g", 60, accepted.conversation, accepted.id)
    assert claim is not None
    about = (shown.id, claim.conversation, claim.message, "1.0", "d", "p", "a", shown)
    those = tuple(Voter(shown.chat.channel, it) for it in voters)
    stored = StoredRequest(*about, required=required, voters=those)
    chats = (shown.chat, *(() if elsewhere is None else (elsewhere,)))
    cards = [Outbound(it, shown.title, kind="notice", request=shown.id) for it in chats]
    await journal.decisions.request(claim, stored, cards)
    return claim


async def became(journal: Journal, state: str) -> Standing:
    while True:
        standing = await journal.decisions.standing(REQUEST)
        if standing is not None and standing.state == state:
            return standing
        await trio.sleep(0.01)


async def noted(journal: Journal, channel: str) -> None:
    """Once a restart knows which message the card is."""
    while await journal.posting.outgoing(channel):
        await trio.sleep(0.01)
