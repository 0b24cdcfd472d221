"""A store for many machines."""

from assent.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
