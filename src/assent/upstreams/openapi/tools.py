"""The tools of an API description, the operations without a tool, and findings about the document."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from assent.contract.documents import schema_validator
from assent.contract.reader import read_contract
from assent.core.tool import Tool, compile_tool
from assent.errors import ContractError, Fault
from assent.upstreams.compiled_tools import UpstreamPolicy
from assent.upstreams.openapi.arguments import Arguments, arrange_arguments, credential_names, placeholders
from assent.upstreams.openapi.contracts import contract_fields, overlaid
from assent.upstreams.openapi.document import DocumentSet, Unresolved
from assent.upstreams.openapi.effects import Excluded, Infer, effect_of, exclusion_of, is_marked, method_claims
from assent.upstreams.openapi.encoding import is_json, successes
from assent.upstreams.openapi.operations import ApiOperation, operations_of
from assent.upstreams.openapi.request import RequestTemplate, read_template
from assent.upstreams.openapi.schemas import Bundler, Schema, Schemas

LONGEST = 128
_ODD = re.compile(r"[^A-Za-z0-9_.-]+")


def name_operations(operations: Sequence[ApiOperation], most: int = LONGEST) -> tuple[list[str], list[Fault]]:
    """A unique tool name per operation, and a finding for every name that is not the operation's own id."""
    wanted = [_tidy(one.identifier) for one in operations]
    uses = Counter(wanted)
    derived = Counter(_derive_name(one) for one, name in zip(operations, wanted, strict=True) if not _owns(name, uses))
    names: list[str] = []
    findings: list[Fault] = []
    for one, name in zip(operations, wanted, strict=True):
        names.append(_name(one, name, uses, derived, most))
        if names[-1] != one.identifier:
            what = f"{_reason(one, name, uses[name])}; its tool is called {names[-1]!r}"
            findings.append(Fault(what, "Give it an operationId of its own", one.place))
    return names, findings


def _name(operation: ApiOperation, wanted: str, uses: Counter[str], derived: Counter[str], most: int) -> str:
    if _owns(wanted, uses):
        return wanted if len(wanted) <= most else _with_digest(wanted, operation, most)
    name = _derive_name(operation)
    if len(name) > most or derived[name] > 1 or name in uses:
        return _with_digest(name, operation, most)
    return name


def _owns(name: str, uses: Counter[str]) -> bool:
    return bool(name) and uses[name] == 1


def _derive_name(operation: ApiOperation) -> str:
    """`get_orders_id` for `GET /orders/{id}`."""
    return _tidy(f"{operation.method} {operation.path}")


def _tidy(text: str) -> str:
    return _ODD.sub("_", text).strip("_") if _ODD.search(text) else text


def _with_digest(name: str, operation: ApiOperation, most: int) -> str:
    digest = hashlib.sha256(operation.place.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[: most - 9]}_{digest}"


def _reason(operation: ApiOperation, name: str, uses: int) -> str:
    if not operation.identifier:
        return "has no operationId"
    if not name:
        return f"has the operationId {operation.identifier[:80]!r}, which has no letter"
    if uses > 1:
        return f"shares the operationId {operation.identifier[:80]!r} with another"
    return f"has the operationId {operation.identifier[:80]!r}, which is not a tool name"


Segments = tuple[str | None, ...]
"""The segments of a path template, decoded, in lower case; None for one with a placeholder."""


class Routes:
    """The paths of a document, as a server would match them.

    With `/orders/{id}` and `/orders/all` in one document, the id `all` is the other operation. An approval for one
    must not reach the other.
    """

    def __init__(self, operations: Iterable[ApiOperation]) -> None:
        self._segments = {(one.method, one.path): _segments(one.path) for one in operations}
        self._neighbours: dict[tuple[str, str], list[re.Pattern[str]]] = {}

    def is_neighbours(self, operation: ApiOperation, path: str, *, spans: bool) -> bool:
        """Whether a path matches another operation of the same method. `spans`: a value may have several segments."""
        place = (operation.method, operation.path)
        if place not in self._neighbours:
            self._neighbours[place] = [_pattern(other) for other in self._overlapping(place, spans)]
        if not self._neighbours[place]:
            return False
        decoded = unquote(path).lower()
        return any(pattern.fullmatch(decoded) for pattern in self._neighbours[place])

    def _overlapping(self, place: tuple[str, str], spans: bool) -> list[Segments]:
        """The templates that a filled-in path could also match, with literal text where ours takes a value."""
        ours = self._segments[place]
        if None not in ours:
            return []
        others = [other for key, other in self._segments.items() if key[0] == place[0] and key != place]
        if spans:
            first = ours.index(None)
            return [other for other in others if len(other) >= len(ours) and any(other[first:])]
        return [other for other in others if _overlap(ours, other)]


def _overlap(ours: Segments, other: Segments) -> bool:
    if len(ours) != len(other):
        return False
    pairs = list(zip(ours, other, strict=True))
    return all(a is None or b is None or a == b for a, b in pairs) and any(a is None and b for a, b in pairs)


def _segments(path: str) -> Segments:
    return tuple(None if "{" in segment else unquote(segment).lower() for segment in path.split("/"))


def _pattern(segments: Segments) -> re.Pattern[str]:
    return re.compile("/".join("[^/]+" if segment is None else re.escape(segment) for segment in segments))


MOST_OUTPUT = 1_000


@dataclass(frozen=True, slots=True, eq=False)
class ApiTool:
    """An operation that became a tool: its definition, the fields of its contract, and how it is called."""

    name: str
    definition: Mapping[str, Any]
    fields: Mapping[str, Any]
    operation: ApiOperation
    arguments: Arguments
    template: RequestTemplate
    open_world: bool = False
    """Whether inference says that it reaches external systems."""

    @property
    def is_declared(self) -> bool:
        """Whether the document's author declared the side effect, rather than leaving it to the method."""
        return bool(self.operation.extensions.get("x-side-effect") == self.fields["side_effect"])


@dataclass(frozen=True, slots=True)
class ApiDescription:
    """Everything read from a document."""

    tools: Mapping[str, ApiTool]
    excluded: tuple[Excluded, ...] = ()
    findings: tuple[Fault, ...] = ()
    operations: tuple[ApiOperation, ...] = ()


class _Reader:
    """Shared state for reading the operations of one document."""

    def __init__(self, library: DocumentSet, operations: Sequence[ApiOperation], infer: Infer | None) -> None:
        self.inputs, self.outputs = Schemas(library, "input"), Schemas(library, "output")
        self.input_bundler, self.output_bundler = Bundler(self.inputs), Bundler(self.outputs)
        self.credentials = credential_names(library)
        self.marked = is_marked(operations)
        self.infer = infer
        self.findings: list[Fault] = []

    def tool(self, name: str, operation: ApiOperation) -> ApiTool:
        """The tool of an operation; raises Unresolved with the reason if there is none."""
        if operation.broken:
            raise Unresolved(operation.broken)
        template = read_template(operation.path)
        arguments = arrange_arguments(operation, self.inputs, self.credentials)
        definition = self._definition(name, operation, arguments)
        effect = effect_of(operation, definition, self.infer)
        reason = exclusion_of(operation, arguments, effect.tier, marked=self.marked)
        if reason:
            raise Unresolved(reason)
        self._add_output(definition, operation)
        fields, findings = contract_fields(operation, arguments, effect, self.outputs)
        _check(name, fields, definition)
        self.findings.extend((*findings, *_oddities(operation)))
        return ApiTool(name, definition, fields, operation, arguments, template, effect.open_world)

    def _definition(self, name: str, operation: ApiOperation, arguments: Arguments) -> dict[str, Any]:
        schema, whole = self.input_bundler.bundle(arguments.schema)
        if not whole:
            self.findings.append(Fault("its input schema is too large and was cut", "Simplify it", operation.place))
        title = operation.summary or operation.identifier
        description = operation.description or operation.summary or operation.place
        return {"name": name, "title": title, "description": description, "inputSchema": schema}

    def _add_output(self, definition: dict[str, Any], operation: ApiOperation) -> None:
        try:
            schema = self._output(operation)
            if schema is None:
                return
            bundled, _ = self.output_bundler.bundle(schema, MOST_OUTPUT)
            schema_validator(bundled)
        except (Unresolved, ValueError) as error:
            reason = str(error).splitlines()[0][:200]
            self.findings.append(Fault(f"its output schema was left out: {reason}", "Correct it", operation.place))
            return
        definition["outputSchema"] = bundled

    def _output(self, operation: ApiOperation) -> dict[str, Any] | None:
        """The schema of a call's result, if every successful response is a JSON object."""
        found: list[dict[str, Any]] = []
        for response in successes(operation):
            media = next((one for one in response.media if is_json(one.type)), None)
            schema = self.outputs.through(self.outputs.convert(media.schema)) if media and media.schema else {}
            if not isinstance(schema, dict) or not _is_object(schema, self.outputs):
                return None
            if schema not in found:
                found.append(schema)
        if not found:
            return None
        return {**found[0], "type": "object"} if len(found) == 1 else {"type": "object", "anyOf": found}


def read_api(library: DocumentSet, *, infer: Infer | None = None, longest: int = LONGEST) -> ApiDescription:
    """The tools of a document, by names of at most `longest` characters."""
    operations = list(operations_of(library))
    names, findings = name_operations(operations, longest)
    reader = _Reader(library, operations, infer)
    tools: dict[str, ApiTool] = {}
    excluded: list[Excluded] = []
    for name, operation in zip(names, operations, strict=True):
        try:
            if name in tools:
                raise Unresolved(f"another operation already has the name {name!r}")
            tools[name] = reader.tool(name, operation)
        except Unresolved as error:
            excluded.append(Excluded(name, operation.method, operation.path, str(error)))
    named = {tool.operation.place for tool in tools.values()}
    kept = [finding for finding in findings if finding.field in named]
    return ApiDescription(tools, tuple(excluded), (*kept, *reader.findings), tuple(operations))


def compile_one(tool: ApiTool, canonical: str, overlay: Mapping[str, Any], policy: UpstreamPolicy) -> Tool:
    """One tool for the catalogue; `overlay` are contract fields that replace the document's.

    Raises ContractError if the overlay is invalid. Unless the operator or author vouches for it, its hints are no
    laxer than its method.
    """
    stated = "side_effect" in overlay or tool.is_declared
    claims = method_claims(tool.operation.method)
    return compile_tool(
        read_contract(canonical, overlaid(tool.fields, overlay)),
        profile=policy.profile,
        upstream=policy.upstream,
        wire_name=tool.name,
        definition=tool.definition,
        has_test=policy.has_test,
        historic_names=policy.historic_names,
        open_world=tool.open_world,
        visibility=policy.visibility,
        claims=None if stated else claims.as_said() if policy.vouched else claims,
    )


def _is_object(schema: Schema, schemas: Schemas, left: int = 8) -> bool:
    """Whether everything that a schema allows is an object."""
    seen = schemas.through(schema)
    if not isinstance(seen, dict) or left == 0:
        return False
    if "type" in seen:
        return bool(seen["type"] == "object")
    if "properties" in seen or any(_is_object(one, schemas, left - 1) for one in seen.get("allOf", ())):
        return True
    branches = seen.get("anyOf") or seen.get("oneOf") or ()
    return bool(branches) and all(_is_object(one, schemas, left - 1) for one in branches)


def _check(name: str, fields: Mapping[str, Any], definition: Mapping[str, Any]) -> None:
    """Check now whether the tool can be compiled, so that one bad operation does not break the others."""
    try:
        read_contract(name, fields)
        schema_validator(definition["inputSchema"])
    except ContractError as error:
        raise Unresolved(f"its contract cannot be used: {error.faults[0]}") from None
    except ValueError as error:
        raise Unresolved(f"its input schema is not a JSON Schema: {str(error).splitlines()[0][:200]}") from None


def _oddities(operation: ApiOperation) -> Iterator[Fault]:
    named = set(placeholders(operation.path))
    declared = {one.name for one in operation.parameters if one.location == "path"}
    for name in sorted(named - declared):
        yield Fault(
            f"the path parameter {name[:80]!r} is not declared and is read as text", "Declare it", operation.place
        )
    for name in sorted(declared - named):
        yield Fault(
            f"the path parameter {name[:80]!r} is not in the path and was left out", "Remove it", operation.place
        )
