"""The SQLite store, for one machine and without a server."""

from assent.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
