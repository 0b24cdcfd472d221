"""Which store does a URL name?"""

from __future__ import annotations

from assent.errors import Fault, SettingsError
from assent.ports import Store
from assent.stores.memory import MemoryStore


def open_store(url: str) -> Store:
    """The store behind `memory://` or `sqlite:///path`; nothing is opened before it is first used."""
    if url == "memory://":
        return MemoryStore()
    raise SettingsError(Fault(f"{url.split('://')[0]!r} is no kind of store", "Use sqlite:///assent.db", "store"))
