"""The journal in a SQLite file: all its promises, through the death of the process and of the machine's power."""

from hookgate.store.journal.opening import StoredJournal, open_journal

__all__ = ["StoredJournal", "open_journal"]
