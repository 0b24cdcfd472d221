"""Who is a caller that the SDK has authenticated?"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from fastmcp import Client as FastClient
from fastmcp import FastMCP
from mcp import Client
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken

from assent import Assent, Principal, contract, current_mode
from assent.core.outcome import Refusal
from assent.core.quotas import SpendBudget
from assent.errors import ContractError
from assent.fastmcp import Assent as FastAssent
from assent.library.settings import principal_of_token


def token(client: str, subject: str | None = None, issuer: str | None = None) -> AccessToken:
    claims = {"iss": issuer} if issuer else {}
    return AccessToken(token="t", client_id=client, scopes=[], subject=subject, claims=claims)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (token("ann"), token("app", subject="ann")),
        (token("app", subject="a|b"), token("app", subject="b", issuer="a")),
        (token("app", subject="a", issuer="i"), token("app", subject="a", issuer="j")),
        (token("a subject=b"), token("a", subject="b")),
    ],
)
def test_two_callers_are_never_one_principal(one: AccessToken, other: AccessToken) -> None:
    assert principal_of_token(one).id != principal_of_token(other).id


def test_a_token_says_whether_its_caller_is_in_test_mode() -> None:
    def mode(**claims: Any) -> str:
        return principal_of_token(AccessToken(token="t", client_id="app", scopes=[], claims=claims)).mode

    assert [mode(), mode(mode="live"), mode(mode="test")] == ["live", "live", "test"]
    with pytest.raises(Refusal, match=r"authenticate\.invalid"):
        mode(mode="Test")


@pytest.mark.parametrize("edge", ["sdk", "fastmcp"])
@pytest.mark.parametrize("mode", ["live", "test"])
async def test_a_function_knows_the_mode_of_its_caller_and_the_log_says_it(edge: str, mode: Any) -> None:
    caller = Principal("ci", "agent", mode=mode)

    @contract(side_effect="write")
    def charge() -> str:
        """Charges a card."""
        return current_mode()

    if edge == "sdk":
        governed = Assent(principal=lambda _: caller, test_callers="served")
        server = MCPServer("shop", extensions=[governed.extension()])
        server.add_tool(charge)
        governed.apply(server)
        async with Client(server) as client:
            said = (await client.call_tool("charge", {})).model_dump_json()
    else:
        governed = FastAssent(principal=lambda _: caller, test_callers="served")
        fast: FastMCP = FastMCP("shop")
        fast.tool(charge)
        governed.apply(fast)
        async with FastClient(fast) as client:
            said = repr(await client.call_tool("charge", {}))
    assert mode in said
    assert current_mode() == "live"
    await governed.store.flush()
    assert {one.entry.facts.get("mode") for one in await governed.store.entries()} == {mode}


@pytest.mark.parametrize("says_when", [True, False])
async def test_the_remedy_of_a_step_up_works_for_a_caller_without_a_token(says_when: bool) -> None:
    caller = Principal("ann", "agent", auth_time=950.0 if says_when else None)
    governed = Assent(principal=lambda _: caller, now=lambda: 1000.0)
    server = MCPServer("shop", extensions=[governed.extension()])

    @server.tool()
    @contract(side_effect="read", step_up={"max_age": "5m"})
    def look() -> str:
        """Looks."""
        return "seen"

    governed.apply(server)
    async with Client(server) as client:
        said = (await client.call_tool("look", {})).model_dump_json()
    assert ("seen" in said) is says_when
    assert ("say in `principal=` of `Assent(…)` when and how they signed in" in said) is not says_when
    assert "use a token" not in said


def test_an_unknown_choice_about_test_callers_is_refused() -> None:
    with pytest.raises(ContractError, match="test_callers"):
        Assent(test_callers="maybe")  # type: ignore[arg-type]


def test_a_budget_that_no_function_could_spend_stops_the_start() -> None:
    @contract(side_effect="external_spend", cost={"amount": "/amount", "currency": "eur"})
    def pay(amount: int) -> str:
        """Pays."""
        return str(amount)

    def start(currency: str) -> None:
        governed = Assent(budgets=[SpendBudget(amount=Decimal(5), currency=currency, per="1d")])
        server = MCPServer("shop", extensions=[governed.extension()])
        server.add_tool(pay)
        governed.apply(server)

    start("Eur")
    with pytest.raises(ContractError, match="costs USD"):
        start("USD")


def test_a_person_is_the_same_through_every_client() -> None:
    assert principal_of_token(token("app", subject="ann")).id == principal_of_token(token("web", subject="ann")).id
