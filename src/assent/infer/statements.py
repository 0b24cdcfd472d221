"""What does a text say outright: reads only, cannot be undone, overwrites, saves a file, runs anything?"""

import re
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Final, NamedTuple

_BODY: Final = 2500


class _Statement(NamedTuple):
    marks: tuple[str, ...]
    pattern: re.Pattern[str]


def _load() -> Mapping[str, _Statement]:
    text = resources.files("assent.infer").joinpath("statements.toml").read_text(encoding="utf-8")
    return {
        name: _Statement(tuple(row["marks"]), re.compile("|".join(row["patterns"])))
        for name, row in tomllib.loads(text).items()
    }


_STATEMENTS: Final = _load()


class Statements:
    """The statements of one text, each looked for when it is first asked about: most never are."""

    __slots__ = ("_body", "_found")

    def __init__(self, text: str) -> None:
        self._body = text[:_BODY].lower()
        self._found: dict[str, bool] = {}

    def __contains__(self, name: str) -> bool:
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = self._find(_STATEMENTS[name])
        return found

    def _find(self, statement: _Statement) -> bool:
        for mark in statement.marks:
            if mark in self._body:
                return statement.pattern.search(self._body) is not None
        return False
