"""Documents of an API, and the references between them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from assent.errors import Fault
from assent.upstreams.openapi.document import MOST_CHARACTERS, DocumentError, check_root, parse_text

Fetch = Callable[[str], Awaitable[str]]
"""Fetches the text at an address. It must not follow redirects: only the requested address was allowed."""

MOST_DOCUMENTS = 50
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

    def at(self, *tokens: str) -> DocumentPlace:
        """A value further down; raises KeyError, IndexError or TypeError if there is none."""
        here = self.value
        for token in tokens:
            here = here[int(token)] if isinstance(here, list) else here[token]
        steps = "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)
        return DocumentPlace(here, self.document, self.pointer + steps)


@dataclass(frozen=True, slots=True)
class DocumentSet:
    """The documents of one API: the main one, and those it may refer to."""

    main: str
    documents: Mapping[str, Any]
    withheld: Mapping[str, str] = field(default_factory=dict)
    """Addresses that are referred to and were not read, each with the reason."""

    @property
    def root(self) -> dict[str, Any]:
        root: dict[str, Any] = self.documents[self.main]
        return root

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
        if address not in self.documents:
            reason = self.withheld.get(address, "it is outside the document")
            raise Unresolved(f"it refers to {reference[:200]!r}, and {reason}")
        pointer = unquote(fragment)
        if pointer and not pointer.startswith("/"):
            raise Unresolved(f"it refers to {reference[:200]!r}; only JSON pointers are followed")
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]
        try:
            return DocumentPlace(self.documents[address], address).at(*tokens)
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
    """A set of one document; every reference out of it stays unresolved."""
    return DocumentSet(file, {file: check_root(parse_text(text, file), file)})


async def load_library(source: str | Path, *, fetch: Fetch | None = None, allow: Iterable[str] = ()) -> DocumentSet:
    """The document at a path or an allow-listed address, and every allow-listed document it refers to.

    `allow` holds addresses; one that ends in a slash allows everything below it.
    """
    allowed = tuple(allow)
    main = str(source)
    if _is_url(main):
        reason = _refusal_reason(main, allowed, fetch)
        if reason or fetch is None:
            raise DocumentError(Fault(f"not read: {reason}", "Allow the address, or save the document", file=main))
        text = await fetch(main)
    else:
        text = read_file(Path(source))
    documents: dict[str, Any] = {main: check_root(parse_text(text, main), main)}
    withheld: dict[str, str] = {}
    waiting = sorted(_external_documents(documents[main], main))
    while waiting:
        address = waiting.pop(0)
        if address in documents or address in withheld:
            continue
        reason = _refusal_reason(address, allowed, fetch)
        if not reason and len(documents) >= MOST_DOCUMENTS:
            reason = f"{MOST_DOCUMENTS} documents were already read"
        if reason or fetch is None:
            withheld[address] = reason
            continue
        documents[address] = parse_text(await fetch(address), address)
        waiting.extend(sorted(_external_documents(documents[address], address)))
    return DocumentSet(main, documents, withheld)


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


def is_allowed(address: str, allow: Iterable[str]) -> bool:
    """Whether an address is on the list, or below an entry that ends in a slash."""
    parts = urlsplit(address)
    if not _is_url(address) or parts.username is not None or "\\" in address:
        return False
    if any(set(unquote(segment)) == {"."} for segment in parts.path.split("/")):
        return False
    return any(address == entry or (entry.endswith("/") and address.startswith(entry)) for entry in allow)


def _refusal_reason(address: str, allow: tuple[str, ...], fetch: Fetch | None) -> str:
    if not is_allowed(address, allow):
        return "that address is not on the allow-list"
    return "" if fetch is not None else "addresses are not fetched here"


def _is_url(address: str) -> bool:
    return address.startswith(("http://", "https://"))


def _split(reference: str, within: str) -> tuple[str, str]:
    """The absolute address of a reference's document, and the fragment."""
    if reference.startswith("#"):
        return within, reference[1:]
    try:
        address, fragment = urldefrag(urljoin(within, reference))
    except ValueError:
        raise Unresolved(f"it refers to {reference[:200]!r}, which is not an address") from None
    return address, fragment


def _external_documents(value: Any, within: str) -> set[str]:
    """The addresses of other documents that a document refers to."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            reference = here.get("$ref")
            if isinstance(reference, str) and not reference.startswith("#"):
                try:
                    found.add(_split(reference, within)[0])
                except Unresolved:
                    continue
            waiting.extend(here.values())
        elif isinstance(here, list):
            waiting.extend(here)
    return found - {within}
