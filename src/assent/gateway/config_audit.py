"""Audit entries about the configuration and about changed tool definitions."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from assent.config.model import Settings
from assent.contract.digest import canonical, digest_of
from assent.core.audit import Entry
from assent.core.pins import pin_digest
from assent.errors import StoreError

logger = logging.getLogger(__name__)

MOST = 100
"""The most entries about one upstream per refresh, so that a changing upstream cannot fill the disk."""

ListedTools = tuple[list[dict[str, Any]], dict[str, str]]
"""The definitions of an upstream's tools, and the reasons of those that are withheld until accepted."""
_POLICY = ("mode", "without_contract", "guards", "policies", "limits", "budgets", "approvals", "pins")


class ConfigAuditLog:
    """Writes configuration and definition entries. `digest` is keyed, because settings contain secrets."""

    def __init__(self, note: Callable[[Entry], None], now: Callable[[], float], digest: Callable[[bytes], str]) -> None:
        self._note, self._now, self._digest = note, now, digest

    def record_settings(self, settings: Settings, event: str, tools: int, policies: str = "") -> None:
        """Records that the gateway uses these settings from now on; `policies` is the digest of what they say."""
        whole = settings.model_dump(mode="json")
        said = {"cedar": policies} if policies else {}
        facts = {
            "event": event,
            "configuration": self._digest(canonical(whole)),
            "policy": self._digest(canonical({**{name: whole[name] for name in _POLICY}, **said})),
            "count": tools,
        }
        self._write(Entry("configuration", self._now(), facts, {"upstreams": sorted(settings.upstreams)}))

    def record_tools(self, upstream: str, before: ListedTools | None, after: ListedTools) -> None:
        """Records that an upstream listed its tools for the first time or listed different ones."""
        found = list(_changes(before, after))
        for facts, values in found[:MOST]:
            self._write(Entry("definition", self._now(), {"upstream": upstream, **facts}, values))
        if more := len(found[MOST:]):
            facts = {"upstream": upstream, "event": "definition.more", "count": more}
            self._write(Entry("definition", self._now(), facts))

    def _write(self, entry: Entry) -> None:
        try:
            self._note(entry)
        except StoreError as error:  # Calls are refused in this state; the gateway keeps running to report it.
            logger.error("the audit log cannot be written: %s", error)


def _changes(before: ListedTools | None, after: ListedTools) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    old, new = _digests(before), _digests(after)
    if before is None:
        yield {"event": "definition.loaded", "definition": digest_of(new), "count": len(new)}, {}
    for name in sorted({*old, *new}) if before is not None else []:
        if old.get(name) != new.get(name):
            event = (
                "definition.new" if name not in old else "definition.gone" if name not in new else "definition.changed"
            )
            digests = {"before": old.get(name), "after": new.get(name)}
            yield {"event": event, "tool": name, **{side: one for side, one in digests.items() if one}}, {}
    withheld = {} if before is None else before[1]
    for name, why in sorted(after[1].items()):
        if withheld.get(name) != why:
            yield {"event": "definition.withheld", "tool": name, "definition": new.get(name, "none")}, {"reason": why}
    for name in sorted(withheld.keys() - after[1].keys() & new.keys()):
        yield {"event": "definition.accepted", "tool": name, "definition": new[name]}, {}


def _digests(listed: ListedTools | None) -> Mapping[str, str]:
    return {str(one.get("name")): pin_digest(one) for one in listed[0]} if listed is not None else {}
