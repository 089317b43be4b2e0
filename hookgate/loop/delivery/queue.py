"""One chat's way out: its rows in order, tried again or given up, and between them what is being written.

All that goes to a chat goes through here one after the other, so that no edit overtakes another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from math import inf
from time import time
from typing import cast

import structlog
import trio

from hookgate.loop.delivery.preview import Preview
from hookgate.loop.delivery.sending import editing, is_ended_by_edit, parts, put, show
from hookgate.processes.backoff import backoff_s
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import Undelivered
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.interfaces import Channel, EditingChannel, Replacing
from hookgate.protocol.journal.interfaces import Posting
from hookgate.protocol.journal.values import Claim, Fenced, Row

log = structlog.get_logger("hookgate.loop")

FIRST_S, LONGEST_S = 1.0, 600.0
MAX_TRIES = 12
"""Over about forty minutes; what has not arrived by then is a dead letter."""
SEND_S = 30.0
"""A channel that takes longer has failed."""
WAIT_S = 3.0
"""A chat that takes longer is stuck, and nobody waits for it until something has arrived there again."""
AGAIN_S = 1.0
"""How soon a gateway that others may have taken for gone looks whether it has its rows still."""
PREVIEW_S = 0.5
"""A reply that is whole by then is never shown in part."""

SLOW = "the channel takes too long"
TOO_MANY = "the channel asks for time"
ABSENT = "the database has not heard of this gateway for too long; another one may bring it"


@dataclass(frozen=True)
class Ways:
    """What all queues have in common. `given_up` hears of dead letters. What runs within `present` is cancelled
    before another gateway may take this one for gone: no row is begun then. `quiet`: by session key until when a chat
    gets nothing, since its channel has asked for that, or a preview has just gone there. `shown`: by row the text of
    its preview, where that is known. `arrived`: by session key the row that is next there, and the receipts of those
    of its parts that are there already: what was sent is not sent again because a store that fails does not hear of
    it. `meanwhile`: for each who is storing something, the rows that have changed since that began: what the store
    tells of these may be old by the time it is heard."""

    posting: Posting
    channels: Mapping[str, Channel]
    redactor: Callable[[Chat], Replacing | None]
    given_up: Callable[[Outbound, str], None] = lambda _outbound, _why: None
    present: Callable[[], AbstractContextManager[object]] = nullcontext
    quiet: dict[str, float] = field(default_factory=dict[str, float])
    shown: dict[str, str] = field(default_factory=dict[str, str])
    arrived: dict[str, tuple[str, list[str]]] = field(default_factory=dict[str, tuple[str, list[str]]])
    meanwhile: dict[int, set[str]] = field(default_factory=dict[int, set[str]])

    def receipts(self, row: Row) -> list[str]:
        key = row.outbound.chat.session_key
        if key not in self.arrived or self.arrived[key][0] != row.id:
            self.arrived[key] = (row.id, [])
        return self.arrived[key][1]

    def changed(self, row: str) -> None:
        """It has got a preview, or its end."""
        for rows in self.meanwhile.values():
            rows.add(row)


class ChatQueue:
    """Alive while there is something to bring. `there` is set when nobody has to wait for that any more: it is in the
    chat, or `stuck` says why nothing gets there; `rest`, once that is stored, too."""

    def __init__(self, chat: Chat, ways: Ways) -> None:
        self.chat = chat
        self.there, self.rest = trio.Event(), trio.Event()
        self.stuck = ""
        self._ways = ways
        self._more = True
        self._begun, self._row = False, cast("Row | None", None)
        self._pause = trio.CancelScope()
        self._preview: Preview | None = None
        self._stirred = trio.Event()

    # --- what it is told ---

    def wake(self, row: Row | None = None) -> None:
        """There is more to bring. `row`: what is next; where something is being brought, that may be another one by
        now."""
        self._more = True
        self._row = self._row if self._begun else row or self._row
        self._stirred.set()
        if not self.stuck:
            self._end_rest()

    def begin_rest(self) -> None:
        self.there.set()
        self.rest.set()

    def _end_rest(self) -> None:
        self.there = trio.Event() if self.there.is_set() else self.there
        self.rest = trio.Event() if self.rest.is_set() else self.rest

    def write(self, claim: Claim, text: str | None) -> None:
        if self._preview is None or self._preview.over:
            self._preview = Preview(claim, trio.current_time() + PREVIEW_S)
        self._preview.add(text)
        self._stirred.set()

    def written(self) -> None:
        if self._preview is not None:
            self._preview.over = True
            self._stirred.set()

    def begin_next(self, row: str) -> None:
        """The row that was next is there, or will never be, and that is stored."""
        self._ways.arrived.pop(self.chat.session_key, None)
        self._ways.shown.pop(row, None)
        self._ways.changed(row)
        self._pause.cancel()
        if self.stuck:
            self.stuck = ""
            self._end_rest()

    def give_up_waiting(self) -> None:
        self.stuck = SLOW
        self.begin_rest()

    # --- rows ---

    async def work_off(self) -> None:
        """Until there is nothing to bring and nothing is being written."""
        posting = self._ways.posting
        while self._more or self._preview is not None:
            self._more, self._begun, known, self._row = False, True, self._row, None
            row = known or await posting.next_row(self.chat)
            while row is not None and self._channel is not None:
                if (wait_s := self._quiet_until - trio.current_time()) > 0:
                    await self._sleep(wait_s, TOO_MANY if wait_s > WAIT_S else "")
                    row = await posting.next_row(self.chat)
                else:
                    row = await self._bring(self._channel, row)
            if self._preview is not None and not self._more:
                await self._look_at(self._preview)

    @property
    def _channel(self) -> Channel | None:
        return self._ways.channels.get(self.chat.channel)

    @property
    def _quiet_until(self) -> float:
        return self._ways.quiet.get(self.chat.session_key, 0.0)

    async def _bring(self, channel: Channel, row: Row) -> Row | None:
        """What comes next."""
        posting, receipts = self._ways.posting, self._ways.receipts(row)
        if not await self._is_present():
            await self._sleep(AGAIN_S, ABSENT)
            return await posting.next_row(self.chat)
        failed = await self._try(channel, row, receipts)
        if failed is None:
            if row.last and not self._more:
                self.there.set()
            following = await posting.sent(row.id, " ".join(filter(None, receipts)))
            self.begin_next(row.id)
            return following
        if failed.final or row.tries + 1 >= MAX_TRIES:
            log.warning("message_undeliverable", session=self.chat.session_key, row=row.id, why=failed.why)
            await posting.dead(row.id, failed.why)
            self._ways.given_up(row.outbound, failed.why)
            self.begin_next(row.id)
        else:
            wait_s = max(backoff_s(row.tries + 1, FIRST_S, LONGEST_S), failed.retry_after_s or 0)
            log.info("message_undelivered", session=self.chat.session_key, why=failed.why, again_in_s=wait_s)
            await posting.failed(row.id, failed.why, time() + wait_s)
            await self._sleep(wait_s, failed.why)
        return await posting.next_row(self.chat)

    async def _is_present(self) -> bool:
        with self._ways.present():
            await trio.lowlevel.checkpoint_if_cancelled()
            return True
        return False

    async def _sleep(self, wait_s: float, why: str) -> None:
        """With a reason, nobody waits for this chat meanwhile."""
        if why:
            self.stuck = why
            self.begin_rest()
        self._pause = trio.CancelScope()
        with self._pause:
            await trio.sleep(wait_s)

    async def _try(self, channel: Channel, row: Row, receipts: list[str]) -> Undelivered | None:
        """What went wrong; None: it is there. The parts that have `receipts` are."""
        for outbound, key in parts(row, channel.limits)[len(receipts) :]:
            preview = "" if receipts else row.preview
            if preview and outbound.text == self._ways.shown.get(row.id) and not is_ended_by_edit(channel):
                receipts.append(preview)
                continue
            within_s = max(SEND_S, channel.limits.media_s if outbound.media else 0.0)
            try:
                with trio.fail_after(within_s):
                    receipts.append(await put(channel, outbound, key, preview))
            except Exception as error:
                return self._named(error, within_s)
        return None

    def _named(self, error: Exception, within_s: float = SEND_S) -> Undelivered:
        match error:
            case Undelivered():
                return Undelivered(self._redacted(error.why), error.retry_after_s, final=error.final)
            case trio.TooSlowError():
                return Undelivered(f"{SLOW}: more than {within_s:.0f} s")
            case _:
                return Undelivered(self._redacted(str(error) or type(error).__name__))

    def _redacted(self, text: str) -> str:
        redactor = self._ways.redactor(self.chat)
        return text if redactor is None else redactor.text(text)

    # --- what is being written ---

    async def _look_at(self, preview: Preview) -> None:
        """Wait until its next edit is due and make it, or until there is something else to do."""
        channel = editing(self._channel)
        if channel is None:
            preview.over = True
        elif not await self._stirs(preview):
            text = preview.next(channel.limits)
            if text:
                await self._show(preview, channel, text)
            else:
                await self._stirred.wait()
        if preview.over and self._preview is preview:
            self._preview = None

    async def _stirs(self, preview: Preview) -> bool:
        """Whether there is something else to do before the next edit is due. Nobody has to wait meanwhile."""
        if not self._more:
            self.begin_rest()
        until = inf if preview.failed else max(preview.due, self._quiet_until)
        while not (self._more or preview.over):
            self._stirred = trio.Event()
            with trio.move_on_at(until) as waiting:
                await self._stirred.wait()
            if waiting.cancelled_caught:
                return False
        return True

    async def _show(self, preview: Preview, channel: EditingChannel, text: str) -> None:
        """Its row is stored before anything of it leaves."""
        posting, said = self._ways.posting, preview.claim.inbound
        outbound = Outbound(self.chat, text, in_reply_to=said.message_id if said is not None else "")
        try:
            row = preview.row = preview.row or await posting.preview(preview.claim, outbound)
        except Fenced:
            preview.over = True
        if preview.over or preview.row is None:
            return
        row, pause_s, receipts = preview.row, channel.limits.pace_s(self.chat), list[str]()
        try:
            # Another gateway may have gone on with it, and brought it to its end.
            with self._ways.present(), trio.fail_after(SEND_S):
                receipts.append(await show(channel, outbound, row.id, row.preview))
        except Exception as error:
            failed = self._named(error)
            log.info("preview_not_shown", session=self.chat.session_key, why=failed.why)
            preview.failed = failed.retry_after_s is None
            pause_s = max(pause_s, failed.retry_after_s or 0.0)
        else:
            preview.over = preview.over or not receipts
        for receipt in receipts:
            preview.shown = self._ways.shown[row.id] = text
            if receipt != row.preview:
                preview.row = replace(row, preview=receipt)
                await posting.previewed(row.id, receipt)
                self._ways.changed(row.id)
        self._ways.quiet[self.chat.session_key] = trio.current_time() + pause_s
