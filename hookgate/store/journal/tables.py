"""The steps that several calls of the journal are made of, over one connection. Commits nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from hookgate.protocol.chat import Outbound
from hookgate.protocol.journal.values import Claim, Conversation, Draft, Entry, Fenced, Outcome
from hookgate.store.attempts import ENDS, UNSAID
from hookgate.store.journal.encoding import decoded, encoded
from hookgate.store.journal.schema import FORMAT
from hookgate.store.journal.statements import Statements

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


class Tables(Statements):
    """What is stored; each method is a part of a step."""

    # --- reading ---

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
