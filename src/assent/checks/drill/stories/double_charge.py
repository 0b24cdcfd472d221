"""Story: an answer is lost, the client tries again, and the customer pays twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.checks.drill.sandbox import Sandbox
from assent.checks.drill.standin import LostAnswerError
from assent.checks.drill.story import Ended, Server, Story, let_through, tool

_CHARGE = tool("charge_card", "Charges a customer's card.", customer="The customer.", amount="The amount.")
_PAYMENT = {"customer": "c-1", "amount": "100"}


def _lose_answer(_: Mapping[str, Any]) -> str:
    raise LostAnswerError


async def play(sandbox: Sandbox) -> Ended:
    reply = await sandbox.call("charge_card", _PAYMENT, key="order-1")
    if reply.approval:
        await sandbox.decide(reply.approval)
        await sandbox.call("charge_card", _PAYMENT, key="order-1")
    reply = await sandbox.call("charge_card", _PAYMENT, key="order-1")
    if len(sandbox.reached) > 1:
        return let_through("The retry charged the card a second time.")
    return sandbox.refused(reply, "charge_card")


STORY = Story(
    title="A retry after a lost answer charges twice",
    published="Stripe, idempotency keys, 2017",
    source="https://stripe.com/blog/idempotency",
    happens="The server charges the card and the connection breaks. The client sees an error and calls again.",
    change="Set `mode: enforce`. A call whose outcome is not known is then never repeated under its key.",
    fix={"mode": "enforce"},
    servers={"payments": Server((_CHARGE,), {"charge_card": _lose_answer})},
    user="Charge customer c-1 with 100 EUR.",
    play=play,
)
