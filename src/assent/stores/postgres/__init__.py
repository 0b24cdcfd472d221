"""The PostgreSQL store, for gateways on several machines."""

from assent.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
