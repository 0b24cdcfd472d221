"""Removes mentions of tools that do not exist for a caller from the texts that the caller gets (ADR 0058)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from assent.core.catalogue import Catalogue
from assent.core.principal import Principal
from assent.pipeline.discover import absent_for

_TEXTS = frozenset({"description", "instructions", "title"})
_PARTS = re.compile(r"((?<=[.!?])[ \t]+|\n+)")
_LIKE_A_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*")


class Mentions:
    """The names that a caller must not read. A name that is an ordinary word counts only where it is written as
    code.
    """

    def __init__(self, names: Iterable[str]) -> None:
        patterns = [_pattern(name) for name in sorted(names)]
        self._mention = re.compile("|".join(patterns)) if patterns else None

    def __bool__(self) -> bool:
        return self._mention is not None

    def clean(self, value: Any) -> Any:
        """The value without sentences and completions that mention one of the names."""
        if self._mention is None:
            return value
        if isinstance(value, list):
            return [self.clean(one) for one in value]
        return {key: self._member(key, one) for key, one in value.items()} if isinstance(value, dict) else value

    def _member(self, key: str, value: Any) -> Any:
        if key in _TEXTS and isinstance(value, str):
            return self.strip(value)
        if key == "completion" and isinstance(value, dict):
            return self._completion(value)
        return self.clean(value)

    def _completion(self, completion: dict[str, Any]) -> dict[str, Any]:
        given = completion.get("values")
        if not isinstance(given, list):
            return completion
        kept = [one for one in given if not (isinstance(one, str) and self._is_named(one))]
        left = {key: value for key, value in completion.items() if key != "total" or len(kept) == len(given)}
        return {**left, "values": kept}

    def _is_named(self, value: str) -> bool:
        return self._mention is not None and self._mention.search(f"`{value}`") is not None

    def strip(self, text: str) -> str:
        """The text without the sentences and lines that mention one of the names."""
        if self._mention is None or self._mention.search(text) is None:
            return text
        parts = _PARTS.split(text)
        kept = [
            sentence + separator
            for sentence, separator in zip(parts[::2], [*parts[1::2], ""], strict=True)
            if self._mention.search(sentence) is None
        ]
        return "".join(kept).strip()


def absent_mentions(catalogue: Catalogue, principal: Principal) -> Mentions:
    """The names, here and at their upstreams, of the tools that do not exist for a principal."""
    absent = [tool for tool in catalogue.tools.values() if absent_for(tool, principal) is not None]
    present = {name for tool in catalogue.tools.values() if tool not in absent for name in (tool.name, tool.wire_name)}
    return Mentions({name for tool in absent for name in (tool.name, tool.wire_name)} - present)


def without_texts(value: Any) -> Any:
    """The value without its descriptions, instructions, titles and completions, whatever they mention."""
    if isinstance(value, list):
        return [without_texts(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {key: without_texts(one) for key, one in value.items() if not (key in _TEXTS and isinstance(one, str))}
    if isinstance(kept.get("completion"), dict):
        kept["completion"] = {"values": []}
    return kept


def _pattern(name: str) -> str:
    quoted = re.escape(name)
    if _LIKE_A_WORD.fullmatch(name):
        return rf"[`'\"]{quoted}[`'\"]|\b{quoted}\("
    return rf"(?<![\w.-]){quoted}(?![\w-])"
