"""Settles a claim in doubt as an operator found it."""

from __future__ import annotations

from typing import Any, Literal

import orjson

from assent.core.audit import Entry, principal_values
from assent.core.claims import NEVER, ClaimRecord, Settlement, State
from assent.core.one_time_secrets import without_secrets
from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.core.problems import error_result
from assent.pipeline.approve import OPERATOR
from assent.ports import Ports

Finding = Literal["done", "not-done", "failed"]
_ENDS: dict[str, State] = {"done": State.SUCCEEDED, "not-done": State.FAILED_NO_EFFECT, "failed": State.FAILED}


async def settle(
    person: Principal,
    claim_id: str,
    finding: Finding,
    ports: Ports,
    result: dict[str, Any] | None = None,
    *,
    no_secrets: bool = False,
    note: str = "",
) -> ClaimRecord:
    """Settle a claim and return it; a Refusal, which is recorded too, says why it was not settled.

    `done` keeps the result for retries, `not-done` gives the key and what was reserved free, `failed` answers retries
    with a failure. An owner who comes back afterwards is refused. What the contract declares a secret is not kept;
    where there is no contract to say so, the operator must (`no_secrets`). `note` says how the operator knows.
    """
    try:
        return await _settle(person, claim_id, finding, ports, result, no_secrets, note)
    except Refusal as refusal:
        values = {"claim": claim_id[:64], "finding": finding, **principal_values(person)}
        ports.store.append(Entry("denial", ports.now(), {"action": "settle", "code": refusal.code}, values))
        raise


async def _settle(
    person: Principal,
    claim_id: str,
    finding: Finding,
    ports: Ports,
    result: dict[str, Any] | None,
    no_secrets: bool,
    note: str,
) -> ClaimRecord:
    if person.kind != "human" or person.has_agent or person.mode == "test" or OPERATOR not in person.roles:
        raise Refusal("settle.not_entitled")
    in_doubt = await _load_in_doubt(claim_id, ports)
    kept = _result_for_retries(finding, _without_secrets(result, in_doubt, ports, no_secrets))
    record, now = await _fence(in_doubt, person, ports), ports.now()
    settlement = Settlement(_ENDS[finding], now, kept, _valid_until(finding, record))
    values = _values(person, record) | ({"note": note} if note else {})
    entry = Entry("operator", now, _facts(record, settlement.state, ports), values)
    if not await ports.store.settle(record.id, record.epoch, settlement, [entry]):
        raise Refusal("settle.not_in_doubt")
    settled = await ports.store.claim_by_id(record.id)
    assert settled is not None
    return settled


def _valid_until(finding: Finding, record: ClaimRecord) -> float | None:
    """The time until which a settled claim is valid: without a caller's key, until its retention ends."""
    if finding == "not-done":
        return NEVER
    return record.expires_at if record.key is None else None


async def _load_in_doubt(claim_id: str, ports: Ports) -> ClaimRecord:
    record = await ports.store.claim_by_id(claim_id)
    if record is None:
        raise Refusal("settle.unknown", f"There is no claim {claim_id[:64]}.")
    state = record.state_at(ports.now())
    if state is not State.IN_DOUBT:
        raise Refusal("settle.not_in_doubt", f"Claim {claim_id[:12]} is not in doubt: it is {state}.")
    return record


async def _fence(record: ClaimRecord, person: Principal, ports: Ports) -> ClaimRecord:
    """Record the doubt first, so that the process that started the claim can no longer end it."""
    now = ports.now()
    entry = Entry("settlement", now, _facts(record, State.IN_DOUBT, ports), _values(person, record))
    doubted = await ports.store.mark_in_doubt(record.id, record.epoch, now, entry)
    if doubted is None:
        raise Refusal("settle.not_in_doubt")
    return doubted


def _values(person: Principal, record: ClaimRecord) -> dict[str, Any]:
    """Who settles, and whose claim it is: the entry belongs to the claim's tenant."""
    return {**principal_values(person), "tenant": record.tenant}


def _facts(record: ClaimRecord, state: State, ports: Ports) -> dict[str, Any]:
    return {
        "claim": ports.keyed_hash(record.id),
        "tool": record.tool,
        "contract": record.contract,
        "state": state.value,
    }


def _without_secrets(
    result: dict[str, Any] | None, record: ClaimRecord, ports: Ports, no_secrets: bool
) -> dict[str, Any] | None:
    """The result without one-time secrets, which must not be stored."""
    tool = ports.catalogue().find(record.tool)
    if result is None or (tool is None and no_secrets):
        return result
    if tool is None:
        raise Refusal("settle.secrets_unknown", f"There is no contract of {record.tool} here to name its secrets.")
    return without_secrets(tool.contract, result)


def _result_for_retries(finding: Finding, result: dict[str, Any] | None) -> bytes | None:
    """The result that retries get."""
    if finding == "not-done":
        return None
    if finding == "failed":
        refusal = Refusal("execute.failed", "The tool failed, as an operator found.")
        return orjson.dumps(result or error_result(refusal.problem()))
    text = "The call was done, as an operator found. The tool's own answer was lost."
    return orjson.dumps(result or {"content": [{"type": "text", "text": text}]})
