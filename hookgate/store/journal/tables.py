"""The steps that several calls of the journal are made of, over one connection. Commits nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.values import Claim, Conversation, Draft, Entry, Fenced, Outcome
from hookgate.store.alone import ME
from hookgate.store.attempts import ENDS, UNSAID
from hookgate.store.journal.encoding import decoded, encoded
from hookgate.store.journal.schema import FORMAT

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Coming:
    """A message as it is stored. `here`: as in `Tables.own`."""

    session: str
    agent: str
    key: bytes | None
    kind: str
    body: bytes
    here: bool


@dataclass(frozen=True, slots=True)
class Added:
    """Numbers of a message and its conversation, with the generation that goes on there; 0: it is not stored.
    `behind`: as in `Accepted`."""

    number: int = 0
    conversation: int = 0
    generation: int = 0
    behind: bool = False


NEW_ENTRY = "INSERT INTO entries (conversation, number, upto, at, format, body) VALUES (?, ?, ?, ?, ?, ?)"
NEW_ROW = """
    INSERT INTO outbox (id, conversation, message, channel, chat, at, format, outbound, state, request, edits)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
CARDS = """
    SELECT id, conversation, format, outbound FROM outbox
    WHERE request = ? AND request <> '' AND edits = '' AND coalesce(state, '') <> 'dead'
"""
OPEN_ROW = (
    "SELECT id, format, outbound, preview FROM outbox WHERE conversation = ? AND message = ? AND state = 'open'"
)
HOME = """
    SELECT m.conversation, o.id FROM messages m
    LEFT JOIN outbox o ON o.conversation = m.conversation AND o.message = m.number AND o.state = 'open'
    WHERE m.number = ?
"""
UNANSWERED = "outcome IS NULL AND kind = 'message' AND joined_at = 0"
"""Of a message that is part of no turn."""
MOST_DIGITS = 18
"""Of a number; SQLite has nine quintillion."""


class Tables:
    """`clock`: seconds of the wall clock. A file has one writer; where there are several, a step holds what it is
    about to change until it ends. `place`: where the tables lie, where that is no file; `me`: who
    asks."""

    place = ""
    me = ME

    def __init__(self, connection: Connection, clock: Callable[[], float]) -> None:
        self.connection = connection
        self.clock = clock

    # --- reading ---

    def one(self, sql: str, *values: object) -> Row | None:
        return self.connection.execute(sql, values).fetchone()

    def all(self, sql: str, *values: object) -> list[Row]:
        return self.connection.execute(sql, values).fetchall()

    def each(self, sql: str, *values: object) -> Iterator[Row]:
        """One by one: there may be more than memory holds."""
        return self.connection.execute(sql, values)

    def has(self, table: str) -> bool:
        """A journal that an older hookgate wrote, and that none has opened since, lacks those that came later."""
        return self.one("SELECT 1 FROM sqlite_master WHERE name = ?", table) is not None

    def run(self, sql: str, *values: object) -> int:
        """How many rows it has changed."""
        return self.connection.execute(sql, values).rowcount

    def add(self, sql: str, *values: object) -> int:
        """The number of the row that it has added; 0: none."""
        cursor = self.connection.execute(sql, values)
        return cursor.lastrowid or 0 if cursor.rowcount > 0 else 0

    def found(self, conversation: Conversation) -> int:
        """Its number; 0: it is not stored."""
        row = self.one(
            "SELECT number FROM conversations WHERE session = ? AND agent = ? AND generation = ?",
            conversation.session,
            conversation.agent,
            conversation.generation,
        )
        return row[0] if row else 0

    def kept(self, conversation: Conversation) -> int:
        """Its number, which it gets where it has none."""
        sql = "INSERT INTO conversations (session, agent, generation) VALUES (?, ?, ?)"
        its = conversation
        return self.found(its) or self.add(sql, its.session, its.agent, its.generation)

    def fenced(self, claim: Claim) -> int:
        """The conversation's number, for a write under this claim. Raises Fenced."""
        its = claim.conversation
        row = self.held(
            "SELECT number FROM conversations "
            "WHERE session = ? AND agent = ? AND generation = ? AND fence = ? AND claimed_by IS NOT NULL",
            its.session,
            its.agent,
            its.generation,
            claim.fence,
        )
        if row is None:
            raise Fenced(its.id)
        return row[0]

    def used_bytes(self) -> int:
        """Without the pages that are free to be used again."""
        pages, free, size = (self.one(f"PRAGMA {it}") for it in ("page_count", "freelist_count", "page_size"))
        return (pages[0] - free[0]) * size[0] if pages and free and size else 0

    def damaged(self, most: int) -> list[str]:
        """What is wrong with its pages and indexes, in so many lines at most."""
        return [row[0] for row in self.all(f"PRAGMA integrity_check({most})") if row[0] != "ok"]

    def written(self, path: Path) -> tuple[int, float]:
        """Bytes on the disk, and when something was written last."""
        found = [it.stat() for it in (path, Path(f"{path}-wal")) if it.exists()]
        return sum(it.st_size for it in found), max(it.st_mtime for it in found)

    # --- one writer among several ---

    def held(self, sql: str, *values: object) -> Row | None:
        """As `one`: what nobody else changes now."""
        return self.one(sql, *values)

    def free(self, sql: str, *values: object) -> Row | None:
        """As `held`, of a statement with the tables c and m: the first that nobody else holds."""
        return self.one(sql, *values)

    def hold(self, session: str, *, alone: bool = False) -> None:
        """Until this step ends, nothing begins anew in the session; `alone`: nothing is accepted there either."""

    def lock(self, conversation: int) -> None:
        """Until this step ends, nobody else writes there, nor is anything accepted."""

    def last(self, act: Callable[[], None]) -> None:
        """The end of the step: what all steps that write have to wait for each other with."""
        act()

    def go_on_counting(self, table: str) -> None:
        """The next number is above all that are there, however they came."""

    # --- one gateway among several ---

    def own(self, session: str, *, here: bool = True) -> str:
        """The gateway where this conversation is from now on: where it is already, unless it rests. `here`: this
        one is as good as any other, since whoever asks waits here."""
        return self.me

    def accept_together(self, coming: Sequence[Coming]) -> list[Added]:
        """In one trip, of each whether that was enough. Empty: here the steps are made one by one."""
        return []

    def unanswered(self, conversation: int, message: int) -> bool:
        """Whether others wait there before this one, which another gateway may have taken in."""
        return False

    def mine(self, session: str, *, held: bool = False) -> str:
        """What is added to the conditions of a statement, so that it finds what this gateway has alone. `session`:
        the column. `held`: until this step is stored nobody takes it away."""
        return ""

    def stir(self, session: str, chat: Chat | None = None) -> None:
        """Whoever has that conversation hears, once this is stored, that there is something to do; of a chat: to
        bring there."""

    # --- writing ---

    def write(self, conversation: int, drafts: Sequence[tuple[Draft, bytes]]) -> tuple[Entry, ...]:
        """A new step of this claim, with entries that are encoded already."""
        now, entries = self.clock(), list[Entry]()
        step = "UPDATE conversations SET written = written + ?, moved = 1, last_at = ? WHERE number = ?"
        [(written,)] = self.all(f"{step} RETURNING written", len(drafts), now, conversation)
        for number, (draft, body) in enumerate(drafts, written - len(drafts) + 1):
            self.run(NEW_ENTRY, conversation, number, draft.upto, now, FORMAT, body)
            entries.append(draft.numbered(number, now))
        if entries:
            sql = (
                "UPDATE messages SET first = ? WHERE first <= 0 AND number = "
                "(SELECT claimed_message FROM conversations WHERE number = ?)"
            )
            self.run(sql, entries[0].number, conversation)
        return tuple(entries)

    def post(self, conversation: int, outbox: Sequence[Outbound], message: int = 0) -> list[str]:
        """Their ids. The first fills the preview of what answers the message, if there is one. What a task says that
        the message has led to stands where that was said."""
        if not outbox:
            return []
        home, preview = self.one(HOME, message) or (conversation, None)
        if home != conversation or preview is None:
            return [self.new_row(home, it, message) for it in outbox]
        filled = "UPDATE outbox SET state = NULL, at = ?, format = ?, outbound = ? WHERE id = ?"
        self.run(filled, self.clock(), FORMAT, encoded(outbox[0]), preview)
        return [preview, *(self.new_row(conversation, it, message) for it in outbox[1:])]

    def new_row(
        self, conversation: int, outbound: Outbound, message: int, state: str | None = None, edits: str = ""
    ) -> str:
        """Its id."""
        chat = outbound.chat
        sql = "UPDATE conversations SET rows = rows + 1 WHERE number = ? RETURNING rows, session, agent, generation"
        [(number, *its)] = self.all(sql, conversation)
        id_, place = f"{Conversation(*its).id}#{number}", (chat.channel, chat.session_key)
        body = encoded(outbound)
        row = (id_, conversation, message, *place, self.clock(), FORMAT, body, state, outbound.request, edits)
        self.run(NEW_ROW, *row)
        return id_

    def edit_cards(self, request: str) -> None:
        """Something has become of it: whoever has been shown it sees that, once what is on its way is there."""
        for id_, conversation, format_, body in self.all(CARDS, request):
            card = decoded(Outbound, format_, body)
            self.new_row(conversation, card, 0, edits=id_)
            self.stir(card.chat.session_key, card.chat)

    def conversation(self, number: int) -> Conversation:
        row = self.one("SELECT session, agent, generation FROM conversations WHERE number = ?", number)
        return Conversation(*row) if row else Conversation("", "")

    def current(self, session: str, agent: str) -> Conversation:
        """The one that is going on there."""
        [generation] = self.one("SELECT generation FROM generations WHERE session = ?", session) or (0,)
        return Conversation(session, agent, generation)

    def end(self, message: int, outcome: Outcome, why: str = "") -> bool:
        """The first outcome stands. Requests that it leaves behind are void."""
        sql = "UPDATE messages SET outcome = ? WHERE number = ? AND outcome IS NULL RETURNING conversation"
        ended = self.all(sql, outcome, message)
        for (conversation,) in ended:
            self.passed(message, outcome, why)
            self._close_preview(conversation, message, UNSAID[outcome])
        voided = self.all(
            "UPDATE requests SET state = 'void', why = ? WHERE message = ? AND state IN ('open', 'approved') "
            "RETURNING id",
            *(ENDS[outcome], message),
        )
        for (request,) in voided:
            self.edit_cards(request)
        return bool(ended)

    def _close_preview(self, conversation: int, message: int, unsaid: str) -> None:
        """Nobody fills it any more: no chat is left with half of something."""
        for _, format_, body, _ in self.all(OPEN_ROW, conversation, message):
            shown = decoded(Outbound, format_, body)
            self.post(conversation, [Outbound(shown.chat, unsaid, kind="notice")], message)

    def passed(self, message: int, what: str, why: str = "") -> None:
        sql = "INSERT INTO passages (message, what, at, why) VALUES (?, ?, ?, ?)"
        self.run(sql, message, what, self.clock(), why)


def number_of(message: str) -> int:
    """Of a message's id; 0: it is none, as one with more digits than any that the file can hold."""
    digits = message[1:]
    right = message.startswith("M") and digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS
    return int(digits) if right else 0


def id_of(message: int) -> str:
    return f"M{message}" if message else ""


def escaped(text: str) -> str:
    """For a pattern of LIKE with the escape `!`."""
    return "".join(f"!{it}" if it in "%_!" else it for it in text)


def known_as(channel: str, account: str, key: str) -> bytes:
    return hashlib.sha256("\0".join((channel, account, key)).encode("utf-8", "surrogatepass")).digest()
