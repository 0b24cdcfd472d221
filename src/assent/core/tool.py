"""A tool of one upstream with its contract, compiled for calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jsonschema_rs import ValidationErrorKind

from assent.contract.documents import MOST_CHECKS_IN_ALL, schema_validator
from assent.contract.expressions import Condition
from assent.contract.model import Contract
from assent.contract.pointers import pointer_to, tokens
from assent.contract.profiles import HistoricNames, Profile, profile
from assent.contract.wire import Claims, read_claims
from assent.contract.wire import definition as wire_definition
from assent.core.member_names import Spelling
from assent.errors import ContractError, Fault

_KEYWORDS = frozenset({"name", "historic_names", "claims"})
"""Members of a definition that would be taken for something else."""
_SHARED = ("$schema", "$defs", "definitions")

MOST_VALUES = 100_000
"""The maximum number of values in the arguments of one call."""
_MOST_ERRORS = 20
_UNLOCATED = "it does not match its schema; it has too many values to say where"

Validate = Callable[[Any], list[tuple[str, str]]]


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A contract compiled together with the definition that it governs."""

    contract: Contract
    upstream: str = ""
    wire_name: str = ""
    definition: Mapping[str, Any] = field(default_factory=dict)
    check_input: Validate | None = None
    check_output: Validate | None = None
    spelling: Spelling | None = None
    """The names of its arguments, to find others that differ only in case."""
    step_up_when: Condition | None = None
    rehearses: bool = False
    """Whether the upstream itself understands the dry-run argument."""
    takes_key: bool = False
    """Whether the upstream itself understands the key's argument."""
    visibility: str = "scoped"
    has_test: bool = False
    failure_names: bool = False
    open_world: bool = False
    """Whether calls reach external systems: as the contract says, or as inferred if it says nothing."""
    listed_open_world: bool = False
    """Whether agents read that calls reach external systems; the log follows it."""
    written: bool = True
    """Whether its contract was written, by the operator or as part of Assent; otherwise it is inferred."""
    shipped: bool = False
    """Whether its contract is part of Assent: the operator wrote none."""
    labels_trusted: bool = False
    """Whether the operator trusts what its server says of its results."""
    derived: dict[str, Any] = field(default_factory=dict)
    """Values computed once from the others. They are kept here so that they disappear with the tool."""

    @property
    def name(self) -> str:
        return self.contract.name

    @property
    def header_names(self) -> Mapping[tuple[str, ...], str]:
        """The header of each argument that is mirrored in one, found once."""
        found: Mapping[tuple[str, ...], str] | None = self.derived.get("headers")
        if found is None:
            found = self.derived["headers"] = header_names(self.definition["inputSchema"])
        return found


def compile_tool(
    contract: Contract,
    *,
    profile: Profile = profile("spec"),  # noqa: B008 - profiles are cached and frozen
    upstream: str = "",
    wire_name: str = "",
    definition: Mapping[str, Any] | None = None,
    has_test: bool = False,
    historic_names: HistoricNames = False,
    open_world: bool = False,
    claims: Claims | None = None,
    visibility: str | None = None,
    written: bool = True,
    shipped: bool = False,
    labels_trusted: bool = False,
) -> Tool:
    """Compile everything about a tool that is known before a call. Raises ContractError for invalid schemas.

    `open_world` is the inferred value; it counts if the contract does not set one. `claims` are the upstream's own
    hints, given if the contract is inferred or shipped and must not be laxer than they are.
    """
    profile.check(contract)
    contract, raw = profile.adapt(contract), dict(definition or {})
    given = contract.input if contract.input is not None else raw.get("inputSchema")
    output = contract.output if contract.output is not None else raw.get("outputSchema")
    # The contract's schema cannot teach the upstream an argument that it does not have.
    understood = _properties(raw.get("inputSchema", given))
    rehearses = contract.dry_run.mode != "none" and contract.dry_run.argument in understood
    schema: dict[str, Any] = {"type": "object", **given} if isinstance(given, Mapping) else {"type": "object"}
    ours = _own_arguments(contract, _properties(given))
    check_input = _checker(contract.name, "input", schema, MOST_VALUES)
    if ours:
        check_ours = _checker(contract.name, "input", {"properties": ours})
        check_input = _check_separately(check_input, check_ours, frozenset(ours))
    parts = {key: value for key, value in raw.items() if key not in _KEYWORDS}
    parts["inputSchema"] = _listed_schema(schema, ours)
    if output is not None:
        parts["outputSchema"] = _listed_output(contract, output)
    listed = wire_definition(contract, profile, historic_names=historic_names, claims=claims, **parts)
    says_open = read_claims(listed).open_world is True
    reaches_out = open_world if contract.open_world is None else contract.open_world
    return Tool(
        contract=contract,
        upstream=upstream,
        wire_name=wire_name or contract.name,
        definition=listed,
        check_input=check_input,
        check_output=_checker(contract.name, "output", output) if output is not None else None,
        spelling=Spelling([given, raw.get("inputSchema"), _named_by(contract)], ours),
        step_up_when=_condition(contract, _properties(given)),
        rehearses=rehearses,
        takes_key=contract.idempotency.argument in understood if contract.idempotency.argument else False,
        visibility=contract.visibility or visibility or profile.visibility,
        has_test=has_test,
        failure_names=profile.failures,
        written=written,
        shipped=shipped,
        labels_trusted=labels_trusted,
        open_world=reaches_out or (says_open and profile.states_open_world(contract)),
        listed_open_world=says_open or reaches_out,
    )


def header_names(input_schema: Any) -> dict[tuple[str, ...], str]:
    """The header of each property that has one, by the path of the property."""
    found: dict[tuple[str, ...], str] = {}
    schemas: list[tuple[tuple[str, ...], Any]] = [((), input_schema)]
    while schemas:  # a stack of its own: an upstream's schema may be deeper than Python's
        path, schema = schemas.pop()
        if not isinstance(schema, dict):
            continue
        if path and isinstance(header := schema.get("x-mcp-header"), str):
            found[path] = header
        if isinstance(properties := schema.get("properties"), dict):
            schemas += [((*path, name), inner) for name, inner in properties.items()]
    return found


def _properties(schema: Any) -> Mapping[str, Any]:
    """The named arguments of a schema; empty for an invalid one, which compiling reports."""
    named = schema.get("properties") if isinstance(schema, Mapping) else None
    return named if isinstance(named, Mapping) else {}


def _condition(contract: Contract, properties: Mapping[str, Any] | None = None) -> Condition | None:
    """The condition of the step-up. Raises ContractError for a size of what has none, which would hold for any call."""
    if contract.step_up is None or contract.step_up.when == "always":
        return None
    condition = Condition(contract.step_up.when)
    for name in sorted(condition.sized):
        declared = (properties or {}).get(name)
        kind = declared.get("type") if isinstance(declared, Mapping) else None
        if kind in ("array", "string", "object"):
            what = {"array": "a list", "string": "a text", "object": "an object"}[str(kind)]
            message = f"step_up.when compares {name} with a number, but it is {what}, so it would always hold"
            raise ContractError(Fault(message, f"Write len({name})", contract.name))
    return condition


def _own_arguments(contract: Contract, declared: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that Assent adds because the tool's schema does not declare them."""
    ours: dict[str, Any] = {}
    if contract.dry_run.mode != "none" and contract.dry_run.argument not in declared:
        ours[contract.dry_run.argument] = {"type": "boolean", "description": "Preview the effect without causing it."}
    argument = contract.idempotency.argument
    if argument and argument not in declared:
        ours[argument] = {"type": "string", "minLength": 1, "maxLength": 255, "description": "Idempotency key."}
    return ours


def _named_by(contract: Contract) -> dict[str, Any]:
    """A schema of the arguments that the contract itself reads, for tools whose own schema does not name them."""
    condition = _condition(contract)
    by = contract.natural.by if contract.natural else ()
    names = (*contract.selects, *by, *(condition.names if condition else ()))
    paths: list[tuple[str, ...]] = [(name,) for name in names]
    paths += [tokens(contract.cost.amount)] if contract.cost else []
    return {"allOf": [_path_schema(path) for path in paths]}


def _path_schema(path: Sequence[str]) -> dict[str, Any]:
    if not path:
        return {}
    below = _path_schema(path[1:])
    return {"properties": {path[0]: below}} | ({"items": below} if path[0] == "*" or path[0].isdecimal() else {})


def _listed_schema(schema: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """The input schema as listed: Assent's arguments beside the tool's own."""
    return {**schema, "properties": {**_properties(schema), **ours}} if ours else schema


def _check_separately(check: Validate, check_ours: Validate, ours: frozenset[str]) -> Validate:
    """Check Assent's arguments apart from the tool's: the tool's schema may be closed or behind a reference."""

    def both(instance: Any) -> list[tuple[str, str]]:
        if not isinstance(instance, dict) or ours.isdisjoint(instance):
            return check(instance)
        mine = {name: value for name, value in instance.items() if name in ours}
        return check({name: value for name, value in instance.items() if name not in ours}) + check_ours(mine)

    return both


def _listed_output(contract: Contract, output: Any) -> Any:
    """The output schema as listed: if a dry run is possible, a preview is a valid answer too."""
    if contract.dry_run.mode == "none" or not isinstance(output, Mapping):
        return output
    inner = {key: value for key, value in output.items() if key not in _SHARED}
    shared = {key: output[key] for key in _SHARED if key in output}
    preview = {"type": "object", "properties": {"dryRun": {"const": True}}, "required": ["dryRun"]}
    return {**shared, "type": "object", "anyOf": [inner, preview]}


def _checker(name: str, which: str, schema: Any, most: int = MOST_CHECKS_IN_ALL) -> Validate:
    try:
        validator = schema_validator(schema)
    except ValueError as error:
        raise ContractError(Fault(str(error), "Correct the schema", f"{name}.{which}")) from None
    accepts_short, measure = validator.accepts_short, validator.measure
    fits, first_errors = validator.fits, validator.first_errors

    def check(instance: Any) -> list[tuple[str, str]]:
        if accepts_short(instance):
            return []
        checks, too_large = measure(instance, most)
        if too_large is not None:
            return [("", too_large)]
        if fits(instance):
            return []
        found = first_errors(instance, checks, _MOST_ERRORS)
        return [(pointer_to(error.instance_path), sentence(error)) for error in found] or [("", _UNLOCATED)]

    return check


def sentence(error: Any) -> str:
    """Describe an error with the schema's words only, because the rejected values belong to the caller."""
    kind = error.kind
    match kind.name:
        case "required":
            return f"{kind.property!r} is required"
        case "additionalProperties" | "unevaluatedProperties":
            return "there are unknown fields: " + ", ".join(repr(name)[:80] for name in kind.unexpected[:10])
        case "type":
            return f"it must be of type {_types(kind.types)}"
        case "enum":
            return f"it must be one of {_show_options(kind.options)}"
    if isinstance(kind, ValidationErrorKind.Custom):
        return str(kind.message)
    limit = getattr(kind, "limit", None)
    return f"it does not match `{kind.name}`" + (f" of {limit}" if limit is not None else "")


def _show_options(options: Any) -> str:
    text = ", ".join(map(repr, options)) if isinstance(options, list | tuple) else str(options)
    return text if len(text) <= 300 else text[:297] + "..."


def _types(types: Any) -> str:
    return " or ".join(map(str, types)) if isinstance(types, list | tuple | set | frozenset) else str(types)
