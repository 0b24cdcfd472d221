"""Stores for claims, approvals, documents and the audit log: memory, SQLite and PostgreSQL."""

from assent.stores.memory import MemoryStore
from assent.stores.open import open_store
from assent.stores.sqlite import SqliteStore

__all__ = ["MemoryStore", "SqliteStore", "open_store"]
