"""Definitions as they were first seen, kept in the store: pins that no person has accepted yet.

A document holds the tools of one server. What the server lists now is kept beside its pin, so that a person accepts
exactly what a gateway saw. See ADR 0171.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assent.core.audit import Entry, principal_values
from assent.core.document import Document
from assent.core.pins import Definition, Pin, pin_digest
from assent.core.principal import Principal

KIND = "definition_pins"


@dataclass(frozen=True, slots=True)
class SeenTool:
    """One tool: its pin, who accepted it, and what is listed now if that differs."""

    pin: Pin
    seen_at: float
    accepted_by: str = ""
    """Empty while nobody has accepted it: it was only seen."""
    accepted_at: float = 0.0
    listed: Definition | None = None

    def note(self, found: Sequence[Definition]) -> SeenTool:
        """The tool after its server listed it again; of two definitions the one that differs counts."""
        other = next((one for one in found if pin_digest(one) != self.pin.digest), None)
        known = other is not None and self.listed is not None and pin_digest(other) == pin_digest(self.listed)
        return self if known or other is self.listed else replace(self, listed=other)

    def accept(self, by: str, now: float) -> SeenTool:
        """The tool as it is listed now, accepted."""
        pin = self.pin if self.listed is None else Pin.of(self.listed)
        return SeenTool(pin, self.seen_at, by, now)


@dataclass(frozen=True, slots=True)
class SeenServer:
    """The tools of one server by their own names."""

    upstream: str
    tools: Mapping[str, SeenTool]
    id: str
    version: int = 0
    """Of its document; 0 if there is none yet."""

    @property
    def pins(self) -> dict[str, Pin]:
        return {name: one.pin for name, one in self.tools.items()}

    @property
    def has_changes(self) -> bool:
        """Whether it lists other definitions than are pinned, so that a person may accept them elsewhere."""
        return any(one.listed is not None for one in self.tools.values())

    def note(self, definitions: Iterable[Definition], now: float) -> SeenServer:
        """The server after it listed these tools: new ones are seen, and changed ones are kept beside their pins."""
        found: dict[str, list[Definition]] = {}
        for one in definitions:
            found.setdefault(str(one.get("name")), []).append(one)
        tools = dict(self.tools)
        for name, listed in found.items():
            tools[name] = tools.get(name, SeenTool(Pin.of(listed[0]), now)).note(listed)
        return self if tools == self.tools else replace(self, tools=tools)

    def accept(self, names: Collection[str], by: str, now: float) -> SeenServer:
        return replace(self, tools={n: one.accept(by, now) if n in names else one for n, one in self.tools.items()})

    def document(self) -> Document:
        tools = {
            name: {
                "definition": one.pin.definition,
                "seen_at": one.seen_at,
                **({"accepted_by": one.accepted_by, "accepted_at": one.accepted_at} if one.accepted_by else {}),
                **({} if one.listed is None else {"listed": one.listed}),
            }
            for name, one in self.tools.items()
        }
        body = json.dumps({"upstream": self.upstream, "tools": tools}, separators=(",", ":"))
        return Document(KIND, self.id, body.encode())


def server_id(upstream: str, address: Sequence[str]) -> str:
    """The id of a server: its name, and the command or the address behind it. Another command is another server."""
    return hashlib.sha256(json.dumps([upstream, *address]).encode()).hexdigest()[:32]


def seen_server(document: Document) -> SeenServer:
    """The server that a document holds."""
    body: dict[str, Any] = json.loads(document.body)
    tools = {
        name: SeenTool(
            Pin.of(one["definition"]),
            one["seen_at"],
            one.get("accepted_by", ""),
            one.get("accepted_at", 0.0),
            one.get("listed"),
        )
        for name, one in body["tools"].items()
    }
    return SeenServer(body["upstream"], tools, document.id, document.version)


def accepted_entry(server: SeenServer, names: Collection[str], by: Principal, reason: str, now: float) -> Entry:
    """The audit entry of a person's acceptance."""
    facts = {"event": "definition.accepted", "upstream": server.upstream, "count": len(names)}
    values = {**principal_values(by), "tools": sorted(names), "reason": reason}
    return Entry("operator", now, facts, values)
