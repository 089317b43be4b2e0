"""What outlives a run, in one SQLite file: the tool catalog and the descriptions. Knows no tool and no hook."""

from hookgate.store.descriptions import StoredDescriptions
from hookgate.store.opening import open_catalog, open_store
from hookgate.store.store import Store
from hookgate.store.without import Without

__all__ = ["Store", "StoredDescriptions", "Without", "open_catalog", "open_store"]
