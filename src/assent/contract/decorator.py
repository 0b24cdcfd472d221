"""The `@contract` decorator, which attaches a contract to a function."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from assent.errors import ContractError, Fault

if TYPE_CHECKING:
    from assent.contract.model import Contract

Function = TypeVar("Function", bound=Callable[..., Any])

_ATTRIBUTE = "__assent_contract__"


def contract(*unnamed: object, **fields: Any) -> Callable[[Function], Function]:
    """Declare a tool's contract: the fields of a contract file as keyword arguments.

    The function is returned unchanged and carries the declaration; the tool's name is the one under which it is
    registered. A contradiction is raised here, where it was written.
    """
    if unnamed:  # `@contract` without parentheses gets the function.
        raise ContractError(Fault("a contract is declared by named fields", "Write @contract(side_effect=...)"))
    # Importing the contract reader takes half a second, which `import assent` must not cost users who declare none.
    from assent.contract.reader import read_contract

    name = fields.pop("name", None)
    read_contract(name or "tool", fields)
    kept = copy.deepcopy(fields)

    def declare(function: Function) -> Function:
        try:
            setattr(getattr(function, "__func__", function), _ATTRIBUTE, (name, kept))
        except (AttributeError, TypeError):
            message = f"{function!r} cannot carry a contract"
            raise ContractError(Fault(message, "Wrap it in a function, or write a contract file")) from None
        return function

    return declare


def contract_of(function: Callable[..., Any], name: str) -> Contract | None:
    """The contract of a function under the name with which it was registered."""
    from assent.contract.reader import read_contract

    carrier: Any = function
    while carrier is not None:
        declared = getattr(carrier, _ATTRIBUTE, None)
        if declared is not None:
            own, fields = declared
            return read_contract(own or name, fields)
        carrier = carrier.func if isinstance(carrier, functools.partial) else getattr(carrier, "__func__", None)
    return None
