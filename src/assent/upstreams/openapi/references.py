"""The document of an API, and the references in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from assent.contract.pointers import pointer_to, tokens
from assent.errors import Fault
from assent.upstreams.openapi.document import MOST_CHARACTERS, DocumentError, check_root, parse_text

_MOST_HOPS = 32


class Unresolved(Exception):
    """A reference without a readable target; the message is a reason for people."""


@dataclass(frozen=True, slots=True)
class DocumentPlace:
    """A value with its document's address and JSON pointer."""

    value: Any
    document: str
    pointer: str = ""

    @property
    def address(self) -> str:
        return f"{self.document}#{self.pointer}"

    def at(self, *steps: str) -> DocumentPlace:
        """A value further down; raises KeyError, IndexError or TypeError if there is none."""
        here = self.value
        for step in steps:
            here = here[int(step)] if isinstance(here, list) else here[step]
        return DocumentPlace(here, self.document, self.pointer + pointer_to(steps))


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """The document of one API with its address. No other document is read: a reference out of it is unresolved."""

    main: str
    root: dict[str, Any]

    @property
    def is_30(self) -> bool:
        return str(self.root["openapi"]).startswith("3.0")

    def start(self) -> DocumentPlace:
        return DocumentPlace(self.root, self.main)

    def find(self, reference: Any, within: str) -> DocumentPlace:
        """The target of a `$ref`; raises Unresolved."""
        if not isinstance(reference, str):
            raise Unresolved("a `$ref` is not text")
        address, fragment = _split(reference, within)
        if address != self.main:
            raise Unresolved(f"it refers to {reference[:200]!r}, and it is outside the document")
        pointer = unquote(fragment)
        if pointer and not pointer.startswith("/"):
            raise Unresolved(f"it refers to {reference[:200]!r}; only JSON pointers are followed")
        try:
            return DocumentPlace(self.root, address).at(*tokens(pointer))
        except (KeyError, IndexError, TypeError, ValueError):
            raise Unresolved(f"it refers to {reference[:200]!r}, which does not exist") from None

    def follow(self, place: DocumentPlace) -> DocumentPlace:
        """The end of a chain of references, for everything except schemas."""
        for _ in range(_MOST_HOPS):
            if not isinstance(place.value, dict) or "$ref" not in place.value:
                return place
            place = self.find(place.value["$ref"], place.document)
        raise Unresolved("its references form a cycle")


def library_of(text: str, file: str = "") -> DocumentSet:
    """The document in a text."""
    return DocumentSet(file, check_root(parse_text(text, file), file))


def read_file(path: Path) -> str:
    """The text of a file; raises DocumentError."""
    try:
        if path.stat().st_size > MOST_CHARACTERS:
            raise DocumentError(Fault(f"larger than {MOST_CHARACTERS} bytes", "Split the document", file=str(path)))
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise DocumentError(Fault("not UTF-8 text", "Save it as UTF-8", file=str(path))) from None
    except OSError as error:
        raise DocumentError(Fault(f"cannot be read: {error.strerror}", "Correct the path", file=str(path))) from None


def _split(reference: str, within: str) -> tuple[str, str]:
    """The absolute address of a reference's document, and the fragment."""
    if reference.startswith("#"):
        return within, reference[1:]
    try:
        address, fragment = urldefrag(urljoin(within, reference))
    except ValueError:
        raise Unresolved(f"it refers to {reference[:200]!r}, which is not an address") from None
    return address, fragment
