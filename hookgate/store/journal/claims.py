"""Who may write for a conversation, as steps over the tables: claims begin, die, count and are given up."""

from __future__ import annotations

from hookgate.protocol.chat import Inbound, Outbound
from hookgate.protocol.journal.values import Claim, Conversation
from hookgate.store.attempts import GIVEN_UP, MAX_ATTEMPTS
from hookgate.store.journal.audit.chain import note
from hookgate.store.journal.encoding import decoded
from hookgate.store.journal.tables import UNANSWERED, Tables, id_of, number_of

FREE = """
    SELECT m.number, m.conversation FROM messages m JOIN conversations c ON c.number = m.conversation
    WHERE m.outcome IS NULL AND m.kind = 'message' AND m.joined_at = 0
    AND (c.claimed_by IS NULL OR c.claimed_until <= ?)
"""
IN_ORDER = "ORDER BY m.begun DESC, m.number LIMIT 1"
"""What a crash left comes first, then in the order of arrival."""
FIRST = f"""
    AND NOT EXISTS (
        SELECT 1 FROM messages WHERE conversation = m.conversation AND {UNANSWERED}
        AND (begun > m.begun OR (begun = m.begun AND number < m.number))
    )
"""  # noqa: S608 - constants
CUT_OFF = f"SELECT 1 FROM messages WHERE conversation = ? AND {UNANSWERED} AND begun = 1"  # noqa: S608 - constants


def claim_next(tables: Tables, by: str, lease_s: float) -> Claim | None:
    while row := tables.free(f"{FREE} {tables.mine('c.session')} {IN_ORDER}", tables.clock()):
        claim = _take(tables, row[0], row[1], (by, lease_s))
        if claim is not None:
            return claim
    return None


def claim_message(tables: Tables, message: str, by: str, lease_s: float) -> Claim | None:
    free = f"{FREE} {FIRST} {tables.mine('c.session', held=True)} AND m.number = ?"
    row = tables.held(free, tables.clock(), number_of(message))
    return None if row is None else _take(tables, row[0], row[1], (by, lease_s))


def claim_conversation(tables: Tables, conversation: Conversation, by: str, lease_s: float) -> Claim | None:
    if tables.own(conversation.session) != tables.me:
        return None
    number = tables.kept(conversation)
    tables.lock(number)
    if running(tables, number) is not None or tables.one(CUT_OFF, number):
        return None
    _bury(tables, number)
    _, fence, until = _begin(tables, number, 0, (by, lease_s))
    return Claim(conversation, fence, by, until, after=fence - 1)


def running(tables: Tables, conversation: int) -> int | None:
    """The message that is worked on there, 0 for work that none has asked for; None: nobody has it."""
    sql = (
        "SELECT claimed_message FROM conversations WHERE number = ? AND claimed_by IS NOT NULL AND claimed_until > ?"
    )
    row = tables.one(sql, conversation, tables.clock())
    return None if row is None else row[0]


def _take(tables: Tables, message: int, conversation: int, holder: tuple[str, float]) -> Claim | None:
    """None: it had been tried often enough, and is a dead letter now."""
    _bury(tables, conversation)
    sql = "SELECT attempts, stopped, first, format, inbound FROM messages WHERE number = ?"
    [(attempts, stopped, first, format_, text)] = tables.all(sql, message)
    inbound = decoded(Inbound, format_, text)
    if attempts >= MAX_ATTEMPTS:
        tables.post(conversation, [Outbound(inbound.chat, GIVEN_UP, kind="error")], message)
        tables.end(message, "dead")
        return_joined(tables, conversation)
        return None
    tables.run("UPDATE messages SET begun = 1 WHERE number = ?", message)
    tables.passed(message, "running")
    its, fence, until = _begin(tables, conversation, message, holder)
    mark = (holder[0], until, id_of(message), inbound)
    return Claim(its, fence, *mark, attempts + 1, bool(stopped), max(first, 0), after=fence - 1)


def _bury(tables: Tables, conversation: int) -> None:
    """A claim that nobody has ended counts as an attempt, unless a step was stored under it."""
    sql = "SELECT claimed_message, moved FROM conversations WHERE number = ? AND claimed_by IS NOT NULL"
    for message, moved in tables.all(sql, conversation):
        counted = "0" if moved else "attempts + 1"
        note(tables, conversation, {"kind": "taken over", "message": id_of(message)})
        tables.run(f"UPDATE messages SET attempts = {counted} WHERE number = ?", message)  # noqa: S608
        let_go(tables, conversation)


def joined(tables: Tables, conversation: int) -> list[tuple[int, int]]:
    """Messages that are part of a turn which has not ended, each with the number of its entry."""
    sql = "SELECT number, joined_at FROM messages WHERE conversation = ? AND outcome IS NULL AND joined_at > 0"
    return [(number, entry) for number, entry in tables.all(f"{sql} ORDER BY joined_at", conversation)]


def return_joined(tables: Tables, conversation: int) -> None:
    """What joined a turn and did not end with it is said in a turn of its own, and there alone."""
    for number, entry in joined(tables, conversation):
        tables.run("UPDATE entries SET gone = 1 WHERE conversation = ? AND number = ?", conversation, entry)
        tables.run("UPDATE messages SET joined_at = 0 WHERE number = ?", number)


def let_go(tables: Tables, conversation: int) -> None:
    tables.run("UPDATE conversations SET claimed_by = NULL WHERE number = ?", conversation)


def _begin(
    tables: Tables, conversation: int, message: int, holder: tuple[str, float]
) -> tuple[Conversation, int, float]:
    by, lease_s = holder
    until = tables.clock() + lease_s
    [(fence, *its)] = tables.all(
        "UPDATE conversations SET fence = fence + 1, moved = 0, claimed_by = ?, claimed_until = ?, "
        "claimed_message = ? WHERE number = ? RETURNING fence, session, agent, generation",
        by,
        until,
        message,
        conversation,
    )
    return Conversation(*its), fence, until


def end_claims(tables: Tables, by: str = "") -> None:
    """Of a gateway that is gone, or of all: none is in force any more."""
    ended = "UPDATE conversations SET fence = fence + 1, claimed_until = 0 WHERE claimed_by IS NOT NULL"
    tables.run(f"{ended} AND (? = '' OR claimed_by = ?)", by, by)
