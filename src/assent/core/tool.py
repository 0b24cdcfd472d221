"""A tool of one upstream with its contract, compiled for calls."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Literal

from assent.contract.digest import canonical
from assent.contract.documents import Validate, checker
from assent.contract.expressions import Condition
from assent.contract.fields import Natural
from assent.contract.member_names import Spelling
from assent.contract.model import Contract
from assent.contract.pointers import places, tokens
from assent.contract.profiles import HistoricNames, Profile, profile
from assent.contract.tool_listing import Claims, read_claims
from assent.contract.tool_listing import definition as wire_definition
from assent.errors import ContractError, Fault

_KEYWORDS = frozenset({"name", "historic_names", "claims"})
"""Members of a definition that would be taken for something else."""
_SHARED = ("$schema", "$defs", "definitions")

MOST_VALUES = 100_000
"""The maximum number of values in the arguments of one call."""


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
    # What every call reads is plain: it follows from the fields above. To read it from the contract is slow.
    name: str = field(init=False)
    permissions: tuple[str, ...] = field(init=False)
    own_arguments: tuple[str, ...] = field(init=False)
    """The arguments that are Assent's own: the idempotency key and the switch of a dry run."""
    key_forward: str | None = field(init=False)
    """Where the upstream gets its idempotency key."""
    retention: float | None = field(init=False)
    natural: Natural | None = field(init=False)
    events: Mapping[str, str] | None = field(init=False)
    needs_rehearsal: bool = field(init=False)
    """Whether a call needs a dry run before it."""
    is_read: bool = field(init=False)
    has_secrets: bool = field(init=False)
    """Whether its result holds secrets, which are delivered once."""
    needs_key: bool = field(init=False)
    derives_key: bool = field(init=False)
    """Whether the idempotency key is derived from the arguments of a caller that sends none."""
    is_public: bool = field(init=False)
    """Whether it is visible to every caller, so that it may be mentioned before authentication."""
    header_names: Mapping[tuple[str, ...], str] = field(init=False)
    """The header of each argument that is mirrored in one."""

    def __post_init__(self) -> None:
        contract = self.contract
        dry_run, idempotency = contract.dry_run, contract.idempotency
        object.__setattr__(self, "name", contract.name)
        object.__setattr__(self, "permissions", contract.permissions)
        own = (idempotency.argument, dry_run.argument if dry_run.mode != "none" else None)
        object.__setattr__(self, "own_arguments", tuple(name for name in own if name is not None))
        object.__setattr__(self, "key_forward", idempotency.forward)
        object.__setattr__(self, "retention", idempotency.retention)
        object.__setattr__(self, "natural", contract.natural)
        object.__setattr__(self, "events", contract.events)
        object.__setattr__(self, "needs_rehearsal", dry_run.mode == "required")
        object.__setattr__(self, "is_read", contract.side_effect == "read")
        object.__setattr__(self, "has_secrets", bool(contract.secrets) or contract.is_secret_whole)
        object.__setattr__(self, "needs_key", idempotency.key == "required")
        object.__setattr__(self, "derives_key", contract.idempotency.key == "auto" and contract.natural is None)
        object.__setattr__(self, "is_public", self.visibility != "hidden" and contract.risk != "forbidden")
        object.__setattr__(self, "header_names", header_names(self.definition.get("inputSchema")))


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
    check_input = checker(contract.name, "input", schema, MOST_VALUES)
    if ours:
        check_ours = checker(contract.name, "input", {"properties": ours})
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
        check_output=checker(contract.name, "output", output) if output is not None else None,
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

    def both(instance: Any, text: bytes | None = None, /) -> list[tuple[str, str]]:
        if not isinstance(instance, dict) or ours.isdisjoint(instance):
            return check(instance, text)
        mine = {name: value for name, value in instance.items() if name in ours}
        return check({name: value for name, value in instance.items() if name not in ours}) + check_ours(mine)

    return both


def _listed_output(contract: Contract, output: Any) -> Any:
    """The output schema as listed: clients reject a preview that does not match it, so it admits previews too."""
    if contract.dry_run.mode == "none" or not isinstance(output, Mapping):
        return output
    inner = {key: value for key, value in output.items() if key not in _SHARED}
    shared = {key: output[key] for key in _SHARED if key in output}
    preview = {"type": "object", "properties": {"dryRun": {"const": True}}, "required": ["dryRun"]}
    return {**shared, "type": "object", "anyOf": [inner, preview]}


MOST_EVENTS = 100_000
"""The maximum number of events of one call."""
_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,200}")


@dataclass(frozen=True, slots=True)
class ToolEvent:
    """One event of a running call: a public name, and values that can be erased."""

    name: str
    values: bytes
    kind: Literal["event", "violation"] = "event"


_collected: ContextVar[list[ToolEvent] | None] = ContextVar("assent_tool_events", default=None)


def record_event(name: str, /, **values: Any) -> None:
    """Record an event of the running call. It is written to the audit log together with the call's outcome.

    The name is public, so it must not identify a person. Values are JSON; they can be erased later.
    """
    events = _collected.get()
    if events is None:
        raise RuntimeError("record_event needs a governed call that runs; a dry run has no events, so return before it")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name[:40]!r} is not an event name: use up to 200 letters, digits and . _ : / -")
    if len(events) >= MOST_EVENTS:
        raise RuntimeError(f"a call can record at most {MOST_EVENTS} events")
    events.append(ToolEvent(name, canonical(values)))


def events_in(contract: Contract, structured: Any) -> list[ToolEvent]:
    """The events that a contract reads from a structured result, at most `MOST_EVENTS` in all."""
    found: list[ToolEvent] = []
    for name, pointer in (contract.events or {}).items():
        values = [container[key] for container, key in places(structured, pointer)]
        for value in (one for one in values if one is not None and one is not False):
            found.append(ToolEvent(name, canonical(value if isinstance(value, dict) else {"value": value})))
    return found[:MOST_EVENTS]


def record_violation(code: str, **values: Any) -> None:
    """Record that the running call broke a promise of its contract; outside of a call nothing is recorded."""
    events = _collected.get()
    if events is not None and len(events) < MOST_EVENTS:
        events.append(ToolEvent(code, canonical(values), "violation"))


class collecting_events:
    """Collects the events that are recorded in this block, in order."""

    __slots__ = ("_token",)

    def __enter__(self) -> Sequence[ToolEvent]:
        events: list[ToolEvent] = []
        self._token = _collected.set(events)
        return events

    def __exit__(self, *_: object) -> None:
        _collected.reset(self._token)


recorded_events = _collected.get
"""The events of the running call so far; None outside of one."""
