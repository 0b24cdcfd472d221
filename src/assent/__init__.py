"""Tool contracts for the Model Context Protocol: declared once, derived everywhere, enforced."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Bound here and now: `assent.contract` is the room and, from the outside, the decorator.
from assent.contract.decorator import contract as contract

if TYPE_CHECKING:
    from assent.core.principal import Principal as Principal
    from assent.library import Assent as Assent
    from assent.ports import ToolFailed as ToolFailed

# Imported when first asked for: a decorator must not cost what a server costs.
_HOMES = {
    "Assent": "assent.library",
    "Principal": "assent.core.principal",
    "ToolFailed": "assent.ports",
}

__all__ = ["Assent", "Principal", "ToolFailed", "contract"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assent' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
