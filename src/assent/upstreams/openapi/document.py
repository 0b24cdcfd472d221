"""Reads OpenAPI documents within bounds, and follows their references."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from assent.contract.pointers import pointer_to, tokens
from assent.contract.yaml_document import YamlDocument
from assent.errors import Fault, FaultsError
from assent.mcp.strict_json import unique_keys

MOST_CHARACTERS = 64 * 1024 * 1024
MOST_VALUES = 2_000_000
DEEPEST = 100
_SAFE_INTEGER = 2**53 - 1
_VERSION = re.compile(r"3\.[01](\.[0-9]+)?(-.*)?\Z")


class DocumentError(FaultsError):
    """An API description that cannot be used."""


def parse_text(text: str, file: str = "") -> Any:
    """The plain JSON value of a JSON or YAML text; raises DocumentError if two readers could read it differently."""
    if len(text) > MOST_CHARACTERS:
        raise DocumentError(Fault(f"longer than {MOST_CHARACTERS} characters", "Split the document", file=file))
    text = text.removeprefix("\ufeff")
    try:
        if text.lstrip()[:1] in ("{", "["):
            value = _from_json(text)
        else:
            value = YamlDocument(text, file, merge=True, most_values=MOST_VALUES, most_depth=DEEPEST).value
        return _PlainCopier().value(value, ())
    except FaultsError as error:
        raise DocumentError(error.faults) from None
    except json.JSONDecodeError as error:
        raise DocumentError(Fault(f"not valid JSON: {error.msg}", file=file, line=error.lineno)) from None
    except RecursionError:
        raise DocumentError(Fault(f"nested deeper than {DEEPEST} levels", "Flatten it", file=file)) from None
    except (ValueError, OverflowError) as error:
        raise DocumentError(Fault(str(error).splitlines()[0][:300], file=file)) from None


def check_root(value: Any, file: str = "") -> dict[str, Any]:
    """Check that a document is OpenAPI 3.0 or 3.1, and return it."""
    if not isinstance(value, dict):
        raise DocumentError(
            Fault("not an OpenAPI document: it is not an object", "Use the API's description", file=file)
        )
    if "swagger" in value:
        remedy = "Convert it to OpenAPI 3.0 or 3.1 first"
        raise DocumentError(Fault(f"a Swagger {value['swagger']} document", remedy, "swagger", file))
    version = str(value.get("openapi", ""))
    if not _VERSION.match(version):
        problem = f"the version is {version[:40]!r}" if version else "there is no `openapi` version"
        raise DocumentError(Fault(f"not an OpenAPI document: {problem}", "Use OpenAPI 3.0 or 3.1", "openapi", file))
    if not isinstance(value.get("paths", {}), dict):
        raise DocumentError(Fault("`paths` must be an object", "", "paths", file))
    return value


def _from_json(text: str) -> Any:
    def refuse(word: str) -> Any:
        raise ValueError(f"not valid JSON: {word} is not a number")

    return json.loads(text, object_pairs_hook=unique_keys, parse_constant=refuse)


class _PlainCopier:
    """Copies a parsed value without shared parts, within bounds and with numbers that have a canonical form."""

    def __init__(self) -> None:
        self.left = MOST_VALUES

    def value(self, given: Any, path: Sequence[str]) -> Any:
        self.left -= 1
        if self.left < 0:
            raise ValueError(f"it has more than {MOST_VALUES} values")
        if isinstance(given, str):
            return given
        if isinstance(given, dict):
            self._check_depth(path)
            return {key: self.value(item, (*path, key)) for key, item in given.items()}
        if isinstance(given, list):
            self._check_depth(path)
            below = (*path, "")
            return [self.value(item, below) for item in given]
        return _scalar(given, path)

    def _check_depth(self, path: Sequence[str]) -> None:
        if len(path) > DEEPEST:
            raise ValueError(f"nested deeper than {DEEPEST} levels, below {'/'.join(path[:4])}")


def _scalar(given: Any, path: Sequence[str]) -> Any:
    if given is None or isinstance(given, bool):
        return given
    if isinstance(given, int):
        # Limits of 64-bit integers are common and have no canonical form as integers.
        return given if -_SAFE_INTEGER <= given <= _SAFE_INTEGER else float(given)
    if isinstance(given, float) and math.isfinite(given):
        return given
    raise ValueError(f"{'/'.join(path)}: {str(given)[:40]!r} is not a JSON value")


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
