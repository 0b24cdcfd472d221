"""What happened after all? The third sentence: an operator who has looked says how a claim in doubt ended."""

from __future__ import annotations

from typing import Any, Literal

import orjson

from assent.core.audit import Entry, principal_values
from assent.core.claims import NEVER, ClaimRecord, Settlement, State
from assent.core.outcome import Refusal, error_result
from assent.core.principal import Principal
from assent.core.secrets import without_secrets
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
    """The claim as an operator found it; a Refusal, which is written down too, says why it was not settled.

    `done` keeps the result for retries, `not-done` gives the key and what was reserved free, `failed` answers retries
    with a failure. An owner who comes back afterwards is refused. What the contract declares a secret is not kept;
    where there is no contract to say so, the operator must (`no_secrets`). `note` says how the operator knows.
    """
    try:
        return await _settled(person, claim_id, finding, ports, result, no_secrets, note)
    except Refusal as refusal:
        values = {"claim": claim_id[:64], "finding": finding, **principal_values(person)}
        ports.store.note(Entry("denial", ports.now(), {"action": "settle", "code": refusal.code}, values))
        raise


async def _settled(
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
    doubtful = await _doubtful(claim_id, ports)
    kept = _kept(finding, _emptied(result, doubtful, ports, no_secrets))
    record, now = await _fenced(doubtful, person, ports), ports.now()
    settlement = Settlement(_ENDS[finding], now, kept, _valid_until(finding, record))
    values = _values(person, record) | ({"note": note} if note else {})
    entry = Entry("operator", now, _facts(record, settlement.state, ports), values)
    if not await ports.store.settle(record.id, record.epoch, settlement, [entry]):
        raise Refusal("settle.not_in_doubt")
    settled = await ports.store.recall(record.id)
    assert settled is not None
    return settled


def _valid_until(finding: Finding, record: ClaimRecord) -> float | None:
    """Until when a settled claim stands: one without a caller's key is made anew after its retention."""
    if finding == "not-done":
        return NEVER
    return record.expires_at if record.key is None else None


async def _doubtful(claim_id: str, ports: Ports) -> ClaimRecord:
    record = await ports.store.recall(claim_id)
    if record is None:
        raise Refusal("settle.unknown", f"There is no claim {claim_id[:64]}.")
    state = record.state_at(ports.now())
    if state is not State.IN_DOUBT:
        raise Refusal("settle.not_in_doubt", f"Claim {claim_id[:12]} is not in doubt: it is {state}.")
    return record


async def _fenced(record: ClaimRecord, person: Principal, ports: Ports) -> ClaimRecord:
    """The claim with its doubt written down, so that nobody who started it can end it any more."""
    now = ports.now()
    entry = Entry("settlement", now, _facts(record, State.IN_DOUBT, ports), _values(person, record))
    doubted = await ports.store.doubt(record.id, record.epoch, now, entry)
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


def _emptied(
    result: dict[str, Any] | None, record: ClaimRecord, ports: Ports, no_secrets: bool
) -> dict[str, Any] | None:
    """The result without what may be shown only once: it was, or it never will be."""
    tool = ports.catalogue().find(record.tool)
    if result is None or (tool is None and no_secrets):
        return result
    if tool is None:
        raise Refusal("settle.secrets_unknown", f"No contract of {record.tool} is here to say what of it is a secret.")
    return without_secrets(tool.contract, result)


def _kept(finding: Finding, result: dict[str, Any] | None) -> bytes | None:
    """What a retry is answered."""
    if finding == "not-done":
        return None
    if finding == "failed":
        said = Refusal("execute.failed", "The tool failed; an operator looked.")
        return orjson.dumps(result or error_result(said.problem()))
    text = "This was done; an operator looked. The tool's own answer was lost."
    return orjson.dumps(result or {"content": [{"type": "text", "text": text}]})
