"""What was validated, asked about and written down is what the author's function is given, and what it did is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError

from assent.contract.decorator import contract
from assent.core.problems import problem_in
from assent.errors import ContractError
from assent.library.governance import Assent
from support.clients.transports import ERAS, Person, connect

KEY = {"dev.assent/idempotencyKey": "k"}


def governed(*functions: Any, assent: Assent | None = None, structured_output: bool | None = None) -> MCPServer:
    """A server of these functions; each carries its contract."""
    assent = assent or Assent()
    server = MCPServer("shop", extensions=[assent.extension()], log_level="CRITICAL")
    for function in functions:
        server.add_tool(function, structured_output=structured_output)
    assent.apply(server)
    return server


async def code_of(client: Client, tool: str, arguments: dict[str, Any], **more: Any) -> str:
    """The code of a refusal, or nothing for an answer."""
    result = await client.call_tool(tool, arguments, **more)
    return str(problem_in(result.model_dump(by_alias=True)).get("code", ""))


async def test_a_dry_run_never_reaches_a_function_that_does_not_know_the_argument() -> None:
    ran = []

    @contract(
        side_effect="destructive",
        dry_run={"mode": "offered"},
        input={"type": "object", "properties": {"id": {"type": "string"}, "dryRun": {"type": "boolean"}}},
    )
    def wipe(id: str) -> dict[str, str]:
        ran.append(id)
        return {"wiped": id}

    async with Client(governed(wipe)) as client:
        result = await client.call_tool("wipe", {"id": "1", "dryRun": True})
    assert not result.is_error
    assert ran == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "same",
    [{"n": 1, "id": "1"}, {"id": "1", "n": 1.0}, {"id": "1", "n": 1, "dryRun": False}, {"id": "1", "n": 1, "k": "x"}],
)
async def test_a_decline_is_not_got_round_by_writing_the_same_call_otherwise(era: str, same: dict[str, Any]) -> None:
    @contract(
        side_effect="destructive",
        dry_run={"mode": "offered"},
        idempotency={"argument": "k"},
        cost={"amount": "/n"},
    )
    def wipe(id: str, n: float) -> dict[str, str]:
        return {"wiped": id}

    person = Person(["decline"])
    async with connect(governed(wipe), era, person) as client:
        assert await code_of(client, "wipe", {"id": "1", "n": 1}) == "confirm.declined"
        assert await code_of(client, "wipe", same) == "confirm.declined"
    assert len(person.asked) == 1


@contract(side_effect="write")
def wrong_type(id: str) -> dict[str, int]:
    return {"id": id}  # type: ignore[dict-item]


@contract(side_effect="write")
def protocol_error(id: str) -> dict[str, int]:
    raise MCPError(-31_999, "The connection broke.")


@pytest.mark.parametrize("function", [wrong_type, protocol_error], ids=lambda function: function.__name__)
async def test_a_function_that_ran_without_a_usable_end_leaves_a_doubt(function: Any) -> None:
    async with Client(governed(function)) as client:
        assert await code_of(client, function.__name__, {"id": "x"}, meta=KEY) == "execute.in_doubt"
        assert await code_of(client, function.__name__, {"id": "x"}, meta=KEY) == "recall.in_doubt"


async def test_an_error_that_the_function_returns_as_a_result_is_its_answer() -> None:
    @contract(side_effect="write")
    def refuse() -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text="No room.")], is_error=True)

    async with Client(governed(refuse)) as client:
        result = await client.call_tool("refuse", {}, meta=KEY)
    assert (result.is_error, result.content[0].text) == (True, "No room.")


async def test_a_failure_that_the_function_caught_is_not_its_own() -> None:
    @contract(side_effect="write")
    def inner() -> dict[str, str]:
        raise RuntimeError("inner")

    @contract(side_effect="write")
    async def outer() -> dict[str, bool]:
        try:
            await server.call_tool("inner", {})
        except Exception:
            return {"went_on": True}
        return {"went_on": False}

    server = governed(inner, outer)
    async with Client(server) as client:
        result = await client.call_tool("outer", {})
    assert result.structured_content == {"went_on": True}


async def test_a_function_is_given_the_text_that_was_validated_and_not_json_read_out_of_it() -> None:
    given: list[Any] = []

    @contract(side_effect="write", selects=["ids"], bulk=2)
    def tag(ids: str | list[str]) -> dict[str, bool]:
        given.append(ids)
        return {"done": True}

    async with Client(governed(tag)) as client:
        assert await code_of(client, "tag", {"ids": ["a", "b", "c"]}) == "confirm.approval_pending"
        await client.call_tool("tag", {"ids": '["a", "b"]'})
    assert given == ['["a", "b"]']


async def test_a_function_registered_anew_under_an_old_name_is_held_to_its_own_contract() -> None:
    @contract(side_effect="write")
    def work() -> dict[str, bool]:
        return {}

    @contract(side_effect="compute")
    def other() -> dict[str, bool]:
        raise RuntimeError("after the effect")

    server = governed(work)
    async with Client(server) as client:
        server.remove_tool("work")
        server.add_tool(other, name="work")
        assert await code_of(client, "work", {}, meta=KEY) == "execute.in_doubt"
        [listed] = (await client.list_tools()).tools
        assert listed.meta is not None
        assert listed.meta["dev.assent/contract"]["tier"] == "compute"


async def test_a_clock_set_back_does_not_bring_back_a_call_that_never_reached_its_tool() -> None:
    moment = [1000.0]

    @contract(side_effect="write", input={"type": "object"})
    def count(n: int) -> dict[str, int]:
        return {"n": n}

    async with Client(governed(count, assent=Assent(now=lambda: moment[0]))) as client:
        assert await code_of(client, "count", {"n": "no number"}, meta=KEY) == "validate.arguments_invalid"
        moment[0] = 900.0
        assert await code_of(client, "count", {"n": "no number"}, meta=KEY) == "validate.arguments_invalid"


async def test_a_keyed_function_is_given_the_same_key_by_every_process(tmp_path: Path) -> None:
    keys: list[str] = []

    @contract(side_effect="write", idempotency={"recovery": "keyed", "argument": "token"})
    def pay(token: str = "") -> dict[str, bool]:
        keys.append(token)
        if len(keys) == 1:
            raise RuntimeError("nobody knows")
        return {"paid": True}

    store, secrets = f"sqlite:///{tmp_path / 'pay.db'}", tmp_path / "secrets"
    for expected in ("execute.in_doubt", ""):
        assent = Assent(store=store, secrets=secrets)
        async with Client(governed(pay, assent=assent)) as client:
            assert await code_of(client, "pay", {}, meta=KEY) == expected
        await assent.close()
    assert len(keys) == 2
    assert keys[0] == keys[1] != ""


@pytest.mark.parametrize("said", [{}, {"forward": "meta"}, {"argument": "other"}])
def test_keyed_recovery_needs_a_function_that_takes_the_key(said: dict[str, str]) -> None:
    @contract(side_effect="write", idempotency={"recovery": "keyed", **said})
    def pay(token: str = "") -> dict[str, bool]:
        return {}

    with pytest.raises(ContractError, match="is not given the key"):
        governed(pay)


async def test_keyed_recovery_needs_a_key_that_outlives_the_process(tmp_path: Path) -> None:
    @contract(side_effect="write", idempotency={"recovery": "keyed", "argument": "token"})
    def pay(token: str = "") -> dict[str, bool]:
        return {}

    assent = Assent(store=f"sqlite:///{tmp_path / 'pay.db'}")
    with pytest.raises(ContractError, match="another one after a restart"):
        governed(pay, assent=assent)
    await assent.close()


def test_what_is_asked_for_the_price_must_be_under_contract() -> None:
    def price() -> dict[str, int]:
        return {"price": 1}

    @contract(side_effect="external_spend", estimate={"tool": "price", "amount": "/price"})
    def buy() -> dict[str, bool]:
        return {}

    with pytest.raises(ContractError, match="price has no contract"):
        governed(price, buy)


def test_a_contract_that_names_another_tool_is_refused() -> None:
    @contract(side_effect="read", name="look")
    def see() -> str:
        return ""

    with pytest.raises(ContractError, match="registered as see"):
        governed(see)


def test_an_assent_does_not_apply_to_a_server_that_another_one_governs() -> None:
    server = MCPServer("shop", extensions=[Assent().extension()])
    with pytest.raises(ContractError, match="does not have this extension"):
        Assent().apply(server)
