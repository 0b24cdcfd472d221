"""How does a function carry its contract?"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from assent.contract.model import Contract
from assent.contract.reading import read_contract

Function = TypeVar("Function", bound=Callable[..., Any])

_ATTRIBUTE = "__assent_contract__"


def contract(**fields: Any) -> Callable[[Function], Function]:
    """Declare what a tool promises: the fields of a contract file as keywords.

    The decorated function is returned as it is and carries the declaration; the tool's name is the one it is
    registered under. A contradiction is raised here, where it was written.
    """
    name = fields.pop("name", None)
    read_contract(name or "tool", fields)

    def declare(function: Function) -> Function:
        target: Any = function
        while isinstance(target, functools.partial):
            target = target.func
        setattr(target, _ATTRIBUTE, (name, dict(fields)))
        return function

    return declare


def contract_of(function: Callable[..., Any], name: str) -> Contract | None:
    """The contract a function carries under the name it was registered with."""
    declared = getattr(function, _ATTRIBUTE, None) or getattr(getattr(function, "__func__", None), _ATTRIBUTE, None)
    if declared is None:
        return None
    own, fields = declared
    return read_contract(own or name, fields)
