"""Where the arguments of a call lead: real paths, hosts of links, domains of recipients."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from assent.core.link_hosts import host_of_authority, host_of_link
from assent.core.question import texts_in

MOST_TARGETS = 100
MOST_NAMES = 5
"""Arguments that are named for one target; further ones are counted."""
_MOST_RECIPIENTS_TEXT = 20_000
_ADDRESS = re.compile(r"(?:mailto:)?[^\s<>@,;:\"]+@([^\s<>@,;:\"/]+)", re.IGNORECASE)
_NAMED_ADDRESS = re.compile(r"[^<>@]*<([^<>]+)>")


def call_targets(arguments: Any, leads_to: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Every place that arguments lead to, once, with the arguments that name it; at most `MOST_TARGETS` places.

    `leads_to` has the arguments that are paths, each with its real path. Names are not looked up in DNS.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for kind, value, name in _each(arguments, leads_to):
        place = found.setdefault((kind, value), {"kind": kind, "value": value, "arguments": [], "count": 0})
        place["count"] += 1
        if len(place["arguments"]) < MOST_NAMES and name not in place["arguments"]:
            place["arguments"].append(name)
    places = list(found.values())
    left = len(places) - MOST_TARGETS
    more = [{"kind": "more", "value": "", "arguments": [], "count": left}] if left > 0 else []
    return places[:MOST_TARGETS] + more


def _each(arguments: Any, leads_to: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    for name, path in leads_to:
        yield "path", path, name
    for name, text in texts_in(arguments):
        host = host_of_link(text) if ":" in text else None
        if host:
            yield "host", host, name
        elif "@" in text and len(text) <= _MOST_RECIPIENTS_TEXT:
            for domain in recipient_domains(text):
                yield "domain", domain, name


def recipient_domains(text: str) -> list[str]:
    """The domains of the mail addresses in a text that lists them, parted by commas, semicolons or line ends."""
    return [domain for piece in re.split(r"[,;\n]", text) if (domain := _domain(piece.strip()))]


def _domain(piece: str) -> str | None:
    named = _NAMED_ADDRESS.fullmatch(piece)
    address = _ADDRESS.fullmatch(named[1].strip() if named else piece)
    return host_of_authority(address[1]) if address else None
