"""Defaults of a contract: what follows from tier and risk where it says nothing."""

from __future__ import annotations

from typing import Any

from assent.contract.tiers import DEFAULT_RISK, Risk, Tier


def fill(given: dict[str, Any]) -> dict[str, Any]:
    """A copy of the given fields in which everything that follows from tier and risk is said.

    Values of the wrong type are left for the model to refuse.
    """
    full = dict(given)
    tier, risk = _tier(given), _risk(given)
    name = given.get("name")
    if isinstance(name, str):
        full.setdefault("title", humanise(name))
        full.setdefault("audit_event", f"{name}.called")
    if risk is not None:
        full.setdefault("risk", risk)
        full.setdefault("autonomous", risk in (Risk.LOW, Risk.MEDIUM) and not _asks(full.get("confirmation")))
        full["confirmation"] = _confirmation(full, risk)
    if tier is not None:
        full["idempotency"] = _idempotency(full.get("idempotency"), tier)
    full.setdefault("dry_run", {"mode": "none"})
    return full


def humanise(name: str) -> str:
    """`orders.place_order` as a person would write it: Orders place order."""
    words = name.replace(".", " ").replace("_", " ").replace("-", " ").split()
    text = " ".join(words) or name
    return text[:1].upper() + text[1:]


def _tier(given: dict[str, Any]) -> Tier | None:
    try:
        return Tier(given["side_effect"])
    except (KeyError, ValueError):
        return None


def _risk(given: dict[str, Any]) -> Risk | None:
    if given.get("risk") is None:
        tier = _tier(given)
        return DEFAULT_RISK[tier] if tier else None
    try:
        return Risk(given["risk"])
    except ValueError:
        return None


def _asks(confirmation: Any) -> bool:
    return isinstance(confirmation, dict) and confirmation.get("by", "user") != "none"


def _confirmation(given: dict[str, Any], risk: Risk) -> Any:
    asked = "none" if risk is Risk.LOW and given["autonomous"] is True else "user"
    said = given.get("confirmation")
    if said is None:
        return {"by": asked}
    return {"by": asked, **said} if isinstance(said, dict) else said


def _idempotency(said: Any, tier: Tier) -> Any:
    implied = {
        "recovery": "natural" if tier is Tier.READ else "none",
        "key": "auto" if tier is Tier.EXTERNAL_SPEND else "optional",
    }
    if said is None:
        return implied
    if not isinstance(said, dict):
        return said
    full = {**implied, **said}
    if full["recovery"] == "keyed":
        full.setdefault("forward", "argument" if full.get("argument") else "header")
    return full
