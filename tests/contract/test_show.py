"""A contract as people read it says every promise, and which of them nobody had to declare."""

from __future__ import annotations

import pytest

from assent.contract.reader import read_contract
from assent.contract.show import MARK, show
from support.documents.contract_examples import FULL, RISKS, TIERS, contract_with

PAGE = """\
place_order: Place an order
  Description       Buys an archive scene.
  Category          billing — Billing
  Side effect       external_spend
  Risk              critical (4 of 5)  (default)
  Autonomous        no  (default)
  Confirmation      approvers approve before every call, within 15m
  Step up           always: a login within the last 5m, of class mfa
  Input             item: string
                    amount?: number
  Output            download?: object
  Permissions       orders:write
  Side effects      Charges the account.
                    Repeating with the same key charges nothing.
  Audit event       order.placed
  Failure modes     card_declined (402): nothing was done
  Idempotency       none: at most once; an unknown end stays in doubt
                    key required, argument idempotency_key
                    the key is passed on as header
                    results are kept for 30d
  Dry run           offered, requested with dryRun, valid for 10m
  Estimate          estimate_order, the price at /price
  Cost              the argument /amount in EUR
  Natural           the same fileId and expiresAt return the same result until /expiresAt
  Secrets           /download/token
  Selects           filter, ids
  Produces          order
  Events            item.sent for each /items/* of the result
  Bulk              more than 100 items are ambiguous
  Open world        yes
  Activity          Ordered {item} for {amount}
  Visibility        scoped
  Labels            reads private: no
                    sees untrusted: no
                    public sink: no
  Hints             idempotent: yes
                    because: PUT with the same body
  Flow              recipients: /address
                    target: /item
                    amount: /price
  Digest            """


def test_the_full_contract_reads_as_a_page() -> None:
    full = read_contract("place_order", FULL)
    assert show(full) == PAGE + full.digest


def test_the_thirteen_fields_are_always_there() -> None:
    lines = show(contract_with("emails.send", "write")).splitlines()
    assert lines[0] == "emails.send: Emails send"
    labels = [line[2:20].strip() for line in lines[1:] if line[2] != " "]
    assert labels[:13] == [
        "Description",
        "Category",
        "Side effect",
        "Risk",
        "Autonomous",
        "Confirmation",
        "Step up",
        "Input",
        "Output",
        "Permissions",
        "Side effects",
        "Audit event",
        "Failure modes",
    ]


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("risk", [None, *RISKS])
def test_what_follows_from_tier_and_risk_is_marked(tier: str, risk: str | None) -> None:
    plain = contract_with("tool", tier)
    made = contract_with("tool", tier, **({"risk": risk} if risk else {}))
    marked = [line.split()[0] for line in show(made).splitlines() if line.endswith(MARK)]
    assert marked == [
        *(["Risk"] if made.risk is plain.risk else []),
        "Autonomous",
        "Confirmation",
        "Audit",
        "Idempotency",
    ]


def test_what_is_declared_otherwise_is_not_marked() -> None:
    page = show(
        contract_with(risk="high", confirmation={"by": "host"}, audit_event="done", idempotency={"key": "auto"})
    )
    assert [line.split()[0] for line in page.splitlines() if line.endswith(MARK)] == ["Autonomous"]


def test_a_quorum_a_condition_and_a_reason_are_told() -> None:
    page = show(
        contract_with(
            risk="critical",
            overwrites=True,
            confirmation={"by": "approver", "quorum": 2},
            step_up={"acr": ["mfa", "hw"], "when": "amount > 5"},
            idempotency={"recovery": "reconcile", "lookup": {"tool": "get_order"}},
            failure_modes={"lost": {"class": "unknown", "status": 504, "title": "The line broke."}},
            input={"type": "object", "properties": {"k": {"enum": ["a", None]}, "t": {"type": "array", "items": {}}}},
            output={"type": "string"},
            meta={"x-more": {"a": 1}},
        )
    )
    for line in (
        "Side effect       write, overwrites existing data",
        "Confirmation      2 approvers approve before every call, within 15m",
        "Step up           when amount > 5: of class mfa or hw",
        "Failure modes     lost (504): the effect is unknown, The line broke.",
        "Idempotency       reconcile: looked up first, then settled or run again",
        "looked up with get_order, at /status",
        'Input             k?: "a" | null',
        "t?: {}[]",
        'Output            {"type": "string"}',
        'Meta              x-more: {"a": 1}',
    ):
        assert line in page


def test_text_with_line_ends_or_invisible_characters_stays_on_its_line() -> None:
    made = contract_with(title="a\nRisk low\u202e", description="one\r\ntwo\x1b[31m", side_effects=["x\u2028y"])
    page = show(made)
    assert page.count("\n") == show(contract_with(side_effects=["x"])).count("\n")
    assert all(line.isprintable() for line in page.splitlines())


def test_there_are_no_colours_and_no_trailing_newline() -> None:
    page = show(read_contract("place_order", FULL))
    assert "\x1b" not in page
    assert not page.endswith("\n")
