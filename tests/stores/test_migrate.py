"""Do the steps lead to the schema, one after the other?"""

import pytest

from assent.errors import StoreError
from assent.stores.migrations import migrations, pending


def test_steps_are_numbered_from_one() -> None:
    assert [step.number for step in migrations("sqlite")] == list(range(1, len(migrations("sqlite")) + 1))


def test_only_missing_steps_are_pending() -> None:
    newest = len(migrations("sqlite"))
    assert len(pending("sqlite", 0, "It")) == newest
    assert pending("sqlite", newest, "It") == ()


def test_a_newer_schema_is_refused_with_both_versions() -> None:
    newest = len(migrations("sqlite"))
    with pytest.raises(StoreError, match=rf"It has schema {newest + 1}, .* up to {newest}\. Upgrade Assent"):
        pending("sqlite", newest + 1, "It")
