"""The tools of an API description, the operations without a tool, and findings about the document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assent.contract.documents import schema_validator
from assent.contract.profiles import HistoricNames, Profile
from assent.contract.reader import read_contract
from assent.core.tool import Tool, compile_tool
from assent.errors import ContractError, Fault
from assent.upstreams.openapi.arguments import Arguments, arrange_arguments, placeholders
from assent.upstreams.openapi.bundled_schemas import Bundler
from assent.upstreams.openapi.contracts import contract_fields, overlaid
from assent.upstreams.openapi.credentials import credential_names
from assent.upstreams.openapi.effects import Excluded, Infer, effect_of, exclusion_of, is_marked, method_claims
from assent.upstreams.openapi.encoding import is_json, successes
from assent.upstreams.openapi.names import LONGEST, name_operations
from assent.upstreams.openapi.operations import ApiOperation, operations_of
from assent.upstreams.openapi.references import DocumentSet, Unresolved
from assent.upstreams.openapi.request import RequestTemplate, read_template
from assent.upstreams.openapi.schemas import Schema, Schemas

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


def compile_tools(
    api: ApiDescription,
    *,
    profile: Profile,
    upstream: str = "",
    prefix: str = "",
    overlays: Mapping[str, Mapping[str, Any]] | None = None,
    has_test: bool = False,
) -> Iterator[Tool]:
    """The catalogue's tools; overlays are contract fields by canonical name and replace the document's."""
    for tool in api.tools.values():
        canonical = prefix + tool.name
        overlay = (overlays or {}).get(canonical, {})
        yield compile_one(tool, canonical, overlay, profile=profile, upstream=upstream, has_test=has_test)


def compile_one(
    tool: ApiTool,
    canonical: str,
    overlay: Mapping[str, Any],
    *,
    profile: Profile,
    upstream: str = "",
    has_test: bool = False,
    historic_names: HistoricNames = False,
    vouched: bool = False,
    visibility: str | None = None,
) -> Tool:
    """One tool for the catalogue; raises ContractError if the overlay is invalid.

    Unless the operator or author vouches for it, its hints are no laxer than its method.
    """
    stated = "side_effect" in overlay or tool.is_declared
    claims = method_claims(tool.operation.method)
    return compile_tool(
        read_contract(canonical, overlaid(tool.fields, overlay)),
        profile=profile,
        upstream=upstream,
        wire_name=tool.name,
        definition=tool.definition,
        has_test=has_test,
        historic_names=historic_names,
        open_world=tool.open_world,
        visibility=visibility,
        claims=None if stated else claims.as_said() if vouched else claims,
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
