"""Stage `afford`: refuses a call that cannot run now: beyond its limits or budgets, not connected, or without a price.

It comes before a person is asked, and it reserves nothing: that is for `claim`. See ADR 0092.
"""

from __future__ import annotations

from assent.contract.fields import Estimate
from assent.contract.pointers import MISSING
from assent.contract.tiers import Tier
from assent.core.call import Call
from assent.core.estimates import NO_PRICE, PriceText, amount_at, as_price, estimate_names, fitting, price_in, unit_at
from assent.core.outcome import Refusal
from assent.core.principal import Rights
from assent.core.quotas import SpendBudget, quotas_of
from assent.core.tool import Tool
from assent.pipeline.authorize import missing_permissions
from assent.pipeline.discover import absent_for
from assent.pipeline.guard import guarded_text, remember
from assent.pipeline.record import CallTrace
from assent.pipeline.remedies import estimate_refusal, quota_refusal, reason_of
from assent.pipeline.validate import strip_control_arguments
from assent.ports import OverBudget, Ports, RateLimited, Rules, ToolFailed


def applies(tool: Tool, caller: Rights, rules: Rules) -> bool:
    """If a limit or a budget counts calls of the tool, if a person must connect its upstream, or if it has a price."""
    contract = tool.contract
    priced = contract.cost is not None or contract.estimate is not None or contract.side_effect is Tier.EXTERNAL_SPEND
    return priced or tool.upstream in rules.connections or rules.counts(tool)


async def afford(call: Call, missing: tuple[str, ...], ports: Ports, trace: CallTrace) -> PriceText:
    """Return the price of the call. A price that cannot be determined stops the call.

    Budgets of money wait for an estimate. `missing` permissions allow only a dry run from the contract, which has no
    estimate.
    """
    estimate, budgets = call.tool.contract.estimate, ports.rules.budgets
    price = NO_PRICE if estimate is not None else _stated_price_text(call)
    known = budgets if estimate is None else tuple(one for one in budgets if one.currency is None)
    await _check(call, price.text, known, ports, trace)
    if (refusal := await connection_refusal(call, ports)) is not None:
        raise refusal
    if estimate is not None and not missing:
        price = await _estimated_price(call, estimate, ports, trace)
        await _check(call, price.text, budgets, ports, trace)
    elif call.tool.contract.cost is None and not missing:
        price = await _price_of_sibling(call, ports)
    trace.note_pass("afford", "%s", f"price {price.with_unit}" if price.text else "no price")
    return price


async def _check(
    call: Call, price: str | None, budgets: tuple[SpendBudget, ...], ports: Ports, trace: CallTrace
) -> None:
    """Refuse a call that its limits and budgets do not allow now. A dry run spends no budget."""
    if trace.observing:  # `claim` notes what the call exceeds.
        return
    now = ports.now()
    quotas = quotas_of(call, ports.rules.limits, () if call.dry_run else budgets, price, now)
    if not quotas:
        return
    try:
        await ports.store.afford(quotas, now)
    except (RateLimited, OverBudget) as exceeded:
        raise quota_refusal(exceeded) from None


async def connection_refusal(call: Call, ports: Ports, scope: str | None = None) -> Refusal | None:
    """The refusal of a call whose upstream is not connected for this caller, or None.

    `scope` is what the upstream itself asked for when it refused the call.
    """
    needed = await ports.connect(call, scope) if call.tool.upstream in ports.rules.connections else None
    if needed is None:
        return None
    more = f" with the permissions {_quote_scopes(needed.scope)}" if needed.scope else ""
    detail = f"{needed.upstream} is not connected{more}. Nothing has run."
    remedy = f"Tell the user to connect it ({needed.where}), then call again with the same arguments."
    where = {"connect_url": needed.where} if needed.where.startswith(("https://", "http://")) else {}
    where |= {"scope": needed.scope} if needed.scope else {}
    return Refusal("guard.not_connected", detail, remedy=remedy, upstream=needed.upstream, **where)


def _quote_scopes(scope: str) -> str:
    """Each scope in quotes, because the upstream chose the words: unquoted, they could read as a sentence of ours."""
    return ", ".join(f'"{word}"' for word in scope.split())


def stated_price(call: Call) -> str | None:
    """The price that the arguments state, as text; None if the contract reads none from them."""
    cost = call.tool.contract.cost
    amount = amount_at(call.stated, cost.amount) if cost else MISSING
    return None if cost is None or amount is MISSING else as_price(amount, cost)


def _stated_price_text(call: Call) -> PriceText:
    price, cost = stated_price(call), call.tool.contract.cost
    return PriceText(price, unit_at(call.stated, cost.amount) if price and cost and not cost.currency else "")


async def _estimated_price(call: Call, estimate: Estimate, ports: Ports, trace: CallTrace) -> PriceText:
    """The price that another tool of the upstream reports. It gets the same arguments without Assent's own."""
    arguments, cost = strip_control_arguments(call.tool.contract, call.arguments), call.tool.contract.cost
    failed: ToolFailed | None = None
    try:
        result = await ports.upstream.read(estimate.tool, arguments, call)
    except Exception as error:
        result, failed = {"isError": True}, error if isinstance(error, ToolFailed) else None
    found = None if result.get("isError") else result.get("structuredContent")
    amount = amount_at(found, estimate.amount)
    if amount is MISSING:
        other = ports.catalogue().beside(call.tool, estimate.tool)
        reason = reason_of(other, result, failed) if other is not None and _may_call(call, other) else ""
        refusal = estimate_refusal(guarded_text(call, reason, ports))
        kept = remember(call, refusal, ports)
        if not isinstance(kept, dict):
            await kept
        trace.refuse_or_note("afford", refusal)
        return NO_PRICE
    return PriceText(as_price(amount, cost), "" if cost and cost.currency else unit_at(found, estimate.amount))


def _may_call(call: Call, other: Tool) -> bool:
    return not absent_for(other, call.principal) and not missing_permissions(call.principal, other.contract.permissions)


async def _price_of_sibling(call: Call, ports: Ports) -> PriceText:
    """The price that a read-only tool named for this spend gives (`orders.estimate` for `orders.place`); none if there
    is no such tool, the caller may not call it, or it gives no price.
    """
    if call.tool.contract.side_effect is not Tier.EXTERNAL_SPEND:
        return NO_PRICE
    catalogue = ports.catalogue()
    found = (catalogue.beside(call.tool, name) for name in estimate_names(call.tool.wire_name))
    other = next((one for one in found if one is not None and one.contract.side_effect is Tier.READ), None)
    if other is None or not _may_call(call, other):
        return NO_PRICE
    known = strip_control_arguments(call.tool.contract, call.arguments)
    arguments = fitting(other.definition.get("inputSchema"), known)
    if arguments is None:
        return NO_PRICE
    try:
        result = await ports.upstream.read(other.name, arguments, call)
    except Exception:
        return NO_PRICE
    return NO_PRICE if result.get("isError") else PriceText(price_in(result.get("structuredContent")))
