"""The contract fields that follow from an operation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from assent.contract.digest import NotCanonicalError, canonical
from assent.contract.tiers import Tier
from assent.errors import Fault
from assent.upstreams.openapi.arguments import Arguments
from assent.upstreams.openapi.document import Unresolved
from assent.upstreams.openapi.effects import OperationEffect
from assent.upstreams.openapi.encoding import PROBLEM
from assent.upstreams.openapi.operations import ApiOperation, ApiResponse
from assent.upstreams.openapi.schemas import Schemas

MOST_META = 4096
# Own names: those of the standard library change with its version, and with them a contract's digest.
_NAMES = {
    400: "bad_request",
    401: "unauthorized",
    402: "payment_required",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    408: "request_timeout",
    409: "conflict",
    410: "gone",
    412: "precondition_failed",
    413: "content_too_large",
    415: "unsupported_media_type",
    422: "unprocessable_content",
    423: "locked",
    424: "failed_dependency",
    428: "precondition_required",
    429: "too_many_requests",
    451: "unavailable_for_legal_reasons",
    500: "internal_server_error",
    501: "not_implemented",
    502: "bad_gateway",
    503: "service_unavailable",
    504: "gateway_timeout",
}
_REFUSED_UNTRIED = frozenset({501, 505})
_UNKNOWN_BELOW_500 = frozenset({408})
_KEY_ARGUMENT = re.compile(r"idempotency[_-]?key", re.IGNORECASE)
_WORD = re.compile(r"[^\x00-\x20\x7f]{1,200}\Z")


def contract_fields(
    operation: ApiOperation, arguments: Arguments, effect: OperationEffect, schemas: Schemas
) -> tuple[dict[str, Any], list[Fault]]:
    """The fields of the operation's contract, as in a contract file, and what could not be used."""
    findings: list[Fault] = []
    fields: dict[str, Any] = {
        "side_effect": effect.tier.value,
        "permissions": permissions_of(operation),
        "failure_modes": failure_modes(operation, effect.tier, schemas),
        "idempotency": _idempotency(arguments, effect.tier),
        "produces": _words(operation.extensions.get("x-produces")),
        "meta": _meta(operation, findings),
        **_category(operation),
    }
    if title := operation.summary or operation.identifier:
        fields["title"] = title[:2000]
    if effect.overwrites:
        fields["overwrites"] = True
    if effect.risk:
        fields["risk"] = effect.risk.value
    declared = operation.extensions.get("x-side-effect")
    if declared is not None and not effect.declared:
        known = ", ".join(tier.value for tier in Tier)
        findings.append(
            Fault(f"x-side-effect {str(declared)[:40]!r} is not a tier", f"Use one of {known}", operation.place)
        )
    return {name: value for name, value in fields.items() if value not in ({}, [], None)}, findings


def overlaid(fields: Mapping[str, Any], overlay: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the fields with those of a contract file; another tier also replaces what followed from the first one."""
    merged = {**fields, **overlay}
    try:
        tier = Tier(overlay["side_effect"])
    except (KeyError, ValueError):
        return merged
    if tier.value != fields["side_effect"]:
        for derived in ("overwrites", "risk"):
            if derived not in overlay:
                merged.pop(derived, None)
        if "failure_modes" in fields and "failure_modes" not in overlay:
            modes = fields["failure_modes"].items()
            same = {code: {**mode, "class": class_of(mode["status"], tier)} for code, mode in modes}
            merged["failure_modes"] = {**same, **_payment_failure(tier, same)}
    return merged


def permissions_of(operation: ApiOperation) -> list[str]:
    """The scopes of the author's extension, or of the first security requirement that names any."""
    if "x-required-scope" in operation.extensions:
        return _scopes(operation.extensions["x-required-scope"])
    if any(not one for one in operation.security):  # An empty requirement: no authentication is needed.
        return []
    for requirement in operation.security:
        if scopes := [scope for listed in requirement.values() for scope in _scopes(listed)]:
            return list(dict.fromkeys(scopes))
    return []


def _scopes(value: Any) -> list[str]:
    """Every scope, or an error: a permission is never lost silently."""
    found = _words(value)
    given = value.split() if isinstance(value, str) else value if isinstance(value, list) else [value]
    if len(found) < len([one for one in given if one is not None]):
        raise Unresolved("it names an invalid scope; a scope is one word of at most 200 characters")
    return found


def failure_modes(operation: ApiOperation, tier: Tier, schemas: Schemas) -> dict[str, dict[str, Any]]:
    """The declared failures. If the author describes problems, the list is taken as complete; otherwise there is
    none.
    """
    errors = [one for one in operation.responses if one.status.startswith(("4", "5", "DEFAULT"))]
    if not any(media.type == PROBLEM for one in errors for media in one.media):
        return {}
    modes: dict[str, dict[str, Any]] = {}
    listed = {one.status: _codes(one, schemas) for one in errors}
    shared = {code for code, uses in Counter(c for codes in listed.values() for c in set(codes)).items() if uses > 1}
    for response in sorted(errors, key=lambda one: not one.status.isdecimal()):
        own = [code for code in listed[response.status] if code not in shared]
        title = response.description if response.status.isdecimal() else ""
        for status in _statuses(response.status, {mode["status"] for mode in modes.values()}):
            for code in own or [status_code(status)]:
                modes.setdefault(code, _mode(status, tier, title))
    return {**modes, **_payment_failure(tier, modes)}


def _payment_failure(tier: Tier, modes: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """A spending operation can always fail for lack of money, even if the author lists only shared failures."""
    if tier is not Tier.EXTERNAL_SPEND or any(mode.get("status") == 402 for mode in modes.values()):
        return {}
    return {status_code(402): _mode(402, tier, "")}


def status_code(status: int) -> str:
    """The name of an HTTP status as a failure code: `not_found` for 404."""
    return _NAMES.get(status, f"http_{status}")


def tidy_code(text: str) -> str:
    """A code as contracts write it: `CardDeclined` and `CARD_DECLINED` become `card_declined`."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text).lower()
    return re.sub(r"[^a-z0-9_.-]+", "_", snake).strip("_.-")[:100]


def class_of(status: int, tier: Tier) -> str:
    """What a status means for the effect: none, definite, or unknown."""
    if tier is Tier.READ:
        return "definite" if status >= 500 else "no_effect"
    if status in _UNKNOWN_BELOW_500 or (status >= 500 and status not in _REFUSED_UNTRIED):
        return "unknown"
    return "no_effect"


def _mode(status: int, tier: Tier, title: str) -> dict[str, Any]:
    mode: dict[str, Any] = {"class": class_of(status, tier), "status": status}
    return {**mode, "title": title[:2000]} if title else mode


def _statuses(status: str, known: set[int]) -> list[int]:
    """The statuses of a response: itself, or the usual ones of its range that are not declared separately."""
    if status.isdecimal():
        return [int(status)] if 400 <= int(status) <= 599 else []
    return [one for one in _NAMES if one not in known and (status == "DEFAULT" or f"{one // 100}XX" == status)]


def _codes(response: ApiResponse, schemas: Schemas) -> list[str]:
    """The codes that the response's schema lists for `code`."""
    found: list[str] = []
    for media in response.media:
        if media.schema is None:
            continue
        try:
            schema = schemas.through(schemas.convert(media.schema))
            code = schemas.through(schema.get("properties", {}).get("code", {})) if isinstance(schema, dict) else {}
        except Unresolved:
            continue
        if isinstance(code, dict):
            listed = code["enum"] if isinstance(code.get("enum"), list) else [code.get("const")]
            found.extend(tidy_code(one) for one in listed if isinstance(one, str))
    return [code for code in found if code[:1].isalpha()]


def _idempotency(arguments: Arguments, tier: Tier) -> dict[str, Any]:
    """A service with a key header honours keys. The caller need not send one: the gateway passes on its own.

    A service that spends and takes the key as an argument honours it there.
    """
    named = next((slot.argument for slot in arguments.slots if _KEY_ARGUMENT.fullmatch(slot.name)), None)
    if named is not None and not arguments.key_header and tier is Tier.EXTERNAL_SPEND:
        return {"recovery": "keyed", "forward": "argument", "argument": named}
    if not arguments.key_header or tier is Tier.READ:
        return {}
    keyed = {"recovery": "keyed", "forward": "header"}
    return {**keyed, "key": "auto"} if arguments.key_required and tier is not Tier.EXTERNAL_SPEND else keyed


def _meta(operation: ApiOperation, findings: list[Fault]) -> dict[str, Any]:
    """Every small extension that no contract field covers."""
    kept: dict[str, Any] = {}
    for word, value in operation.extensions.items():
        if word in ("x-side-effect", "x-required-scope") or (word == "x-produces" and _words(value)):
            continue
        try:
            if len(canonical(value)) <= MOST_META:
                kept[word] = value
                continue
            reason = f"is longer than {MOST_META} bytes"
        except NotCanonicalError:
            reason = "is not plain JSON"
        findings.append(Fault(f"{word} {reason} and is left out of _meta", "Shorten it", operation.place))
    return kept


def _words(value: Any) -> list[str]:
    listed = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    return [word for word in listed if isinstance(word, str) and _WORD.match(word)]


def _category(operation: ApiOperation) -> Mapping[str, str]:
    label = next((tag.strip()[:200] for tag in operation.tags if tag.strip()), "")
    if not label:
        return {}
    return {"category": re.sub(r"[\x00-\x20\x7f]+", "_", label), "category_label": label}
