"""Which anchors the configuration names, and what is said of those that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assent.audit.anchors import publish_all
from assent.audit.signed_log import AuditLogSigner
from assent.config.anchors import anchors_of
from assent.config.load import load_settings, parse_settings
from assent.errors import SettingsError
from assent.stores import MemoryStore
from support.servers.loopback_server import serving


def settings_of(*anchors: dict[str, Any]) -> Any:
    return parse_settings(f"audit: {{anchors: {list(anchors)}}}")


def test_anchors_are_told_apart_by_number_or_name() -> None:
    found = anchors_of(settings_of({"directory": "a"}, {"directory": "b"}, {"git": "c", "name": "history"}))
    assert [anchor.name for anchor in found] == ["directory", "directory-1", "history"]


@pytest.mark.parametrize(
    ("anchor", "said"),
    [
        ({}, "this entry does not describe an anchor"),
        ({"directory": "a", "git": "b"}, "this entry does not describe an anchor"),
        ({"directory": "a", "remote": "b"}, "this entry does not describe an anchor"),
        ({"directory": 7}, "every value of an anchor must be text"),
        ({"directory": "a", "name": "../up"}, "is not a valid anchor name"),
        ({"webhook": "ftp://example.com"}, "audit.anchors.0"),
    ],
)
def test_what_is_no_anchor_is_refused_with_its_place(anchor: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        anchors_of(settings_of(anchor))


def test_places_are_taken_from_where_the_configuration_lies(tmp_path: Path) -> None:
    path = tmp_path / "assent.yaml"
    path.write_text("audit: {anchors: [{directory: elsewhere}, {git: /srv/log, remote: origin}]}\n")
    assert load_settings(path).audit.anchors == (
        {"directory": str(tmp_path / "elsewhere")},
        {"git": "/srv/log", "remote": "origin"},
    )


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(SettingsError, match="two anchors have the name x"):
        anchors_of(settings_of({"directory": "a", "name": "x"}, {"git": "b", "name": "x"}))


async def test_a_webhook_gets_the_checkpoint_and_one_that_is_away_is_named(tmp_path: Path) -> None:
    got: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        message = await receive()
        got.append(message["body"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    log_signer = AuditLogSigner(MemoryStore(), tmp_path)
    signed = await log_signer.sign(always=True)
    assert signed is not None
    async with serving(app) as url:
        anchors = anchors_of(settings_of({"webhook": url}))
        assert await publish_all(anchors, signed.note) == {}
    assert got == [signed.note]
    assert "could not be reached" in (await publish_all(anchors, signed.note))["webhook"]
