"""The journal in memory: all its promises but those about power and the death of the process."""

from hookgate.store.memory.journal import MemoryJournal

__all__ = ["MemoryJournal"]
