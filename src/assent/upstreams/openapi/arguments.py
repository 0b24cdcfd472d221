"""Maps the arguments of a tool to their places in the HTTP request."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from assent.upstreams.openapi.document import DocumentSet, Unresolved
from assent.upstreams.openapi.encoding import MULTIPART, request_media
from assent.upstreams.openapi.operations import ApiOperation, ApiParameter, Body
from assent.upstreams.openapi.schemas import NOTES, Schema, Schemas

IDEMPOTENCY = "idempotency-key"
_SET_BY_HTTP = frozenset({
    "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect",
    "forwarded", "host", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "via",
    # With these a server handles another request than the one that the contract covers.
    "x-http-method", "x-http-method-override", "x-method-override", "x-original-url", "x-rewrite-url",
})  # fmt: skip
_CREDENTIAL = re.compile(
    r"(?:.*[-_])?(?:authorization|authentication|auth|cookie|set-cookie|api[-_]?key|secret|secret[-_]key|password"
    r"|credentials?|(?:access|auth|bearer|id|security|session|csrf|xsrf)[-_]?token|api[-_]?token|jwt)\Z"
)
_CREDENTIAL_NAME = re.compile(
    r"(?:.*[-_])?(?:api[-_]?key|(?:access|api|auth|bearer|id|security|session)[-_]?token|client[-_]secret|jwt)\Z"
)
_SESSION = re.compile(r".*(?:session|sess|sid)(?:[-_]?id)?\Z")

Names = frozenset[tuple[str, str]]


def credential_names(library: DocumentSet) -> Names:
    """Location and lower-case name of every credential in the document's security schemes."""
    schemes = _mapping(_mapping(library.root.get("components")).get("securitySchemes"))
    found = set()
    for name in schemes:
        try:
            scheme = library.follow(library.start().at("components", "securitySchemes", name)).value
        except Unresolved:
            continue
        if isinstance(scheme, dict) and scheme.get("type") == "apiKey" and isinstance(scheme.get("name"), str):
            found.add((str(scheme.get("in")), scheme["name"].lower()))
    return frozenset(found)


def withheld_because(parameter: ApiParameter, credentials: Names) -> str | None:
    """Why a parameter is not an argument, or None."""
    name = parameter.name.lower()
    if (parameter.location, name) in credentials:
        return "it contains a credential"
    if parameter.location == "query" and _CREDENTIAL_NAME.match(name):
        return "it contains a credential"
    if parameter.location == "cookie" and (_CREDENTIAL.match(name) or _SESSION.match(name)):
        return "it contains a credential"
    if parameter.location != "header":
        return None
    if name == IDEMPOTENCY:
        return "the idempotency key is sent as the contract says"
    if _CREDENTIAL.match(name):
        return "it contains a credential"
    if name in _SET_BY_HTTP or name.startswith(("x-forwarded-", "proxy-", "sec-")):
        return "HTTP itself sets it"
    return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


Location = Literal["path", "query", "header", "cookie", "field", "body"]

SEGMENT = r"^[^/\\]*[^./\\][^/\\]*$"
"""A path value that stays one segment: not empty, no slash, not only dots."""
SEGMENTS = r"^[^/\\]*[^./\\][^/\\]*(?:/[^/\\]*[^./\\][^/\\]*)*$"
"""A path value of several such segments."""
_LINE = r"^[ -~]*$"
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_ODD = re.compile(r"[^A-Za-z0-9_.-]+")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+\Z")
_FLAT = frozenset({"type", "properties", "required", "additionalProperties", *NOTES})


@dataclass(frozen=True, slots=True)
class Slot:
    """Where one argument goes: a parameter, a field of the body, or the whole body."""

    argument: str
    location: Location
    name: str = ""
    style: str = ""
    explode: bool = False
    whole: bool = False
    """Whether the value is sent as one JSON document."""
    binary: bool = False
    """Whether the value is the base64 form of the bytes to send."""
    spans: bool = False
    """Whether a path value may have several segments."""
    required: bool = False


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a tool: their slots and their schema, which still refers to others by address."""

    slots: tuple[Slot, ...]
    schema: dict[str, Any]
    media: str = ""
    """The media type of the body, or empty."""
    body_required: bool = False
    open_body: bool = False
    """Whether further arguments are further fields of the body."""
    untyped: bool = False
    """Whether the body has no schema."""
    key_header: str = ""
    key_required: bool = False
    unwritable: str = ""
    """Media types of a required body that cannot be written."""
    reserved: frozenset[str] = frozenset()
    """Names that no field of an exploded object may have: those of other parameters, above all of withheld ones."""


@dataclass(slots=True)
class _Draft:
    slot: Slot
    schema: Schema
    required: bool


def arrange_arguments(operation: ApiOperation, schemas: Schemas, credentials: Names) -> Arguments:
    """The arguments of an operation; raises Unresolved if a schema cannot be read."""
    used = _in_template(operation)
    taken = [one for one in used if withheld_because(one, credentials) is None]
    key = next((p for p in operation.parameters if p.location == "header" and p.name.lower() == IDEMPOTENCY), None)
    drafts = [_parameter(one, schemas) for one in taken]
    body, extra, untyped = _body(operation.body, schemas)
    slots, properties, required = _name_drafts(drafts, body)
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": extra}
    if not required:
        del schema["required"]
    media = request_media(operation.body) if operation.body else None
    return Arguments(
        slots=slots,
        schema=schema,
        media=media.type if media else "",
        body_required=bool(operation.body and operation.body.required),
        open_body=extra is not False,
        untyped=untyped,
        key_header=key.name if key else "",
        key_required=bool(key and key.required),
        unwritable=_unwritable(operation.body),
        reserved=frozenset([one.name for one in used] + [name for _, name in credentials]),
    )


def placeholders(path: str) -> list[str]:
    """The names in a path template, in order."""
    return _PLACEHOLDER.findall(path)


def _in_template(operation: ApiOperation) -> list[ApiParameter]:
    """The parameters in use: those in the path, declared or not, then the others."""
    named = dict.fromkeys(placeholders(operation.path))
    if "" in named:
        raise Unresolved("a parameter in its path has no name")
    odd = [one.name for one in operation.parameters if one.location == "header" and not _TOKEN.match(one.name)]
    if odd:
        raise Unresolved(f"{odd[0][:80]!r} cannot be the name of a header")
    declared = {one.name: one for one in operation.parameters if one.location == "path"}
    path = [declared.get(name) or ApiParameter(name, "path", True, "simple", False, None) for name in named]
    return [*path, *(one for one in operation.parameters if one.location != "path")]


def _parameter(parameter: ApiParameter, schemas: Schemas) -> _Draft:
    schema = schemas.convert(parameter.schema) if parameter.schema else {}
    if parameter.location == "path":
        schema = _restrict_text(
            {"type": "string"} if schema in ({}, True) else schema, schemas, SEGMENTS if parameter.spans else SEGMENT, 1
        )
    elif parameter.location == "header":
        schema = _restrict_text(schema, schemas, _LINE, 0)
    location: Any = parameter.location
    whole = bool(parameter.media)
    slot = Slot("", location, parameter.name, parameter.style, parameter.explode, whole, spans=parameter.spans)
    return _Draft(slot, _add_description(schema, parameter.description), parameter.required)


def _restrict_text(schema: Schema, schemas: Schemas, pattern: str, shortest: int) -> Schema:
    """A schema for text that also refuses values that cannot be sent safely, so that the caller gets a clear error."""
    seen = schemas.through(schema)
    if not isinstance(schema, dict) or not isinstance(seen, dict) or seen.get("type") != "string":
        return schema
    if "enum" in seen or "const" in seen:
        return schema
    made = dict(schema)
    if shortest and seen.get("minLength", 0) == 0:
        made["minLength"] = shortest
    if "pattern" in seen:
        return {**made, "allOf": [*made.get("allOf", []), {"pattern": pattern}]}
    return {**made, "pattern": pattern}


def _body(body: Body | None, schemas: Schemas) -> tuple[list[_Draft], Schema, bool]:
    """The body as drafts, the schema of its further fields, and whether it has no schema at all."""
    media = request_media(body) if body else None
    if body is None or media is None:
        return [], False, False
    schema: Schema = schemas.convert(media.schema) if media.schema else {}
    flat = schemas.through(schema)
    untyped = flat is True or (isinstance(flat, dict) and flat.keys() <= NOTES)
    if isinstance(flat, dict) and _is_flat(flat, body.required):
        needed = set(flat.get("required", ()))
        drafts = [_field(name, one, media.type, name in needed) for name, one in flat["properties"].items()]
        return drafts, flat.get("additionalProperties", False), untyped
    slot = Slot("", "body", "body")
    return [_Draft(slot, _add_description(schema, body.description), body.required)], False, untyped


def _is_flat(schema: dict[str, Any], required: bool) -> bool:
    """Whether an object's fields can become arguments without losing a rule about the object."""
    if not schema.keys() <= _FLAT or schema.get("type", "object") != "object":
        return False
    if not isinstance(schema.get("properties"), dict):
        return False
    needed = schema.get("required", [])
    if not isinstance(needed, list) or not all(isinstance(one, str) and one in schema["properties"] for one in needed):
        return False
    return required or not needed


def _field(name: str, schema: Schema, media: str, required: bool) -> _Draft:
    binary = media == MULTIPART and _is_binary(schema)
    slot = Slot("", "field", name, binary=binary)
    return _Draft(slot, _as_base64(schema) if binary else schema, required)


def _is_binary(schema: Schema) -> bool:
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "array":
        return _is_binary(schema.get("items", {}))
    return schema.get("format") == "binary" or "contentMediaType" in schema


def _as_base64(schema: Schema) -> Schema:
    assert isinstance(schema, dict)
    if schema.get("type") == "array":
        return {**schema, "items": _as_base64(schema["items"])}
    notes = {word: value for word, value in schema.items() if word in NOTES}
    return {"type": "string", "contentEncoding": "base64", **notes}


def _name_drafts(
    parameters: Sequence[_Draft], body: Sequence[_Draft]
) -> tuple[tuple[Slot, ...], dict[str, Schema], list[str]]:
    """Give every draft its own name. Body fields keep theirs; a parameter with the same name is renamed."""
    fields = Counter(_tidy(one.slot) for one in body)
    uses = fields + Counter(_tidy(one.slot) for one in parameters)
    names: dict[str, _Draft] = {}
    for one in body:
        names[_tidy(one.slot) if fields[_tidy(one.slot)] == 1 else one.slot.name] = one
    for one in parameters:
        name = _tidy(one.slot)
        name = name if uses[name] == 1 else f"{name}__{one.slot.location}"
        while name in names:
            name += "_"
        names[name] = one
    ordered = sorted(names.items(), key=lambda pair: pair[1].slot.location in ("field", "body"))
    slots = tuple(replace(one.slot, argument=name, required=one.required) for name, one in ordered)
    return slots, {name: one.schema for name, one in ordered}, [name for name, one in ordered if one.required]


def _tidy(slot: Slot) -> str:
    """A name that every model API accepts: `filter[status]` becomes `filter_status`."""
    name = slot.name
    return (_ODD.sub("_", name).strip("_") or slot.location) if _ODD.search(name) else name


def _add_description(schema: Schema, description: str) -> Schema:
    if not description or not isinstance(schema, dict) or "description" in schema:
        return schema
    return {**schema, "description": description}


def _unwritable(body: Body | None) -> str:
    if body is None or not body.required or request_media(body) is not None:
        return ""
    return ", ".join(media.type for media in body.media) or "no media type"
