"""Stage `confirm`: finds a person's approval for exactly this call, or asks for one."""

from __future__ import annotations

import unicodedata
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import orjson

from assent.contract.model import Contract
from assent.core.approval import Approval, ApprovalState, binding_of
from assent.core.approval_details import details_of
from assent.core.audit import Entry, call_facts, unrun_values
from assent.core.call import Call
from assent.core.claims import claim_name
from assent.core.deceptive_characters import BLANK
from assent.core.outcome import Pause, Refusal
from assent.core.policy_verdict import why_approved
from assent.core.principal import Principal, Rights
from assent.core.question import question, waiting
from assent.core.shown_arguments import TooLarge, shown_arguments
from assent.core.tool import Tool
from assent.pipeline.client_answer import can_answer, has_answer, record_answer
from assent.pipeline.guard import guards_of
from assent.pipeline.record import CallTrace
from assent.pipeline.remedies import declined_refusal, not_counted, pending, too_many_refusal
from assent.ports import CoolingDown, Ports, Rules, TooManyPending

if TYPE_CHECKING:
    from assent.pipeline.rehearse import Rehearsed

_WILDCARDS = ("*", "%", "all", "any", "**", ".*")
_CONFIRMERS = ("none", "host", "user", "approver")


def applies(tool: Tool, caller: Rights, rules: Rules) -> bool:
    """If the contract can ask a person, or if a policy, flow control or a guard of this tool can."""
    contract = tool.contract
    by = contract.asked_by(bool(contract.selects) or contract.bulk is not None)
    asking = any(rule.action == "approve" for rule in guards_of(tool, rules)["arguments"])
    return by in ("user", "approver") or asking or rules.policies is not None or rules.flow is not None


def confirm(
    call: Call, rehearsed: Rehearsed, ports: Ports, trace: CallTrace
) -> Coroutine[Any, Any, Approval | None] | None:
    """Decide whether a person must be asked; None if not. Otherwise return what to await: an approval for exactly this
    call, or a question in band or out of band.
    """
    why = ambiguous(call.tool.contract, call.arguments)
    by = asked_by(call, why, ports.rules)
    asking = [one for one in trace.guards if one.action == "approve" and (trace.observing or not one.observed)]
    if asking or trace.approvals:
        asked = [*(one.by for one in asking), *(one.by for one in trace.approvals)]
        by = stricter(by, asked, call.principal)
        reasons = (why, *(one.asked_because for one in asking), why_approved(trace.approvals))
        why = " and ".join(filter(None, reasons))
    if by in ("none", "host"):
        trace.note_pass("confirm", "no confirmation needed" if by == "none" else "the host asks")
        return None
    return _find_or_ask(call, rehearsed, why, by, ports, trace)


async def _find_or_ask(
    call: Call, rehearsed: Rehearsed, why: str | None, by: str, ports: Ports, trace: CallTrace
) -> Approval | None:
    """Return an approval for exactly this call, or ask for one. In observe mode only note that it would be asked."""
    leads_to = await ports.leads_to(call)
    draft = _draft(call, rehearsed, why, by, ports, leads_to)
    approval = await ports.store.approval_for(draft.binding, ports.now())
    if trace.observing:
        trace.refuse_or_note("confirm", Pause(approval or draft))
        return None
    if approval is None:
        await _require_room(draft, ports)  # Before the text is made: it can be large.
        said: dict[str, Any] = {"why": why, "price": rehearsed.price.with_unit, "leads_to": leads_to}
        said["background"] = ports.rules.background(call, ports.now())
        approval = await _ask(_render_question(draft, call, rehearsed.preview, said), call, ports)
    if has_answer(call, approval):
        approval = await record_answer(approval, call, ports)
    approval = _judge(approval, call, ports, trace)
    if ports.rules.flow is not None:
        ports.rules.flow.vouch(call, ports.now())
    return approval


def ambiguous(contract: Contract, arguments: Mapping[str, Any]) -> str | None:
    """Why the scope of a call is unclear, or None: an empty or wildcard selector, or more items than `bulk`."""
    for name in contract.selects:
        value = arguments.get(name)
        if _is_empty(value):
            return f"{name} is empty, so it may select everything"
        if _is_wildcard(value):
            return f"{name} selects everything"
    if contract.bulk is not None:
        for name, value in arguments.items():
            count = _longest_list(value) if name in contract.selects else len(value) if isinstance(value, list) else 0
            if count > contract.bulk:
                who = name if name.isidentifier() and name.isascii() else "an argument"
                return f"{who} holds {count} items, more than {contract.bulk}"
    return None


def _is_empty(value: Any) -> bool:
    """Whether a selector is empty: absent, blank to a reader, or made only of such values."""
    if isinstance(value, str):
        return not "".join(c for c in value if c not in BLANK and unicodedata.category(c) != "Cf").strip()
    if isinstance(value, Mapping):
        return all(_is_empty(item) for item in value.values())
    return all(_is_empty(item) for item in value) if isinstance(value, list) else value is None


def _longest_list(value: Any) -> int:
    """The length of the longest list in a selector."""
    if isinstance(value, str):
        return 1 + max(map(value.strip().count, ",;\n"))
    if isinstance(value, Mapping):
        return max(map(_longest_list, value.values()), default=0)
    return max(len(value), *map(_longest_list, value)) if isinstance(value, list) and value else 0


def _is_wildcard(value: Any) -> bool:
    if isinstance(value, str):
        plain = unicodedata.normalize("NFKC", value).strip().lower()
        return plain in _WILDCARDS or "*" in plain or not any(map(str.isalnum, plain))
    if isinstance(value, list):
        return any(_is_wildcard(item) for item in value)
    if isinstance(value, Mapping):
        return any(_is_wildcard(item) for item in value.values())
    return False


def stricter(by: str, others: Iterable[str], principal: Principal) -> str:
    """The strictest of those who must confirm. Against a test endpoint a user is enough."""
    asked = ("user" if one == "approver" and principal.mode == "test" else one for one in others)
    return max((by, *asked), key=_CONFIRMERS.index)


def asked_by(call: Call, why: str | None, rules: Rules) -> str:
    """Who must confirm: `none`, `host`, `user` or `approver`. Against a test endpoint less is enough."""
    critical = rules.critical_confirmer if call.principal.has_agent else "user"
    known: dict[tuple[bool, str], str] = call.tool.derived.setdefault("asked_by", {})
    by = known.get((why is not None, critical))
    if by is None:
        by = known[why is not None, critical] = call.tool.contract.asked_by(why is not None, critical)
    return rules.test_confirmation if by in ("user", "approver") and call.principal.mode == "test" else by


def _judge(approval: Approval, call: Call, ports: Ports, trace: CallTrace) -> Approval:
    match approval.state_at(ports.now()):
        case ApprovalState.APPROVED:
            trace.approval = approval.id
            trace.note_pass("confirm", f"approval {approval.id}")
            return approval
        case ApprovalState.DECLINED:
            raise declined_refusal(approval, ports)
    if has_answer(call, approval):
        ports.waiting(approval)
        raise pending(approval, ports, "confirm.cancelled", "The question was closed without an answer. ")
    if can_answer(call, approval):
        raise Pause(approval, len(call.canonical), keyed=claim_name(call) is not None)
    ports.waiting(approval)
    raise pending(approval, ports, first=not_counted(approval))


def _draft(
    call: Call, rehearsed: Rehearsed, why: str | None, by: str, ports: Ports, leads_to: Sequence[tuple[str, str]]
) -> Approval:
    """The question without its text, bound to this call and to everything that the text is made from."""
    contract, now = call.tool.contract, ports.now()
    shown = orjson.dumps([why, rehearsed.price.with_unit, [list(one) for one in leads_to], call.tool.has_test]).decode()
    binding = binding_of(call.digest, rehearsed.preview_digest, shown, ports.rules.policy_digest, by)
    return Approval(
        id=ports.new_id(),
        binding=binding,
        tenant=call.principal.tenant,
        requester=call.principal.id,
        tool=call.tool.name,
        by=by,
        quorum=contract.confirmation.quorum if by == "approver" else 1,
        text="",
        facts={**call_facts(call), **_approver_facts(call)},
        asked_at=now,
        expires_at=now + contract.confirmation.expires,
        lasts=contract.confirmation.lasts or contract.confirmation.expires,
        uses=contract.confirmation.uses,
    )


def _render_question(draft: Approval, call: Call, preview: Any, said: dict[str, Any]) -> Approval:
    """The question with what a person reads."""
    try:
        shown = shown_arguments(call, preview)
    except TooLarge as error:
        raise Refusal("confirm.too_large", str(error)) from None
    return replace(draft, text=question(call, shown, **said), details=details_of(call, shown, **said))


def _approver_facts(call: Call) -> dict[str, Any]:
    """What the contract asks of the approver's authentication for this very call."""
    spec, condition = call.tool.contract.step_up, call.tool.step_up_when
    if spec is None or (condition is not None and not condition.holds(call.arguments)):
        return {}
    acr = {"acr": [quote(one, safe=":/")[:512] for one in spec.acr]} if spec.acr else {}
    return {**acr, "max_age": int(spec.max_age)} if spec.max_age else acr


async def _require_room(draft: Approval, ports: Ports) -> None:
    """Refuse a question of a requester who has enough open ones. The store checks it again with the question."""
    count, _ = await ports.store.count_pending(ports.now(), tenant=draft.tenant, requester=draft.requester)
    if count >= ports.rules.most_pending:
        raise too_many_refusal(ports)


async def _ask(draft: Approval, call: Call, ports: Ports) -> Approval:
    """Store the question. Raises ClaimExists if a call with the same key has used up its approval meanwhile."""
    facts = {**draft.facts, "approval": draft.id, "by": draft.by, "quorum": draft.quorum}
    entry = Entry("approval", draft.asked_at, facts, unrun_values(call))
    try:
        return await ports.store.ask(
            draft, draft.asked_at, ports.rules.most_pending, entry, _cooldown(draft, ports), claim_name(call)
        )
    except TooManyPending:
        raise too_many_refusal(ports) from None
    except CoolingDown as cooling:
        wait = (
            f"A person declined a call of this tool moments ago. It can be asked again in {waiting(cooling.seconds)}."
        )
        raise Refusal("confirm.cooling_down", wait, retry_after_ms=max(1, ceil(cooling.seconds * 1000))) from None


def _cooldown(draft: Approval, ports: Ports) -> float:
    """Approvers have a pause between questions, so that repeated requests cannot wear them down. A user at the
    client has none.
    """
    return ports.rules.cooldown if draft.by == "approver" else 0.0
