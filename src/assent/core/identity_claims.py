"""What policies may read of an identity provider's claims, in a form that can be compared and cached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.core.outcome import Refusal
from assent.core.principal import Mode

_OWN = frozenset({"iss", "sub", "aud", "exp", "nbf", "iat", "jti", "act", "scope", "scp", "acr", "auth_time", "roles"})
_PER_TOKEN = frozenset({"nonce", "sid", "at_hash", "c_hash", "uti", "rh", "aio"})
"""Claims that differ from token to token of one person; they would make every token another principal."""


def further_claims(claims: Mapping[str, Any]) -> tuple[tuple[str, frozenset[str]], ...]:
    """Every other claim that is a text, a number, true or false, or a list of these: as a set of texts."""
    found = {name: _texts(value) for name, value in claims.items() if name not in _OWN and name not in _PER_TOKEN}
    return tuple(sorted(((name, values) for name, values in found.items() if values is not None), key=_name))


def claim_at(claims: Mapping[str, Any], name: str) -> Any:
    """The claim of this name, or the one inside others that dots lead to, as in `realm_access.roles`."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def words_of(value: Any) -> frozenset[str]:
    """The words of a claim: a list of texts, or one text separated by spaces."""
    if isinstance(value, str):
        return frozenset(value.split())
    return frozenset(one for one in value if isinstance(one, str)) if isinstance(value, list) else frozenset()


def group_names(value: Any) -> frozenset[str]:
    """The groups of a claim. Group names may hold spaces, so a single text is one group."""
    return frozenset({value}) if isinstance(value, str) else words_of(value)


def _name(claim: tuple[str, frozenset[str]]) -> str:
    return claim[0]


def _texts(value: Any) -> frozenset[str] | None:
    if isinstance(value, list):
        parts = [_text(one) for one in value]
        return None if None in parts else frozenset(one for one in parts if one is not None)
    text = _text(value)
    return None if text is None else frozenset({text})


def _text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def mode_of(claims: Mapping[str, object], claim: str = "mode", otherwise: Mode = "live") -> Mode:
    """The mode that a token's claims state. A value that is neither is refused: it may be a misspelled `test`."""
    stated = claims.get(claim, otherwise)
    if stated == "live":
        return "live"
    if stated == "test":
        return "test"
    raise Refusal("authenticate.invalid")
