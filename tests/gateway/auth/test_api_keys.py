"""API keys are kept as digests and recognised by their start."""

from __future__ import annotations

from dataclasses import replace

from assent.gateway.auth.authenticator import ConfiguredApiKeys, digest_secret, make_key, record_key
from assent.testing import AGENT


def test_a_key_is_found_until_it_is_revoked() -> None:
    key = make_key()
    record = record_key(key, AGENT)
    assert ConfiguredApiKeys([record]).find(key) is AGENT
    assert ConfiguredApiKeys([replace(record, revoked_at=1.0)]).find(key) is None
    assert ConfiguredApiKeys([record]).find(key + "x") is None
    assert ConfiguredApiKeys([record]).find("") is None


def test_what_is_kept_does_not_hold_the_key() -> None:
    key = make_key()
    record = record_key(key, AGENT)
    assert record.digest == digest_secret(key)
    assert key.startswith(record.start)
    assert len(key) - len(record.start) >= 43
    assert record_key("chosen-by-a-person", AGENT).start == ""


def test_no_two_keys_are_the_same() -> None:
    assert len({make_key() for _ in range(1000)}) == 1000
