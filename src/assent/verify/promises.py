"""What has a tool promised that a call can show to be false?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from assent.contract.model import Contract
from assent.contract.tiers import Risk, Tier
from assent.contract.wire import CONTRACT_KEY, read_claims
from assent.infer import classify

_KEYS = ("idempotency_key", "idempotencyKey", "idempotency-key", "Idempotency-Key")


@dataclass(frozen=True, slots=True)
class Promises:
    """Everything about one tool that is checked, from its contract, from `_meta` or from its hints."""

    tool: str
    reads: bool
    doubtful: bool
    """Whether it claims to read, and its definition says otherwise: it is not called without being told to."""
    idempotent: bool
    dry_run: str | None
    """The argument that asks for a rehearsal."""
    failures: frozenset[str] | None
    """The codes it may fail with; None where none are declared."""
    secrets: tuple[str, ...]
    key: str | None
    """Where it takes an idempotency key: the name of an argument, or empty for beside the arguments; None: nowhere."""
    asks: bool
    """Whether it says that its user is asked."""
    input: Mapping[str, Any]
    output: Mapping[str, Any] | None
    alone: bool = False
    """Whether an agent may call it alone, so that its user is asked only about what is ambiguous."""
    absent: bool = False
    """Whether it is there for no agent: then nobody calls it to see what it does."""

    @property
    def readable(self) -> bool:
        """Whether it may be called to look at something."""
        return self.reads and not self.doubtful and not self.absent

    @property
    def in_earnest(self) -> dict[str, Any]:
        """What a call has to say that is no rehearsal, where saying nothing would not do."""
        properties, required = self.input.get("properties"), self.input.get("required")
        schema = properties.get(self.dry_run) if isinstance(properties, Mapping) else None
        rehearses = isinstance(schema, Mapping) and schema.get("default") is True
        needed = isinstance(required, list) and self.dry_run in required
        return {self.dry_run: False} if self.dry_run and (rehearses or needed) else {}

    @property
    def looks_up(self) -> str | None:
        """The one argument by which a read finds something, where it needs no other."""
        required = self.input.get("required")
        alone = self.readable and isinstance(required, list) and len(required) == 1
        return str(required[0]) if alone and required else None


def promises_of(definition: Mapping[str, Any], contract: Contract | None = None, *, enforced: bool = True) -> Promises:
    """What a definition and its contract promise; not `enforced`: the contract is laid over a server that has none."""
    claims = read_claims(definition)
    said = _projection(definition) if enforced else {}
    guess = classify(definition)
    reads = (
        contract.side_effect is Tier.READ if contract else said.get("tier", "read") == "read" and bool(claims.read_only)
    )
    output = definition.get("outputSchema")
    schema = definition.get("inputSchema")
    key = None if reads else _key(contract, said, schema)
    return Promises(
        tool=str(definition.get("name")),
        reads=reads,
        doubtful=reads and not guess.read_only and guess.confidence >= 0.8,
        # With its key among the arguments the same call has the same key: another key is another call.
        idempotent=not reads and (_natural(contract, said) or (not key and _claimed(contract, claims.idempotent))),
        dry_run=_dry_run(contract, said, schema),
        failures=_failures(contract, said),
        secrets=tuple(contract.secrets) if contract else (),
        key=key,
        asks=not reads and said.get("confirmation") == "user",
        input=schema if isinstance(schema, Mapping) else {"type": "object"},
        output=output if isinstance(output, Mapping) else None,
        alone=said.get("autonomous") is True,
        absent=contract is not None and (contract.risk is Risk.FORBIDDEN or contract.visibility == "hidden"),
    )


def _projection(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = definition.get("_meta")
    said = meta.get(CONTRACT_KEY) if isinstance(meta, Mapping) else None
    return said if isinstance(said, Mapping) else {}


def _natural(contract: Contract | None, said: Mapping[str, Any]) -> bool:
    if contract is not None:
        return contract.idempotency.recovery == "natural"
    declared = said.get("idempotency")
    return isinstance(declared, Mapping) and declared.get("recovery") == "natural"


def _claimed(contract: Contract | None, hint: bool | None) -> bool:
    return bool(contract.hints.idempotent if contract is not None else hint)


def _key(contract: Contract | None, said: Mapping[str, Any], schema: Any) -> str | None:
    """A server under contract takes keys beside the arguments; any other only in an argument that is for them."""
    declared = said.get("idempotency")
    named = contract.idempotency.argument if contract else None
    named = named or (declared.get("argument") if isinstance(declared, Mapping) else None)
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    found = properties if isinstance(properties, Mapping) else {}
    argument = next((name for name in (named, *_KEYS) if isinstance(name, str) and name in found), None)
    # What is kept by its arguments, and only while it is valid, makes no promise about keys.
    kept = contract.natural is not None if contract else isinstance(declared, Mapping) and "natural" in declared
    return argument or ("" if said and not kept else None)


def _dry_run(contract: Contract | None, said: Mapping[str, Any], schema: Any) -> str | None:
    if contract is not None:
        return contract.dry_run.argument if contract.dry_run.mode != "none" else None
    declared = said.get("dry_run")
    if isinstance(declared, Mapping) and declared.get("mode") in ("offered", "required"):
        return str(declared.get("argument", "dryRun"))
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    names = properties if isinstance(properties, Mapping) else {}
    return next((name for name in ("dryRun", "dry_run", "dry-run", "dryrun") if name in names), None)


def _failures(contract: Contract | None, said: Mapping[str, Any]) -> frozenset[str] | None:
    if contract is not None:
        return frozenset(contract.failure_modes) or None
    declared = said.get("failure_modes")
    return frozenset(declared) or None if isinstance(declared, Mapping) else None
