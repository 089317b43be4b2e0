"""The journal's tables, as the steps that lead from one version of the file to the next. A step is never changed.

What a start looks for stands in partial indexes on what is unfinished: what is stored besides costs it nothing.
"""

from __future__ import annotations

from hookgate.store.files import Schema

FORMAT = 1
"""Of the values that rows hold as JSON: `format` says it of each."""

_FIRST = (
    """
    CREATE TABLE conversations (
        number INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        agent TEXT NOT NULL,
        generation INTEGER NOT NULL,
        written INTEGER NOT NULL DEFAULT 0,
        rows INTEGER NOT NULL DEFAULT 0,
        fence INTEGER NOT NULL DEFAULT 0,
        claimed_by TEXT,
        claimed_until REAL NOT NULL DEFAULT 0,
        claimed_message INTEGER NOT NULL DEFAULT 0,
        moved INTEGER NOT NULL DEFAULT 0,
        last_at REAL NOT NULL DEFAULT 0,
        UNIQUE (session, agent, generation)
    )
    """,
    "CREATE INDEX claimed ON conversations (number) WHERE claimed_by IS NOT NULL",
    "CREATE TABLE generations (session TEXT PRIMARY KEY, generation INTEGER NOT NULL) WITHOUT ROWID",
    # `digest`: of its key; NULL: it has none. A message that was forgotten is its key alone, without an `inbound`.
    # The last one is never deleted, so no number is given twice.
    """
    CREATE TABLE messages (
        number INTEGER PRIMARY KEY,
        digest BLOB UNIQUE,
        conversation INTEGER NOT NULL REFERENCES conversations,
        kind TEXT NOT NULL,
        accepted_at REAL NOT NULL,
        outcome TEXT,
        joined_at INTEGER NOT NULL DEFAULT 0,
        stopped INTEGER NOT NULL DEFAULT 0,
        begun INTEGER NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 0,
        format INTEGER NOT NULL,
        inbound BLOB
    )
    """,
    """
    CREATE INDEX waiting ON messages (begun DESC, number)
    WHERE outcome IS NULL AND kind = 'message' AND joined_at = 0
    """,
    "CREATE INDEX unsettled ON messages (number) WHERE outcome IS NULL AND kind <> 'message'",
    "CREATE INDEX forgotten ON messages (accepted_at) WHERE inbound IS NULL",
    "CREATE INDEX messages_of ON messages (conversation, outcome)",
    "CREATE TABLE passages (message INTEGER NOT NULL, what TEXT NOT NULL, at REAL NOT NULL, why TEXT NOT NULL)",
    "CREATE INDEX passages_of ON passages (message)",
    """
    CREATE TABLE entries (
        conversation INTEGER NOT NULL REFERENCES conversations,
        number INTEGER NOT NULL,
        upto INTEGER NOT NULL,
        gone INTEGER NOT NULL DEFAULT 0,
        at REAL NOT NULL,
        format INTEGER NOT NULL,
        body BLOB NOT NULL
    )
    """,
    "CREATE UNIQUE INDEX transcript ON entries (conversation, number) WHERE gone = 0",
    "CREATE INDEX taken_back ON entries (conversation) WHERE gone = 1",
    "CREATE INDEX summaries ON entries (conversation, number) WHERE upto > 0 AND gone = 0",
    # `reply`: the number of the entry that the call stands in.
    """
    CREATE TABLE calls (
        conversation INTEGER NOT NULL REFERENCES conversations,
        id TEXT NOT NULL,
        reply INTEGER NOT NULL,
        gone INTEGER NOT NULL DEFAULT 0,
        intended INTEGER NOT NULL DEFAULT 0,
        duration_ns INTEGER NOT NULL DEFAULT 0,
        format INTEGER NOT NULL,
        result BLOB,
        PRIMARY KEY (conversation, id)
    )
    """,
    "CREATE INDEX calls_of ON calls (conversation, reply) WHERE gone = 0",
    """
    CREATE TABLE requests (
        id TEXT NOT NULL UNIQUE,
        conversation INTEGER NOT NULL REFERENCES conversations,
        message INTEGER NOT NULL,
        call_id TEXT NOT NULL,
        digest TEXT NOT NULL,
        state TEXT NOT NULL,
        why TEXT NOT NULL DEFAULT '',
        expires_at REAL NOT NULL,
        at REAL NOT NULL,
        format INTEGER NOT NULL,
        request BLOB NOT NULL,
        votes BLOB NOT NULL
    )
    """,
    "CREATE INDEX requests_of ON requests (conversation, message)",
    "CREATE INDEX pending ON requests (conversation) WHERE state = 'open'",
    """
    CREATE TABLE grants (
        id TEXT PRIMARY KEY, session TEXT NOT NULL, ends_at REAL NOT NULL, format INTEGER NOT NULL,
        body BLOB NOT NULL
    ) WITHOUT ROWID
    """,
    # What was asked, decided and run, chained by hashes; the texts can be forgotten, the records stay.
    """
    CREATE TABLE audit (
        number INTEGER PRIMARY KEY, conversation INTEGER NOT NULL, body BLOB NOT NULL, hash BLOB NOT NULL
    )
    """,
    """
    CREATE TABLE audit_texts (
        record INTEGER NOT NULL, name TEXT NOT NULL, conversation INTEGER NOT NULL, salt BLOB NOT NULL,
        text BLOB NOT NULL, PRIMARY KEY (record, name)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX audit_texts_of ON audit_texts (conversation)",
    """
    CREATE TABLE outbox (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        conversation INTEGER NOT NULL REFERENCES conversations,
        message INTEGER NOT NULL,
        channel TEXT NOT NULL,
        chat TEXT NOT NULL,
        at REAL NOT NULL,
        state TEXT,
        tries INTEGER NOT NULL DEFAULT 0,
        again_at REAL NOT NULL DEFAULT 0,
        receipt TEXT NOT NULL DEFAULT '',
        format INTEGER NOT NULL,
        outbound BLOB NOT NULL
    )
    """,
    "CREATE INDEX outgoing ON outbox (channel, chat, number) WHERE state IS NULL",
    "CREATE INDEX outbox_of ON outbox (conversation)",
    """
    CREATE TABLE answers (
        digest BLOB NOT NULL UNIQUE, conversation INTEGER NOT NULL, at REAL NOT NULL, format INTEGER NOT NULL,
        body BLOB NOT NULL
    )
    """,
    "CREATE INDEX answers_of ON answers (conversation)",
    """
    CREATE TABLE offsets (
        channel TEXT NOT NULL, account TEXT NOT NULL, "offset" TEXT NOT NULL, PRIMARY KEY (channel, account)
    ) WITHOUT ROWID
    """,
    "CREATE TABLE holds (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID",
    """
    CREATE TABLE states (
        channel TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (channel, name)
    ) WITHOUT ROWID
    """,
)

# `first`: the number of the first entry that a message's turn has stored.
_TURNS = ("ALTER TABLE messages ADD COLUMN first INTEGER NOT NULL DEFAULT 0",)

# A row in the state `open` is a place for what is still being written; `preview`: the receipt of what stands there.
_PREVIEWS = (
    "ALTER TABLE outbox ADD COLUMN preview TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX previews ON outbox (conversation, message) WHERE state = 'open'",
)

# `intent`: what let the call begin, for its record where a crash comes before that is written.
_INTENTS = ("ALTER TABLE calls ADD COLUMN intent BLOB",)

# People who were paired or added; codes that strangers were given, the sender in the platform's own words.
_PEOPLE = (
    "CREATE TABLE people (name TEXT PRIMARY KEY, format INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID",
    """
    CREATE TABLE pairings (
        code TEXT PRIMARY KEY, channel TEXT NOT NULL, sender TEXT NOT NULL, ends_at REAL NOT NULL
    ) WITHOUT ROWID
    """,
)

# `call`: the one that gives people this itself, in the answer's place.
_HANDED = (
    "ALTER TABLE outbox ADD COLUMN call TEXT NOT NULL DEFAULT ''",
    "CREATE UNIQUE INDEX handed ON outbox (conversation, call) WHERE call <> ''",
)

# Cards: `request`, of which a row shows what has become; `edits`: the row whose message it changes.
_CARDS = (
    "ALTER TABLE outbox ADD COLUMN request TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE outbox ADD COLUMN edits TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX cards ON outbox (request) WHERE request <> ''",
)

# What was given up: few, and looked for often.
_LETTERS = (
    "CREATE INDEX dead_messages ON messages (number) WHERE outcome = 'dead'",
    "CREATE INDEX dead_rows ON outbox (number) WHERE state = 'dead'",
)

# Of programs: who shows a key with this hash is `name` in that channel.
_KEYS = (
    """
    CREATE TABLE keys (
        hash TEXT NOT NULL UNIQUE, channel TEXT NOT NULL, name TEXT NOT NULL, made_by TEXT NOT NULL,
        made_at REAL NOT NULL, PRIMARY KEY (channel, name)
    ) WITHOUT ROWID
    """,
)

# Requests belong to a message in whatever conversation they are made: tasks have conversations of their own.
_TASKS = ("CREATE INDEX requests_for ON requests (message) WHERE state IN ('open', 'approved')",)

_STEPS = (_FIRST, _TURNS, _PREVIEWS, _INTENTS, _PEOPLE, _HANDED, _CARDS, _LETTERS, _KEYS, _TASKS)

JOURNAL = Schema(0x686F6F6A, _STEPS)
