"""The journal's file: where it lies, its one writer, its readers and its time. Knows none of its promises."""

from hookgate.store.journal.engine.engine import Engine as Engine
