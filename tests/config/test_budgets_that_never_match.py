"""A budget counts what contracts cost in its currency, however spelled; one that never could count is refused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from assent.cli import cli
from assent.contract.reader import read_contract
from assent.core.outcome import Refusal
from assent.core.quotas import SpendBudget
from assent.errors import ContractError, SettingsError
from assent.testing import ANN, World

PAY = """tools:
  pay: {side_effect: external_spend, cost: {amount: /amount, currency: eur}}
  look: {side_effect: read}
"""


@pytest.mark.parametrize("budgeted", ["eur", "eUr", "EUR"])
@pytest.mark.parametrize("currency", ["eur", "Eur", "EUR"])
async def test_what_a_contract_costs_counts_however_either_currency_is_spelled(currency: str, budgeted: str) -> None:
    fields = {
        "side_effect": "external_spend",
        "confirmation": {"by": "none", "because": "a test"},
        "idempotency": {"key": "auto"},
        "cost": {"amount": "/amount", "currency": currency},
    }
    world = World({"pay": fields})
    world.but(budgets=(SpendBudget(amount=Decimal(100), currency=budgeted, per="1d"),))
    first = await world.call("pay", {"amount": 60}, by=ANN)
    over = await world.call("pay", {"amount": 5000}, by=ANN)
    assert not isinstance(first, Refusal)
    assert isinstance(over, Refusal) and over.code == "claim.budget_exceeded"


@pytest.mark.parametrize("currency", ["€", "EU", "EUR/USD", "E1R"])
def test_a_currency_that_no_budget_could_name_is_refused(currency: str) -> None:
    with pytest.raises(ContractError, match=r"cost\.currency: .*such as EUR"):
        read_contract("pay", {"side_effect": "write", "cost": {"amount": "/amount", "currency": currency}})


def check(folder: Path, budget: str, upstream: str = "", more: str = "") -> Result:
    (folder / "pay.yaml").write_text(PAY)
    (folder / "assent.yaml").write_text(
        f"store: sqlite:///a.db\nupstreams: {{bank: {{command: [never-started]{upstream}}}}}\ncontracts: [pay.yaml]\n"
        f"auth: {{stdio: {{kind: agent}}}}\nbudgets: [{{amount: 100, per: 1d, {budget}}}]\n{more}"
    )
    return CliRunner().invoke(cli, ["serve", "--check", "-c", str(folder / "assent.yaml")])


@pytest.mark.parametrize(
    "budget",
    [
        "currency: EUR",
        "currency: eur",
        "currency: Eur, match: {tool: 'p*'}",
        "currency: EUR, match: {tool: bank_pay}",
        "currency: EUR, match: {tier: external_spend, upstream: bank}",
        "match: {tool: look}",
    ],
)
def test_a_budget_that_some_contract_costs_is_taken(tmp_path: Path, budget: str) -> None:
    assert check(tmp_path, budget).exit_code == 0


@pytest.mark.parametrize(
    ("names", "more"),
    [(("shop.pay", "pay", "bank_pay", "shop.*"), ""), (("shop_pay", "pay", "bank_pay"), "names: safe")],
)
def test_a_budget_may_name_a_tool_as_it_is_listed_behind_a_prefix(
    tmp_path: Path, names: tuple[str, ...], more: str
) -> None:
    for name in names:
        assert check(tmp_path, f"currency: EUR, match: {{tool: '{name}'}}", ", prefix: shop.", more).exit_code == 0


@pytest.mark.parametrize(
    ("budget", "says"),
    [
        ("currency: USD", "costs USD"),
        ("currency: EUR, match: {tool: look}", "costs EUR"),
        ("currency: EUR, match: {tool: 'pai*'}", "costs EUR"),
        ("currency: EUR, match: {tier: read}", "costs EUR"),
    ],
)
def test_a_budget_that_nothing_could_ever_spend_is_refused_and_check_says_so(
    tmp_path: Path, budget: str, says: str
) -> None:
    refused = check(tmp_path, budget).exception
    assert isinstance(refused, SettingsError)
    said = str(refused)
    assert "budgets.0" in said and says in said and "pay costs EUR" in said
