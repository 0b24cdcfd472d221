"""The parts of an approval: what its text says, in fields that a page can lay out.

They are made from the same call as the text, and kept with the approval. They hold what the caller sent and what the
tool reported as it came: whoever shows them escapes them. No part of them is a fact of the audit log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from assent.contract.tiers import Tier
from assent.core.action_template import ActionTemplate, BadTemplate
from assent.core.call import Call
from assent.core.link_hosts import host_of_authority, host_of_link
from assent.core.principal import Principal
from assent.core.question import (
    Background,
    SeenRecord,
    argument_warnings,
    last_words,
    shown_value,
    texts_in,
    unknown_warnings,
    visible,
)
from assent.core.shown_arguments import ShownArguments

_VERBS: dict[Tier, str] = {
    Tier.READ: "read data",
    Tier.COMPUTE: "compute something",
    Tier.WRITE: "change data",
    Tier.SHARE_EXPORT: "give data to others",
    Tier.EXTERNAL_SPEND: "spend money",
    Tier.DESTRUCTIVE: "delete or overwrite data",
}
_MOST_SELECTED = 80


def details_of(
    call: Call,
    shown: ShownArguments,
    *,
    why: str | None,
    price: str | None,
    leads_to: Sequence[tuple[str, str]],
    background: Background,
) -> dict[str, Any]:
    """Everything a person needs to decide about a call. Values are plain JSON, not escaped, but for the sentences."""
    contract, stated = call.tool.contract, call.stated
    return {
        "title": contract.title,
        "sentence": sentence_of(call, price, background.records),
        "words": last_words(background.words),
        "records": [{**one._asdict(), "fields": dict(one.fields)} for one in background.records],
        "activity": _activity(call),
        "upstream": call.tool.upstream,
        "contract": contract.digest,
        "requester_kind": call.principal.kind,
        "actors": [{"id": actor.id, "kind": actor.kind} for actor in _chain(call.principal)],
        "why": why,
        "price": price,
        "side_effects": list(contract.side_effects),
        "arguments": shown.arguments,
        "preview": shown.preview,
        "targets": call_targets(stated, leads_to),
        "warnings": [*shown.cut, *unknown_warnings(shown.unknown), *argument_warnings(stated)],
    }


def _activity(call: Call) -> str | None:
    """The contract's action template, filled as in the activity feed."""
    contract = call.tool.contract
    try:
        return None if contract.activity is None else ActionTemplate.parse(contract.activity).render(call.arguments)
    except BadTemplate:
        return visible(contract.title)


def sentence_of(call: Call, price: str | None, records: Sequence[SeenRecord] = ()) -> str:
    """One sentence about a call: who asks to do what with which tool. Everything in it is escaped."""
    contract, principal = call.tool.contract, call.principal
    where = f" on {visible(call.tool.upstream)}" if call.tool.upstream else ""
    cost = f" ({visible(price)})" if price else ""
    who, verb = visible(principal.id), _VERBS[contract.side_effect]
    asks = f"{visible(principal.actors[0].id)} asks for {who}" if principal.actors else f"{who} asks"
    return f"{asks} to {verb}{cost} with {visible(contract.title)}{where}{_subject_text(call, records)}."


def _subject_text(call: Call, records: Sequence[SeenRecord]) -> str:
    """The first two arguments that say what the call is about: those that select, otherwise any short ones.

    An id is followed by the title of what it stands for.
    """
    stated = call.stated
    titles = {one.argument: dict(one.fields).get("title") for one in records}
    names = [name for name in call.tool.contract.selects or stated if isinstance(stated.get(name), str | int | float)]
    return "".join(
        f", {visible(name)} {_short(stated[name])}" + (f" ({_short(title)})" if (title := titles.get(name)) else "")
        for name in names[:2]
    )


def _short(value: str | float) -> str:
    if isinstance(value, str) and len(value) > _MOST_SELECTED:
        value = value[: _MOST_SELECTED - 1] + "…"
    return shown_value(value)


def _chain(principal: Principal) -> list[Principal]:
    """Who acts for the caller, nearest first."""
    return [one for actor in principal.actors for one in (actor, *_chain(actor))]


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
