"""A store of 0.2.0 opens: what it lacks is filled in by migrations."""

from __future__ import annotations

from pathlib import Path

from assent.stores.open import open_store
from support.stores.earlier_versions import make_store_of_0_2_0


async def test_keys_of_0_2_0_are_good_and_count_by_their_name(tmp_path: Path) -> None:
    file = tmp_path / "assent.db"
    make_store_of_0_2_0(file)
    store = await open_store(f"sqlite:///{file}")
    try:
        (record,) = await store.keys()
        assert record.is_good(2.0) and (record.made_by, record.made_in) == ("", "")
        assert (record.caller.id, record.caller.maker, record.caller.key) == ("carol", "", "assent_1a2b3c4d")
    finally:
        await store.close()
