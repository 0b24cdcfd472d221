"""Edits one tool in the text of a file and leaves the rest unchanged."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from assent.contract.files import homes_of, parse_written
from assent.contract.yaml_document import YamlDocument
from assent.errors import FaultsError
from assent.lint.edit import Edit
from assent.lint.fix import json_text, yaml_text
from assent.lint.json_positions import definitions_in

_UNFIT = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError, FaultsError)


class EditableFile(Protocol):
    """Text of a file that can be edited tool by tool."""

    @property
    def text(self) -> str: ...

    def change(self, tool: str, index: int, change: Edit) -> bool:
        """Make the edit if possible and return whether it was made."""
        ...


class EditableDefinitionFile:
    """Definitions in JSON: one document, or one definition or page per line."""

    def __init__(self, text: str) -> None:
        self._parts, self._places = _split_definitions(text)

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def change(self, tool: str, index: int, change: Edit) -> bool:
        if index >= len(self._places):
            return False
        place = self._places[index]
        made = _edit_checked(self._parts[place], change, json.loads, json_text.edited)
        if made is None:
            return False
        self._parts[place] = made
        return True


class EditableContractFile:
    """Contracts in YAML or JSON; an edit that would make the file invalid is not made."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._edit = yaml_text.edited
        with suppress(ValueError, RecursionError):
            json.loads(text)
            self._edit = json_text.edited

    def change(self, tool: str, index: int, change: Edit) -> bool:
        document = YamlDocument(self.text)
        places = [(*home, name) for _, home in homes_of(document) for name in _at(document.value, home)]
        whole = Edit(change.deed, (*places[index], *change.path), change.value)
        made = _edit_checked(self.text, whole, lambda text: YamlDocument(text).value, self._edit)
        if made is None:
            return False
        try:
            parse_written(made)
        except FaultsError:
            return False
        self.text = made
        return True


def _at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def _edit_checked(text: str, change: Edit, read: Callable[[str], Any], edit: Callable[[str, Edit], str]) -> str | None:
    """Return the edited text if parsing it gives exactly the intended result, else None."""
    try:
        value = read(text)
        change = change.rooted(value)
        made = edit(text, change)
        return made if made != text and read(made) == change.applied(value) else None
    except _UNFIT:
        return None


def _split_definitions(text: str) -> tuple[list[str], list[int]]:
    """Split the text and return the indexes of the definitions."""
    parts: list[str] = []
    places: list[int] = []
    last = 0
    for begins, ends in definitions_in(text):
        parts += [text[last:begins], text[begins:ends]]
        places.append(len(parts) - 1)
        last = ends
    return [*parts, text[last:]], places
