"""One conversation's messages: what the journal had of them, and what was said since and is in the journal."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from hookgate.protocol.chat import Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.replies import open_calls
from hookgate.protocol.journal.values import Draft, Entry, Fenced, Stored, cost
from hookgate.protocol.values import Message, ToolResult, Usage

if TYPE_CHECKING:
    from hookgate.protocol.journal.audit import CallAudit
    from hookgate.protocol.journal.interfaces import Work
    from hookgate.protocol.journal.values import Claim, Conversation, Outcome, Row

NO_RESULT = "No result: the turn ended before this call did. It may have run."
"""Nobody knows here how far it had come; a model that is told it had not begun would run it again."""
NOT_RUN = "It did not run: the turn ended before this call began."
UNKNOWN = ToolResult(NO_RESULT, is_error=True)


CHARACTERS_PER_TOKEN = 4
TOKENS_PER_PICTURE = 1500


class Transcript:
    """Read at any time, written under a claim. Whatever ends a turn, what `end` leaves is one that a model endpoint
    accepts. Every write raises Fenced where the claim is stale, and nothing has changed then."""

    def __init__(self, work: Work, conversation: Conversation) -> None:
        self.conversation = conversation
        self.claim: Claim | None = None
        self.stored = Stored(())
        """As it was last loaded."""
        self.work = work
        self.cut_off: list[CallAudit] = []
        """Records of calls that end with the turn."""
        self.left: dict[str, ToolResult] = {}
        """What the model is told of them, by their ids."""
        self.fence = -1
        """Of the last claim; whoever has had that one has read what was said."""
        self._begun = 1
        self._entries: list[Entry] = []
        self._messages: tuple[Message, ...] | None = ()
        self._measured, self._measured_at = 0, 0
        self._spent: Usage | None = None
        # Messages that have joined under the claim, and those of them that the model has answered with the rest.
        self._joined: list[str] = []
        self._read: list[str] = []

    # --- reading ---

    @property
    def loaded(self) -> bool:
        return self.fence >= 0

    @property
    def entries(self) -> Sequence[Entry]:
        return self._entries

    @property
    def messages(self) -> tuple[Message, ...]:
        if self._messages is None:
            self._messages = tuple([entry.message for entry in self._entries])
        return self._messages

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def turn(self) -> Sequence[Entry]:
        """What has been said under the claim, and under those before it for the same message."""
        return [entry for entry in self._entries if entry.number >= self._begun]

    def measure(self, tokens: int) -> None:
        """What the model counted for everything up to here, the last reply included."""
        self._measured, self._measured_at = tokens, len(self._entries)

    def spend(self, usage: Usage) -> None:
        """What a model call has cost: the next entry says so."""
        self._spent = usage if self._spent is None else self._spent + usage

    @property
    def cost(self) -> Usage | None:
        """Of all the turn's model calls that are stored."""
        return cost(self.turn)

    @property
    def tokens(self) -> int:
        """What the model would count now: as it last did, and an estimate for what has come since."""
        return self._measured + sum(_tokens(entry.message) for entry in self._entries[self._measured_at :])

    async def look(self) -> None:
        """What is stored by now; whoever writes loads it again."""
        await self._load()

    def recall(self, said: Transcript) -> None:
        """What that one has looked at, unless more is known; whoever writes loads it again."""
        if not self.loaded:
            self.conversation = said.conversation
            self._loaded(said.stored)

    # --- writing ---

    async def take(self, claim: Claim) -> None:
        """Load it, unless the claim brings it, or the one before was ours too, and for another message."""
        if claim.stored is not None:
            self._loaded(claim.stored)
        elif claim.first or claim.after != self.fence:
            await self._load()
        self.claim, self.fence = replace(claim, stored=None, entered=()), claim.fence
        self._joined, self._read = [], []
        self._spent = None
        self._forget_cut_off()
        # A summary stands first, and has the highest number.
        self._begun = claim.first or max((it.number for it in self._entries), default=0) + 1
        self._wrote(claim.entered)
        if claim.first:
            self._go_on()

    async def append(
        self, *drafts: Draft, outbox: Sequence[Outbound] = (), audits: Sequence[CallAudit] = ()
    ) -> tuple[Entry, ...]:
        return self._wrote(await self.work.append(self.held, self._counted(drafts), outbox, audits))

    async def join(self, message: str, said: Message) -> None:
        """A message that was accepted while the turn ran becomes part of it."""
        self._wrote((await self.work.join(self.held, message, said),))
        self._joined.append(message)

    def answered(self) -> None:
        """The model has read all that joined: that ends with the turn. What it has not gets a turn of its own."""
        self._read, self._joined = [*self._read, *self._joined], []

    async def rewind(self, to: int = 0) -> None:
        """Take back what was said under the claim, or from an earlier entry on."""
        await self.work.rewind(self.held, to or self._begun)
        await self._load()

    async def sum_up(self, length: int, summary: Message) -> None:
        """One message for the first `length`."""
        upto = self._entries[length].number if length < len(self._entries) else self._entries[-1].number + 1
        (entry,) = await self.work.append(self.held, [Draft(summary, upto=upto)])
        self._entries[:length] = [entry]
        self._messages = None
        self._measured, self._measured_at = 0, 0

    async def end(
        self,
        outcome: Outcome,
        *messages: Message,
        outbox: Sequence[Outbound] = (),
        handed_over: Container[str] = (),
        why: str = "",
    ) -> Row | None:
        """The last that is said under the claim; calls that have no result get one that says so, but those that
        whoever has asked runs: their ids are `handed_over`. The first of the outbox, where it is next in its chat."""
        drafts = self._counted(self._last(messages, handed_over))
        ended = await self.work.complete(self.held, outcome, drafts, outbox, self._read, self.cut_off, why)
        self._wrote(ended.entries)
        self.claim = None
        self._forget_cut_off()
        self._forget_calls()
        return ended.row

    async def renew(self, lease_s: float) -> None:
        if self.claim is not None:
            self.claim = await self.work.renew(self.claim, lease_s)

    async def release(self) -> None:
        """Nothing more is said; whoever comes next goes on where this ends."""
        if self.claim is not None:
            with suppress(Fenced):
                await self.work.release(self.claim)
            self.claim = None

    @property
    def held(self) -> Claim:
        assert self.claim is not None  # noqa: S101 - whoever writes has taken it
        return self.claim

    def _last(self, messages: Iterable[Message], handed_over: Container[str] = ()) -> list[Draft]:
        left = (call.id for call in open_calls(self._entries) if call.id not in handed_over)
        unanswered = (told(it, self.left.get(it, UNKNOWN)) for it in left)
        return [Draft(message) for message in (*unanswered, *messages)]

    def _counted(self, drafts: Sequence[Draft]) -> Sequence[Draft]:
        """With what was spent since the last entry that says so."""
        if self._spent is None or not drafts:
            return drafts
        spent, self._spent = self._spent, None
        return [*drafts[:-1], replace(drafts[-1], usage=spent)]

    async def _load(self) -> None:
        self._loaded(await self.work.load(self.conversation))

    def _loaded(self, stored: Stored) -> None:
        self.stored = stored
        self._entries, self._messages = list(self.stored.entries), None
        self._measured, self._measured_at = 0, 0

    def _go_on(self) -> None:
        """What joined the turn under an earlier claim is part of it still; a reply behind it means that it was read.
        What was taken back since has no part in it."""
        replied = max((it.number for it in self._entries if it.message.role == "assistant"), default=0)
        for message, entry in self.stored.joined:
            if entry >= self._begun:
                (self._read if entry < replied else self._joined).append(message)

    def _forget_cut_off(self) -> None:
        self.cut_off.clear()
        self.left.clear()

    def _forget_calls(self) -> None:
        """Nobody goes on with them any more."""
        for index in range(len(self._entries) - 1, -1, -1):
            entry = self._entries[index]
            if entry.number < self._begun:
                break
            self._entries[index] = replace(entry, calls=()) if entry.calls else entry

    def _wrote(self, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
        self._entries.extend(entries)
        self._messages = None
        return entries


def told(call_id: str, result: ToolResult, media: tuple[str, ...] = ()) -> Message:
    """What the model is told of a call, with the files of the result that are kept."""
    return Message("tool", result.for_llm, tool_call_id=call_id, media=media, is_error=result.is_error)


def _tokens(message: Message) -> int:
    arguments = sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
    return (len(message.content) + arguments) // CHARACTERS_PER_TOKEN + TOKENS_PER_PICTURE * len(message.media) + 4
