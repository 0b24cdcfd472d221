"""The log says by which configuration and definitions a gateway lived, and gives nothing of them away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assent.config.load import parse_settings
from assent.config.model import Settings
from assent.core.audit import Entry
from assent.core.pins import pins_of, pins_text
from assent.core.secret_keys import Keyring
from assent.errors import StoreError
from assent.gateway.config_audit import MOST, ConfigAuditLog, ListedTools
from support.clients.transports import over_http
from support.gateway.gateways import Shop, configuration, gateway

SECRET = "canary-key-0123456789"


def config_log(folder: Path, written: list[Entry]) -> ConfigAuditLog:
    return ConfigAuditLog(written.append, lambda: 1_800_000_000.0, Keyring(folder).keyed_hash)


def settings_of(text: str) -> Settings:
    return parse_settings(f"auth: {{api_keys: [{{name: ci, key: {SECRET}, kind: agent}}]}}\n{text}")


def said(withheld: dict[str, str] | None = None, **tools: str) -> ListedTools:
    return [{"name": name, "description": text} for name, text in tools.items()], withheld or {}


def facts_of(before: ListedTools | None, after: ListedTools, folder: Path) -> list[dict[str, Any]]:
    written: list[Entry] = []
    config_log(folder, written).record_tools("shop", before, after)
    return [entry.facts for entry in written]


def test_a_configuration_is_known_again_by_its_digest_and_not_guessed_from_it(tmp_path: Path) -> None:
    written: list[Entry] = []
    ours, theirs = config_log(tmp_path / "ours", written), config_log(tmp_path / "theirs", written)
    for settings in (settings_of(""), settings_of(""), settings_of("profile: spec\nmode: observe")):
        ours.record_settings(settings, "configuration.started", 3)
    theirs.record_settings(settings_of(""), "configuration.started", 3)
    first, again, other, elsewhere = [entry.facts for entry in written]
    assert first == again and first["count"] == 3
    assert first["configuration"] != other["configuration"] and first["policy"] != other["policy"]
    assert first["configuration"] != elsewhere["configuration"], "without our key nobody can try a guess"
    assert SECRET not in repr(written)


def test_what_is_no_policy_changes_the_configuration_alone(tmp_path: Path) -> None:
    written: list[Entry] = []
    ours = config_log(tmp_path, written)
    for text in ("", "audit: {heartbeat: 5m}"):
        ours.record_settings(settings_of(text), "configuration.changed", 0)
    assert written[0].facts["policy"] == written[1].facts["policy"]
    assert written[0].facts["configuration"] != written[1].facts["configuration"]


def test_tools_that_change_come_and_go_are_written_down_with_both_digests(tmp_path: Path) -> None:
    loaded, *rest = facts_of(None, said(a="one", b="two"), tmp_path)
    assert (loaded["event"], loaded["count"], rest) == ("definition.loaded", 2, [])
    new, changed, gone = facts_of(said(b="two", c="three"), said(a="one", b="other"), tmp_path)
    assert (new["event"], new["tool"], "before" in new) == ("definition.new", "a", False)
    assert (changed["event"], changed["tool"]) == ("definition.changed", "b")
    assert changed["before"] != changed["after"]
    assert (gone["event"], gone["tool"], "after" in gone) == ("definition.gone", "c", False)


def test_a_tool_is_withheld_with_its_reason_and_accepted_again(tmp_path: Path) -> None:
    before, after = said(a="one"), said({"a": "its definition changed"}, a="other")
    written: list[Entry] = []
    config_log(tmp_path, written).record_tools("shop", before, after)
    assert [entry.facts["event"] for entry in written] == ["definition.changed", "definition.withheld"]
    assert written[1].values == {"reason": "its definition changed"}
    [accepted] = facts_of(after, said(a="other"), tmp_path)
    assert (accepted["event"], accepted["tool"]) == ("definition.accepted", "a")


def test_an_upstream_that_says_too_much_is_summarised(tmp_path: Path) -> None:
    many = said(**{f"t{number}": "text" for number in range(MOST + 7)})
    facts = facts_of(said(), many, tmp_path)
    assert len(facts) == MOST + 1
    assert facts[-1] == {"upstream": "shop", "event": "definition.more", "count": 7}


def test_a_store_that_cannot_take_it_does_not_stop_the_gateway(tmp_path: Path, caplog: Any) -> None:
    def refuse(entry: Entry) -> None:
        raise StoreError("The disk is full.")

    ConfigAuditLog(refuse, lambda: 0.0, Keyring(tmp_path).keyed_hash).record_settings(
        settings_of(""), "configuration.started", 0
    )
    assert "The disk is full." in caplog.text


async def test_a_gateway_writes_down_how_it_starts_what_it_adopts_and_what_its_upstream_changes(tmp_path: Path) -> None:
    shop, lock = Shop(), tmp_path / "assent.lock"
    async with over_http(shop.server) as upstream:
        upstreams = {"shop": {"url": upstream}}
        async with gateway(tmp_path, upstreams, pins=str(lock)) as (_, gateway_app):
            lock.write_text(pins_text({"shop": pins_of(await gateway_app.current.links["shop"].load())}))
            shop.server._tool_manager.get_tool("place_order").description = "Lists nothing."  # type: ignore[union-attr]
            await gateway_app.reload("shop")
            lock.write_text(pins_text({"shop": pins_of(await gateway_app.current.links["shop"].load())}))
            await gateway_app.reload("shop")
            await gateway_app.use(parse_settings(configuration(tmp_path, upstreams, pins=str(lock), mode="observe")))
            await gateway_app.store.flush()
            found = [one.entry for one in await gateway_app.store.entries()]
    assert [entry.facts["event"] for entry in found] == [
        "definition.loaded",
        "configuration.started",
        "definition.changed",
        "definition.withheld",
        "definition.accepted",
        "configuration.changed",
    ]
    assert "changed since it was accepted" in found[3].values["reason"]
    assert found[1].facts["policy"] != found[5].facts["policy"]
