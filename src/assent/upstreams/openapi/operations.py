"""The operations that a document describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assent.upstreams.openapi.document import DocumentPlace, DocumentSet, Unresolved

METHODS = ("get", "head", "post", "put", "patch", "delete", "options", "trace")
_STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}


@dataclass(frozen=True, slots=True)
class Media:
    """A media type of a body, in lower case and without parameters, and its place in the document."""

    type: str
    place: DocumentPlace

    @property
    def schema(self) -> DocumentPlace | None:
        value = self.place.value
        return self.place.at("schema") if isinstance(value, dict) and "schema" in value else None


@dataclass(frozen=True, slots=True)
class ApiParameter:
    """A value that is sent beside the body."""

    name: str
    location: str
    required: bool
    style: str
    explode: bool
    schema: DocumentPlace | None
    media: str = ""
    """The media type of a value that is sent as a whole document, or empty."""
    description: str = ""
    spans: bool = False
    """Whether the author says that a path value may have several segments, such as a file path."""


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request."""

    required: bool
    media: tuple[Media, ...]
    description: str = ""


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """One declared response."""

    status: str
    media: tuple[Media, ...]
    description: str = ""


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """One method on one path, as the document describes it."""

    method: str
    path: str
    identifier: str = ""
    summary: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    parameters: tuple[ApiParameter, ...] = ()
    body: Body | None = None
    responses: tuple[ApiResponse, ...] = ()
    security: tuple[Mapping[str, Any], ...] = ()
    extensions: Mapping[str, Any] = field(default_factory=dict)
    broken: str = ""
    """Why it cannot be read, or empty."""

    @property
    def place(self) -> str:
        return f"{self.method.upper()} {self.path}"


def operations_of(library: DocumentSet) -> Iterator[ApiOperation]:
    """Every operation in document order; one that cannot be read says why in `broken`."""
    paths = library.root.get("paths", {})
    for path in paths:
        if path.startswith("x-"):
            continue
        try:
            item = library.follow(library.start().at("paths", path))
        except Unresolved as error:
            yield ApiOperation("any", path, broken=str(error))
            continue
        if not isinstance(item.value, dict):
            yield ApiOperation("any", path, broken="the value of its path is not an object")
            continue
        for method in METHODS:
            if method in item.value:
                yield _operation(library, path, method, item)


def _operation(library: DocumentSet, path: str, method: str, item: DocumentPlace) -> ApiOperation:
    place = item.at(method)
    given = place.value
    if not isinstance(given, dict):
        return ApiOperation(method, path, broken="it is not an object")
    identifier = _text(given, "operationId")
    secured = given if "security" in given else library.root
    try:
        return ApiOperation(
            method,
            path,
            identifier,
            _text(given, "summary"),
            _text(given, "description"),
            tuple(tag for tag in _list(given, "tags") if isinstance(tag, str)),
            _parameters(library, item, place),
            _body(library, place),
            _responses(library, place),
            tuple(one for one in _list(secured, "security") if isinstance(one, dict)),
            {word: value for word, value in given.items() if word.startswith("x-")},
        )
    except Unresolved as error:
        return ApiOperation(method, path, identifier, broken=str(error))


def _parameters(library: DocumentSet, item: DocumentPlace, operation: DocumentPlace) -> tuple[ApiParameter, ...]:
    """The operation's own parameters override those of its path; of two equal ones the last counts."""
    found: dict[tuple[str, str], ApiParameter] = {}
    for owner in (item, operation):
        for index in range(len(_list(owner.value, "parameters"))):
            place = library.follow(owner.at("parameters", str(index)))
            one = _parameter(place)
            name = one.name.lower() if one.location == "header" else one.name
            found[(one.location, name)] = one
    return tuple(found.values())


def _parameter(place: DocumentPlace) -> ApiParameter:
    given = place.value
    name, location = _text(given, "name"), _text(given, "in")
    if not name or location not in _STYLES:
        raise Unresolved(f"a parameter at {place.pointer} has no name, or the location {location[:40]!r}")
    style = _text(given, "style") or _STYLES[location][0]
    if style not in _STYLES[location]:
        raise Unresolved(f"the {location} parameter {name[:80]!r} has the style {style[:40]!r}")
    media = _media(place)
    explode = given.get("explode")
    return ApiParameter(
        name,
        location,
        given.get("required") is True or location == "path",
        style,
        explode if isinstance(explode, bool) else style == "form",
        media[0].schema if media else (place.at("schema") if "schema" in given else None),
        media[0].type if media else "",
        _text(given, "description"),
        location == "path" and given.get("x-multi-segment") is True,
    )


def _body(library: DocumentSet, operation: DocumentPlace) -> Body | None:
    if "requestBody" not in operation.value:
        return None
    place = library.follow(operation.at("requestBody"))
    if not isinstance(place.value, dict):
        raise Unresolved("its request body is not an object")
    return Body(place.value.get("required") is True, _media(place), _text(place.value, "description"))


def _responses(library: DocumentSet, operation: DocumentPlace) -> tuple[ApiResponse, ...]:
    given = operation.value.get("responses", {})
    if not isinstance(given, dict):
        raise Unresolved("its responses are not an object")
    found = []
    for status in given:
        if status.startswith("x-"):
            continue
        place = library.follow(operation.at("responses", status))
        found.append(ApiResponse(status.upper(), _media(place), _text(place.value, "description")))
    return tuple(found)


def _media(place: DocumentPlace) -> tuple[Media, ...]:
    """The media types under `content`."""
    content = place.value.get("content") if isinstance(place.value, dict) else None
    if not isinstance(content, dict):
        return ()
    return tuple(Media(bare_type(name), place.at("content", name)) for name in content)


def bare_type(media: str) -> str:
    """A media type in lower case, without its parameters."""
    return media.partition(";")[0].strip().lower()


def _text(given: Any, word: str) -> str:
    value = given.get(word) if isinstance(given, dict) else None
    return value.strip() if isinstance(value, str) else ""


def _list(given: Any, word: str) -> list[Any]:
    value = given.get(word) if isinstance(given, dict) else None
    return value if isinstance(value, list) else []
