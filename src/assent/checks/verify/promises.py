"""Promises of a tool that a call can disprove."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assent.contract.infer import classify
from assent.contract.model import Contract
from assent.contract.tiers import Risk, Tier
from assent.contract.tool_listing import CONTRACT_KEY, read_claims

_KEYS = ("idempotency_key", "idempotencyKey", "idempotency-key", "Idempotency-Key")


@dataclass(frozen=True, slots=True)
class Promises:
    """All checked promises of one tool, from its contract, `_meta` or hints."""

    tool: str
    reads: bool
    doubtful: bool
    """Whether it claims to read but its definition says otherwise; it is then called only with `calls="all"`."""
    idempotent: bool
    dry_run: str | None
    """The argument that requests a dry run."""
    failures: frozenset[str] | None
    """The declared failure codes; None if none are declared."""
    secrets: tuple[str, ...]
    key: str | None
    """Where it takes an idempotency key: an argument, or empty for `_meta`; None if it takes none."""
    asks: bool
    """Whether it says that the user is asked."""
    input: Mapping[str, Any]
    output: Mapping[str, Any] | None
    alone: bool = False
    """Whether an agent may call it without a question, except for ambiguous calls."""
    absent: bool = False
    """Whether its contract forbids or hides it; it is then not called."""

    @property
    def readable(self) -> bool:
        """Whether it may be called to observe the state."""
        return self.reads and not self.doubtful and not self.absent

    @property
    def in_earnest(self) -> dict[str, Any]:
        """Arguments that request a real call, if a dry run is the default."""
        properties, required = self.input.get("properties"), self.input.get("required")
        schema = properties.get(self.dry_run) if isinstance(properties, Mapping) else None
        rehearses = isinstance(schema, Mapping) and schema.get("default") is True
        needed = isinstance(required, list) and self.dry_run in required
        return {self.dry_run: False} if self.dry_run and (rehearses or needed) else {}

    @property
    def looks_up(self) -> str | None:
        """The single required argument by which a read finds something, or None."""
        required = self.input.get("required")
        alone = self.readable and isinstance(required, list) and len(required) == 1
        return str(required[0]) if alone and required else None


def promises_of(definition: Mapping[str, Any], contract: Contract | None = None, *, enforced: bool = True) -> Promises:
    """Return the promises of a definition and its contract; `enforced=False` if the server does not know the
    contract.
    """
    claims = read_claims(definition)
    meta = _projection(definition) if enforced else {}
    guess = classify(definition)
    reads = (
        contract.side_effect is Tier.READ if contract else meta.get("tier", "read") == "read" and bool(claims.read_only)
    )
    output = definition.get("outputSchema")
    schema = definition.get("inputSchema")
    key = None if reads else _key(contract, meta, schema)
    claimed = contract.hints.idempotent if contract is not None else claims.idempotent
    return Promises(
        tool=str(definition.get("name")),
        reads=reads,
        doubtful=reads and not guess.read_only and guess.confidence >= 0.8,
        # If the key is an argument, the same call has the same key, so another key is another call.
        idempotent=not reads and (_is_natural(contract, meta) or (not key and bool(claimed))),
        dry_run=_dry_run(contract, meta, schema),
        failures=_failures(contract, meta),
        secrets=tuple(contract.secrets) if contract else (),
        key=key,
        asks=not reads and meta.get("confirmation") == "user",
        input=schema if isinstance(schema, Mapping) else {"type": "object"},
        output=output if isinstance(output, Mapping) else None,
        alone=meta.get("autonomous") is True,
        absent=contract is not None and (contract.risk is Risk.FORBIDDEN or contract.visibility == "hidden"),
    )


def _projection(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = definition.get("_meta")
    meta = meta.get(CONTRACT_KEY) if isinstance(meta, Mapping) else None
    return meta if isinstance(meta, Mapping) else {}


def _is_natural(contract: Contract | None, meta: Mapping[str, Any]) -> bool:
    if contract is not None:
        return contract.idempotency.recovery == "natural"
    declared = meta.get("idempotency")
    return isinstance(declared, Mapping) and declared.get("recovery") == "natural"


def _key(contract: Contract | None, meta: Mapping[str, Any], schema: Any) -> str | None:
    """Return where the key goes: `_meta` for a server under contract, else an argument for keys."""
    declared = meta.get("idempotency")
    named = contract.idempotency.argument if contract else None
    named = named or (declared.get("argument") if isinstance(declared, Mapping) else None)
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    found = properties if isinstance(properties, Mapping) else {}
    argument = next((name for name in (named, *_KEYS) if isinstance(name, str) and name in found), None)
    # A replay by arguments, or only while a result is valid, promises nothing about keys.
    kept = contract.natural is not None if contract else isinstance(declared, Mapping) and "natural" in declared
    return argument or ("" if meta and not kept else None)


def _dry_run(contract: Contract | None, meta: Mapping[str, Any], schema: Any) -> str | None:
    if contract is not None:
        return contract.dry_run.argument if contract.dry_run.mode != "none" else None
    declared = meta.get("dry_run")
    if isinstance(declared, Mapping) and declared.get("mode") in ("offered", "required"):
        return str(declared.get("argument", "dryRun"))
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    names = properties if isinstance(properties, Mapping) else {}
    return next((name for name in ("dryRun", "dry_run", "dry-run", "dryrun") if name in names), None)


def _failures(contract: Contract | None, meta: Mapping[str, Any]) -> frozenset[str] | None:
    if contract is not None:
        return frozenset(contract.failure_modes) or None
    declared = meta.get("failure_modes")
    return frozenset(declared) or None if isinstance(declared, Mapping) else None
