"""Pins: the tool definitions that a person accepted, and their differences from the current ones.

A pin holds the digest of the whole definition, annotations included, and the definition itself, so that a change
can be read. If a server changes its wording at every start, its tools are pinned by name and effect instead.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from assent.contract.digest import NotCanonicalError, digest_of
from assent.contract.infer import classify
from assent.contract.pointers import escaped
from assent.contract.tool_listing import read_claims
from assent.core.question import visible
from assent.errors import Fault, SettingsError

VERSION = 1
_LONGEST = 300
_MOST_SPELT = 8
# A word that mixes ASCII letters with letters that look like them.
_ALIKE = "\u0370-\u058f\u13a0-\u13ff\uff00-\uffef\U0001d400-\U0001d7ff"
_MIXED = re.compile(rf"\b(?=\w*[A-Za-z])(?=\w*[{_ALIKE}])\w+")
_AROUND = 30
_MOST_LINES = 5
# An unreadable lock file is never overwritten: the accepted definitions would be lost unnoticed.
RESTORE = "Restore it from version control; or delete it and accept all definitions again with `assent pin --write`"

Definition = Mapping[str, Any]
Pins = Mapping[str, "Pin"]
By = Literal["definition", "effect"]
Wanted = Collection[tuple[str, str]] | None
"""The tools to accept, each with its upstream; None: all of them."""
Attacks = Callable[[Definition], Sequence[str]]
"""Descriptions of suspected attacks in the texts of a definition."""


def no_attacks(_: Definition) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Pin:
    """One accepted definition."""

    digest: str
    definition: Definition
    by: By = "definition"
    """Whether any change of the wording counts as a change, or only a change of the effect."""

    @classmethod
    def of(cls, definition: Definition, by: By = "definition") -> Pin:
        return cls(pin_digest(definition), dict(definition), by)

    def changes(self, definition: Definition, attacks: Attacks = no_attacks) -> list[str] | None:
        """The differences from the accepted definition, one line each; None if it is accepted."""
        if self.digest == pin_digest(definition):
            return None
        if self.by == "definition":
            return differences(self.definition, definition)
        known = attacks(self.definition)
        fresh = [one for one in attacks(definition) if one not in known]
        return [*differences(effect_of(self.definition), effect_of(definition)), *fresh] or None


@dataclass(frozen=True, slots=True)
class PinChange:
    """The difference of one tool from its accepted definition; `lines` say where."""

    tool: str
    kind: Literal["changed", "new", "gone"]
    lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        name = visible(self.tool) + _code_points(self.tool if self.kind != "changed" else "")
        return "\n".join((f"{self.kind:<8}{name}", *(f"  {line}" for line in self.lines)))


def pin_digest(definition: Definition) -> str:
    """The digest of a definition, also of one that has no canonical form."""
    try:
        return digest_of(definition)
    except NotCanonicalError:
        text = json.dumps(definition, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def effect_of(definition: Definition) -> dict[str, Any]:
    """What a tool does according to its definition: the inferred effect, and its own annotations."""
    inferred, claims = classify(definition), read_claims(definition)
    found = {name: value for name, value in inferred.as_json().items() if name not in ("name", "confidence", "reasons")}
    return {**found, "claims": {name: getattr(claims, name) for name in ("read_only", "destructive", "open_world")}}


def pins_of(definitions: Iterable[Definition]) -> dict[str, Pin]:
    """Pins of the current definitions."""
    return {str(definition.get("name")): Pin.of(definition) for definition in definitions}


def compare(pins: Pins, definitions: Iterable[Definition], attacks: Attacks = no_attacks) -> list[PinChange]:
    """Compare the current definitions with the pins and return all differences by name."""
    found: list[PinChange] = []
    seen: set[str] = set()
    for definition in definitions:
        name = str(definition.get("name"))
        if name in seen:
            found.append(PinChange(name, "changed", ("it is listed twice",)))
        elif name not in pins:
            found.append(PinChange(name, "new"))
        elif (lines := pins[name].changes(definition, attacks)) is not None:
            found.append(PinChange(name, "changed", tuple(lines)))
        seen.add(name)
    found += [PinChange(name, "gone") for name in pins if name not in seen]
    return sorted(found, key=lambda change: (change.tool, change.kind))


def accepted_pins(
    upstream: str, pins: Pins, found: Sequence[Definition], wanted: Wanted = None, by: By | None = None
) -> dict[str, Pin]:
    """The pins of an upstream after the wanted definitions are accepted.

    A tool stays pinned as it was, a new one as the others of its upstream; a wanted tool that is gone loses its pin.
    """
    usual: By = "effect" if any(one.by == "effect" for one in pins.values()) else "definition"
    named = {str(one.get("name")): one for one in found}
    now = {name: Pin.of(one, by or (pins[name].by if name in pins else usual)) for name, one in named.items()}
    if wanted is None:
        return now
    kept = {name: one for name, one in pins.items() if (upstream, name) not in wanted}
    return kept | {name: one for name, one in now.items() if (upstream, name) in wanted}


def check_listed_once(listed: Mapping[str, Sequence[Definition]], wanted: Wanted = None) -> None:
    """Refuse to accept one of two definitions of the same name: nobody knows which of them will be called."""
    twice = [
        (upstream, name)
        for upstream, found in listed.items()
        for name, number in Counter(str(one.get("name")) for one in found).items()
        if number > 1 and (wanted is None or (upstream, name) in wanted)
    ]
    if twice:
        remedy = "Have its server list it once; what is listed twice cannot be accepted"
        heads = [f"{upstream}:{name}" if upstream else name for upstream, name in twice]
        raise SettingsError([Fault("it is listed twice", remedy, visible(head)) for head in heads])


def changed(pins: Pins, definitions: Iterable[Definition], attacks: Attacks = no_attacks) -> dict[str, str]:
    """The tools to withhold, each with the reason: changed ones, and those that no person has accepted."""
    reasons: dict[str, str] = {}
    for change in compare(pins, definitions, attacks):
        if change.kind == "changed":
            reasons[change.tool] = "its definition changed since it was accepted: " + _shorten(change.lines)
        elif change.kind == "new":
            reasons[change.tool] = "its definition was not accepted yet"
    return reasons


def _shorten(lines: Sequence[str]) -> str:
    """Shorten a reason for a log: the two ends of long lines, and the number of omitted lines."""
    short = [one if len(one) <= 2 * _LONGEST else f"{one[:_LONGEST]} … {one[-_LONGEST:]}" for one in lines]
    more = len(lines) - _MOST_LINES
    return "; ".join([*short[:_MOST_LINES], *([f"and {more} more"] if more > 0 else [])])


def differences(before: Any, after: Any, at: str = "") -> list[str]:
    """The differences of two documents, one line each, by JSON pointer and without shortening."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys = sorted({*before, *after}, key=str)
        return [line for key in keys for line in _member_differences(before, after, key, f"{at}/{escaped(str(key))}")]
    if isinstance(before, list) and isinstance(after, list):
        return _list_differences(before, after, at)
    if type(before) is type(after) and before == after:
        return []
    if isinstance(before, str) and isinstance(after, str):
        return [f"{visible(at) or '/'}: {_text_difference(before, after)}"]
    return [f"{visible(at) or '/'}: {_show_json(before)} -> {_show_json(after)}"]


def _list_differences(before: list[Any], after: list[Any], at: str) -> list[str]:
    """The differences between two lists, apart from their common start and end."""
    first, last = _common_ends([_json(one) for one in before], [_json(one) for one in after])
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    pairs = enumerate(zip(old, new, strict=False), first)
    lines = [line for index, pair in pairs for line in differences(*pair, f"{at}/{index}")]
    for index in range(min(len(old), len(new)), max(len(old), len(new))):
        item, change = (old[index], "removed") if index < len(old) else (new[index], "added")
        lines.append(f"{visible(at)}/{first + index}: {_show_json(item)} {change}")
    return lines


def _text_difference(before: str, after: str) -> str:
    """Two texts; from long ones most of the common start and end is left out."""
    first, last = _common_ends(before, after)
    old, new = (one[first : len(one) - last] for one in (before, after))
    alike = len(old) == len(new) and old.isascii() != new.isascii()
    beside = tuple(
        _code_points(one if alike else "".join(_MIXED.findall(whole))) for one, whole in ((old, before), (new, after))
    )
    if len(old) + len(new) < _LONGEST and unicodedata.normalize("NFKC", old) == unicodedata.normalize("NFKC", new):
        beside = (_code_points(old) or " (plain)", _code_points(new) or " (plain)")
    if max(len(before), len(after)) <= _LONGEST:
        return f"{_show_json(before)}{beside[0]} -> {_show_json(after)}{beside[1]}"
    parts = (_excerpt(one, first - _AROUND, len(one) - last + _AROUND) for one in (before, after))
    return " -> ".join(map("".join, zip(parts, beside, strict=True)))


def _code_points(text: str) -> str:
    """The code points of characters that may be mistaken for others: `Rеfund` is not spelt with an `e`."""
    codes = dict.fromkeys(f"U+{ord(one):04X}" for one in text if not one.isascii())
    return f" (with {', '.join(list(codes)[:_MOST_SPELT])})" if codes else ""


def _common_ends(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """The lengths of the common start and of the common end."""
    first = _common_prefix(before, after)
    return first, _common_prefix(before[first:][::-1], after[first:][::-1])


def _common_prefix(before: Sequence[str], after: Sequence[str]) -> int:
    pairs = enumerate(zip(before, after, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(before), len(after)))


def _excerpt(text: str, start: int, end: int) -> str:
    """A part of a text, with an ellipsis outside the quotes where text was left out."""
    return ("…" if start > 0 else "") + _show_json(text[max(start, 0) : end]) + ("…" if end < len(text) else "")


def _member_differences(before: Mapping[Any, Any], after: Mapping[Any, Any], key: Any, at: str) -> list[str]:
    if key not in after:
        return [f"{visible(at)}: {_show_json(before[key])} removed"]
    if key not in before:
        return [f"{visible(at)}: {_show_json(after[key])} added"]
    return differences(before[key], after[key], at)


def _show_json(value: Any) -> str:
    return visible(_json(value))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def read_pins(text: str, file: str = "") -> dict[str, dict[str, Pin]]:
    """Read the pins of a lock file, by upstream and tool. Raises SettingsError if a digest does not match its
    definition.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(Fault(f"not a lock file: it is not JSON ({error})", RESTORE, file=file)) from None
    try:
        if value["version"] != VERSION:
            raise SettingsError(Fault(f"not a lock file: version {value['version']!r} is unknown", RESTORE, file=file))
        found = {
            upstream: {name: _read_pin(pin) for name, pin in tools.items()}
            for upstream, tools in value["upstreams"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SettingsError(Fault("not a lock file: its structure is not that of one", RESTORE, file=file)) from None
    for tools in found.values():
        for name, pin in tools.items():
            if pin.digest != pin_digest(pin.definition):
                raise SettingsError(Fault("the digest does not match the definition beside it", RESTORE, name, file))
    return found


def _read_pin(pin: Any) -> Pin:
    by = pin.get("by", "definition")
    if by not in ("definition", "effect"):
        raise ValueError("`by` must be definition or effect")
    return Pin(pin["digest"], dict(pin["definition"]), by)


def pins_text(pins: Mapping[str, Pins]) -> str:
    """Format a lock file, in an order that keeps diffs small."""
    upstreams = {
        upstream: {
            name: {"digest": pin.digest, **({"by": pin.by} if pin.by == "effect" else {}), "definition": pin.definition}
            for name, pin in sorted(tools.items())
        }
        for upstream, tools in sorted(pins.items())
    }
    return json.dumps({"version": VERSION, "upstreams": upstreams}, indent=2) + "\n"
