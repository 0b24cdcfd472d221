"""What is common to all guards: where they apply, and which values they look at?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from assent.core.call import Call
from assent.core.matching import Match

Denial = tuple[str, str]


class Rule(BaseModel):
    """A parameterised rule on arguments. `fields` names the arguments it looks at; none means all of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str]
    texts_alone: ClassVar[bool] = False
    """Whether it objects to nothing but texts where it looks at all arguments."""
    match: Match = Match()
    fields: tuple[str, ...] = Field(default=())

    @property
    def rule(self) -> str:
        return self.name

    def applies(self, call: Call) -> bool:
        return self.match.holds(call)

    def denies(self, arguments: Mapping[str, Any]) -> Denial | None:
        """The first objection. Most calls meet none, so paths are only made out once there is one."""
        objection = self.objection
        for value in self._bare(arguments):
            if objection(value) is not None:
                return self._first_denial(arguments)
        return None

    def _bare(self, arguments: Mapping[str, Any]) -> list[Any]:
        found: list[Any] = []
        if self.fields:
            for name in self.fields:
                if name in arguments:
                    _gather(arguments[name], found)
        elif self.texts_alone:
            _gather_texts(arguments.values(), found)
        else:
            for value in arguments.values():
                _gather(value, found)
        return found

    def _first_denial(self, arguments: Mapping[str, Any]) -> Denial | None:
        for field, value in self.values(arguments):
            reason = self.objection(value)
            if reason is not None:
                return field, reason
        return None

    def objection(self, value: Any) -> str | None:
        """Why this value is not allowed, or None."""
        raise NotImplementedError

    def values(self, arguments: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Every plain value of the fields looked at, with the path that names it. Keys of free-form objects count."""
        found: list[tuple[str, Any]] = []
        for name, value in arguments.items():
            if not self.fields or name in self.fields:
                _gather_named(name, value, found)
        return found


def _gather(value: Any, found: list[Any]) -> None:
    """Every plain value, in the order in which `_gather_named` names them."""
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            found.append(key)
            _gather(item, found)
    elif kind is list:
        for item in value:
            _gather(item, found)
    else:
        found.append(value)


def _gather_texts(values: Iterable[Any], found: list[Any]) -> None:
    for value in values:
        kind = type(value)
        if kind is str:
            found.append(value)
        elif kind is dict:
            found.extend(value)
            _gather_texts(value.values(), found)
        elif kind is list:
            _gather_texts(value, found)
        elif isinstance(value, str):
            found.append(value)


def _gather_named(path: str, value: Any, found: list[tuple[str, Any]]) -> None:
    kind = type(value)
    if kind is dict:
        for key, item in value.items():
            found.append((f"{path}.{key}", key))
            _gather_named(f"{path}.{key}", item, found)
    elif kind is list:
        for index, item in enumerate(value):
            _gather_named(f"{path}[{index}]", item, found)
    else:
        found.append((path, value))
