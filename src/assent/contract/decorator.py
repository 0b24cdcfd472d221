"""How does a function carry its contract?"""

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


def contract(**fields: Any) -> Callable[[Function], Function]:
    """Declare what a tool promises: the fields of a contract file as keywords.

    The decorated function is returned as it is and carries the declaration; the tool's name is the one it is
    registered under. A contradiction is raised here, where it was written.
    """
    # Reading contracts takes half a second to import, which `import assent` must not cost those who declare none.
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
    """The contract a function carries under the name it was registered with."""
    from assent.contract.reader import read_contract

    carrier: Any = function
    while carrier is not None:
        declared = getattr(carrier, _ATTRIBUTE, None)
        if declared is not None:
            own, fields = declared
            return read_contract(own or name, fields)
        carrier = carrier.func if isinstance(carrier, functools.partial) else getattr(carrier, "__func__", None)
    return None
