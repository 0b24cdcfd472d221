"""Tool contracts for the Model Context Protocol: declared once, derived everywhere, enforced."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from assent.client.governed_client import GovernedClient as GovernedClient
    from assent.client.tool_policy import needs_confirmation as needs_confirmation
    from assent.contract.decorator import contract as contract
    from assent.core.principal import Principal as Principal
    from assent.core.tool import record_event as record_event
    from assent.library.function_outcome import current_mode as current_mode
    from assent.library.governance import Assent as Assent
    from assent.ports import ToolFailed as ToolFailed

# Imported when first asked for: a decorator must not cost what a server costs.
_HOMES = {
    "Assent": "assent.library.governance",
    "GovernedClient": "assent.client.governed_client",
    "Principal": "assent.core.principal",
    "ToolFailed": "assent.ports",
    "current_mode": "assent.library.function_outcome",
    "needs_confirmation": "assent.client.tool_policy",
    "record_event": "assent.core.tool",
}

__all__ = [
    "Assent",
    "GovernedClient",
    "Principal",
    "ToolFailed",
    "contract",
    "current_mode",
    "needs_confirmation",
    "record_event",
]


class _Package(ModuleType):
    """This package. `assent.contract` is a package too; from the outside, it is the decorator."""

    @property
    def contract(self) -> Any:
        return import_module("assent.contract.decorator").contract

    @contract.setter
    def contract(self, _: ModuleType) -> None:
        """Python binds a package here when it is imported; the decorator stays."""


if not TYPE_CHECKING:
    sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'assent' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
