"""Whether a contract says everything that an agent should know before a call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.contract.model import Contract
from assent.contract.profiles import Profile
from assent.errors import Fault

_DECLARED = ("category", "permissions", "side_effects", "failure_modes")
"""The fields that nobody but the author knows. Risk, autonomy, confirmation, step-up and audit event have defaults."""


def missing_fields(contract: Contract, definition: Mapping[str, Any]) -> list[str]:
    """The fields of the thirteen that neither the contract nor the tool's definition has."""
    missing = [name for name in _DECLARED if name not in contract.model_fields_set]
    if not (contract.description or definition.get("description")):
        missing.insert(0, "description")
    if contract.output is None and definition.get("outputSchema") is None:
        missing.append("output")
    return missing


def incomplete(contract: Contract, definition: Mapping[str, Any], profile: Profile) -> Fault | None:
    """The fault of a contract that leaves fields open, if the profile reports or refuses such contracts."""
    missing = missing_fields(contract, definition) if profile.completeness else []
    if not missing:
        return None
    message = f"the contract leaves open: {', '.join(missing)}"
    return Fault(message, "Write them; an empty list ([] or {}) says that there are none", contract.name)
