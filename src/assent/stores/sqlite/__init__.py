"""Where do we remember when there is one machine and nothing to install?"""

from assent.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
