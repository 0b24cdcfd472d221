"""What is written down of how the gateway is set up, and of tools that change under it?"""

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
"""Entries about one upstream at a time: one that says something else all the time must not fill the disk."""

Said = tuple[list[dict[str, Any]], dict[str, str]]
"""The definitions of an upstream's tools, and which of them are withheld because nobody accepted them."""
_POLICY = ("mode", "without_contract", "guards", "policies", "limits", "budgets", "approvals", "pins")


class ConfigAuditLog:
    """Configuration and definitions in the log. `digest` is keyed: a configuration holds what must not be guessed."""

    def __init__(self, note: Callable[[Entry], None], now: Callable[[], float], digest: Callable[[bytes], str]) -> None:
        self._note, self._now, self._digest = note, now, digest

    def configured(self, settings: Settings, event: str, tools: int) -> None:
        """The gateway lives by these settings from now on."""
        whole = settings.model_dump(mode="json")
        facts = {
            "event": event,
            "configuration": self._digest(canonical(whole)),
            "policy": self._digest(canonical({name: whole[name] for name in _POLICY})),
            "count": tools,
        }
        self._write(Entry("configuration", self._now(), facts, {"upstreams": sorted(settings.upstreams)}))

    def said(self, upstream: str, before: Said | None, after: Said) -> None:
        """An upstream says other things of its tools than before, or something for the first time."""
        found = list(_changes(before, after))
        for facts, values in found[:MOST]:
            self._write(Entry("definition", self._now(), {"upstream": upstream, **facts}, values))
        if more := len(found[MOST:]):
            facts = {"upstream": upstream, "event": "definition.more", "count": more}
            self._write(Entry("definition", self._now(), facts))

    def _write(self, entry: Entry) -> None:
        try:
            self._note(entry)
        except StoreError as error:  # calls are refused by now; the gateway stays to say so
            logger.error("audit log: %s", error)


def _changes(before: Said | None, after: Said) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
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


def _digests(said: Said | None) -> Mapping[str, str]:
    return {str(one.get("name")): pin_digest(one) for one in said[0]} if said is not None else {}
