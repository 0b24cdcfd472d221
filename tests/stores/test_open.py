"""Which store does a URL name, and what is said of one that names none?"""

from pathlib import Path

import pytest

from assent.errors import SettingsError, StoreError
from assent.stores import MemoryStore, open_store
from assent.stores.open import sqlite_path


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///assent.db", "assent.db"),
        ("sqlite:///data/assent.db", "data/assent.db"),
        ("sqlite:////var/lib/assent.db", "/var/lib/assent.db"),
        ("sqlite:///with%20space%3F.db", "with space?.db"),
    ],
)
def test_three_slashes_are_relative_and_four_absolute(url: str, path: str) -> None:
    assert sqlite_path(url) == Path(path)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("sqlite://assent.db", "one slash is missing"),
        ("sqlite://", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///folder/", "names no file"),
        ("sqlite:///:memory:", "not a file name"),
        ("sqlite:///a%00b", "not a file name"),
        ("sqlite:///a.db?mode=ro", "no options"),
        ("sqlite:///a.db#x", "no options"),
        ("mysql://u:hunter2@host/db", "mysql:// is not a kind of store"),
        ("memory://host", "memory:// is not a kind of store"),
        ("assent.db", "not the URL of a store"),
        ("", "not the URL of a store"),
    ],
)
async def test_a_wrong_url_is_named_with_its_remedy_and_without_its_password(url: str, said: str) -> None:
    with pytest.raises(SettingsError) as error:
        await open_store(url)
    assert said in str(error.value)
    assert "Write sqlite:///assent.db" in str(error.value)
    assert "hunter2" not in str(error.value)


async def test_memory_is_opened_by_its_url() -> None:
    assert isinstance(await open_store("memory://"), MemoryStore)


async def test_a_file_is_opened_by_its_url(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/assent.db")
    await store.close()
    assert (tmp_path / "assent.db").exists()


async def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"folder .*/none does not exist\. Create it"):
        await open_store(f"sqlite:///{tmp_path}/none/assent.db")
