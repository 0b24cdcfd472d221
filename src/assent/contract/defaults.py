"""Defaults of a contract that follow from its tier and risk."""

from __future__ import annotations

from typing import Any

from assent.contract.tiers import DEFAULT_RISK, Risk, Tier


def fill(given: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of the fields with everything that follows from tier and risk filled in.

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
    """A title from a name: `orders.place_order` becomes "Orders place order"."""
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
    by = "none" if risk is Risk.LOW and given["autonomous"] is True else "user"
    declared = given.get("confirmation")
    if declared is None:
        return {"by": by}
    return {"by": by, **declared} if isinstance(declared, dict) else declared


def _idempotency(declared: Any, tier: Tier) -> Any:
    implied = {
        "recovery": "natural" if tier is Tier.READ else "none",
        "key": "auto" if tier is Tier.EXTERNAL_SPEND else "optional",
    }
    if declared is None:
        return implied
    if not isinstance(declared, dict):
        return declared
    full = {**implied, **declared}
    if full["recovery"] == "keyed":
        full.setdefault("forward", "argument" if full.get("argument") else "header")
    return full
