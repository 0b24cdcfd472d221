"""What an operation promises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from assent.contract.model import Contract
from assent.contract.reader import read_contract
from assent.contract.tiers import Tier
from assent.upstreams.openapi.contracts import overlaid, tidy_code
from support.openapi.documents import ORDERS, api, ok, parameter, problem, sending


def contract(method: str = "get", infer: Any = None, more: Any = None, **operation: Any) -> Contract:
    found = api({"/x": {method: {"operationId": "it", "responses": ok(), **operation}}}, infer=infer, **(more or {}))
    assert not found.excluded, found.excluded
    return read_contract("it", found.tools["it"].fields)


@dataclass
class Guess:
    tier: str
    risk: str = "low"
    confidence: float = 1.0
    open_world: bool = False


@pytest.mark.parametrize(
    ("method", "tier", "overwrites"),
    [
        ("get", "read", False),
        ("head", "read", False),
        ("post", "write", False),
        ("put", "write", True),
        ("patch", "write", True),
        ("delete", "destructive", False),
    ],
)
def test_without_a_word_of_the_author_the_method_decides(method: str, tier: str, overwrites: bool) -> None:
    made = contract(method)
    assert (made.side_effect.value, made.overwrites) == (tier, overwrites)


@pytest.mark.parametrize("tier", list(Tier))
def test_the_authors_word_decides(tier: Tier) -> None:
    made = contract("post", infer=lambda _: Guess("destructive", "forbidden"), **{"x-side-effect": tier.value})
    assert made.side_effect is tier
    assert made.risk.value != "forbidden"


def test_a_word_that_is_not_known_is_a_finding_and_the_method_decides() -> None:
    found = api({"/x": {"post": {"operationId": "it", "x-side-effect": "mutate", "responses": ok()}}})
    assert found.tools["it"].fields["side_effect"] == "write"
    assert "'mutate' is not a tier" in str(found.findings[0])


@pytest.mark.parametrize(
    ("method", "guess", "tier", "risk"),
    [
        ("get", Guess("destructive", "critical"), "destructive", "critical"),
        ("get", Guess("destructive", "medium", 0.7), "read", "medium"),
        ("get", Guess("destructive", "critical", 0.3), "read", "low"),
        ("post", Guess("read"), "read", "low"),
        ("post", Guess("read", confidence=0.7), "write", "medium"),
        ("post", Guess("external_spend", "critical", 0.7), "external_spend", "critical"),
        ("put", Guess("read"), "write", "medium"),
        ("put", Guess("destructive", "critical"), "destructive", "critical"),
        ("delete", Guess("read"), "destructive", "critical"),
        ("get", Guess("read", "forbidden"), "read", "forbidden"),
        ("post", Guess("write", "critical"), "write", "critical"),
    ],
)
def test_an_inference_raises_and_seldom_lowers(method: str, guess: Guess, tier: str, risk: str) -> None:
    made = contract(method, infer=lambda _: guess)
    assert (made.side_effect.value, made.risk.value) == (tier, risk)


def test_an_inference_sees_the_definition() -> None:
    seen: list[dict[str, Any]] = []

    def infer(definition: dict[str, Any]) -> Guess:
        seen.append(definition)
        return Guess("read")

    contract("post", infer=infer, summary="Search things", parameters=[parameter("q", "query")])
    assert seen[0]["name"] == "it"
    assert seen[0]["title"] == "Search things"
    assert list(seen[0]["inputSchema"]["properties"]) == ["q"]


def test_scopes_come_from_the_extension_or_from_the_security_requirements() -> None:
    secured = [{"oauth": ["orders:write", "orders:read"]}, {"key": []}]
    assert contract(security=secured).permissions == ("orders:write", "orders:read")
    assert contract(security=secured, **{"x-required-scope": "orders:admin"}).permissions == ("orders:admin",)
    assert contract(**{"x-required-scope": ["a", "b"]}).permissions == ("a", "b")
    assert contract(security=secured, **{"x-required-scope": None}).permissions == ()
    assert contract(more={"security": [{"oauth": ["all"]}]}).permissions == ("all",)
    assert contract(more={"security": [{"oauth": ["all"]}]}, security=[]).permissions == ()
    assert contract(security=[{"oauth": ["all"]}, {}]).permissions == ()


@pytest.mark.parametrize("scope", [7, {"a": 1}, ["a", 7], "x" * 300])
def test_a_scope_that_cannot_be_used_costs_the_tool_rather_than_the_check(scope: Any) -> None:
    found = api({"/x": {"get": {"operationId": "it", "x-required-scope": scope, "responses": ok()}}})
    assert "invalid scope" in found.excluded[0].reason


def test_every_other_extension_is_carried_along() -> None:
    made = contract(**{"x-side-effect": "read", "x-produces": ["order"], "x-version": "1", "x-flags": {"a": [1]}})
    assert made.produces == ("order",)
    assert made.meta == {"x-version": "1", "x-flags": {"a": [1]}}
    assert contract(**{"x-produces": []}).meta == {"x-produces": []}


def test_an_extension_that_is_too_long_is_left_out_and_reported() -> None:
    found = api({"/x": {"get": {"operationId": "it", "x-samples": "x" * 5000, "responses": ok()}}})
    assert "meta" not in found.tools["it"].fields
    assert "x-samples is longer" in str(found.findings[0])


def test_declared_problems_are_the_ways_to_fail() -> None:
    found = api(ORDERS["paths"], components=ORDERS["components"])
    modes = found.tools["place_order"].fields["failure_modes"]
    assert modes == {
        "card_declined": {"class": "no_effect", "status": 402, "title": "The card was declined."},
        "card_expired": {"class": "no_effect", "status": 402, "title": "The card was declined."},
        "conflict": {"class": "no_effect", "status": 409, "title": "The item is sold out."},
        "internal_server_error": {"class": "unknown", "status": 500, "title": "The service failed."},
    }
    read_contract("place_order", found.tools["place_order"].fields)


def test_an_author_who_describes_no_problems_promises_no_closed_list() -> None:
    plain = {"404": {"description": "Not found", "content": {"application/json": {"schema": {}}}}}
    assert contract(responses={**ok(), **plain}).failure_modes == {}
    both = contract(responses={**ok(), **plain, "401": problem("Who are you?")})
    assert list(both.failure_modes) == ["not_found", "unauthorized"]


def test_a_range_stands_for_the_usual_statuses() -> None:
    modes = contract("post", responses={**ok(), "4XX": problem("no"), "404": problem("none")}).failure_modes
    assert modes["not_found"].title == "none"
    assert modes["too_many_requests"].status == 429
    assert "internal_server_error" not in modes
    everything = contract("post", responses={**ok(), "default": problem("no")}).failure_modes
    assert everything["service_unavailable"].outcome == "unknown"


def test_codes_that_several_statuses_share_name_none_of_them() -> None:
    shared = {"type": "object", "properties": {"code": {"enum": ["a", "b"]}}}
    made = contract(responses={**ok(), "404": problem("x", shared), "409": problem("y", shared)})
    assert list(made.failure_modes) == ["not_found", "conflict"]


@pytest.mark.parametrize(
    ("text", "code"),
    [("CardDeclined", "card_declined"), ("CARD_DECLINED", "card_declined"), ("out of stock!", "out_of_stock")],
)
def test_codes_are_written_one_way(text: str, code: str) -> None:
    assert tidy_code(text) == code


def test_an_idempotency_key_parameter_means_the_service_honours_keys() -> None:
    key = parameter("idempotency-key", "header")
    made = contract("post", parameters=[key])
    assert (made.idempotency.recovery, made.idempotency.forward, made.idempotency.key) == (
        "keyed",
        "header",
        "optional",
    )
    assert contract("post", parameters=[{**key, "required": True}]).idempotency.key == "auto"
    assert contract("post", parameters=[key], **{"x-side-effect": "external_spend"}).idempotency.key == "auto"
    assert contract("post", **{"x-side-effect": "external_spend"}).idempotency.recovery == "none"
    assert contract("get", parameters=[key]).idempotency.recovery == "natural"


def test_a_spend_that_takes_the_key_as_an_argument_honours_it_there() -> None:
    body = {"type": "object", "properties": {"item": {"type": "string"}, "idempotency_key": {"type": "string"}}}
    made = contract("post", requestBody=sending(body), **{"x-side-effect": "external_spend"}).idempotency
    assert (made.recovery, made.forward, made.argument) == ("keyed", "argument", "idempotency_key")
    assert contract("post", requestBody=sending(body), **{"x-side-effect": "compute"}).idempotency.argument is None


def test_another_tier_in_a_contract_file_takes_along_what_followed_from_the_first() -> None:
    key = parameter("Idempotency-Key", "header")
    operation = {"operationId": "it", "parameters": [key], "responses": {**ok(), "500": problem("Broken.")}}
    found = api({"/x": {"put": operation}, "/y": {"get": {**operation, "operationId": "look"}}})
    spend = read_contract("it", overlaid(found.tools["it"].fields, {"side_effect": "external_spend"}))
    assert (spend.overwrites, spend.idempotency.recovery, spend.idempotency.key) == (False, "keyed", "auto")
    look = found.tools["look"].fields
    assert read_contract("look", look).failure_modes["internal_server_error"].outcome == "definite"
    written = read_contract("look", overlaid(look, {"side_effect": "write"}))
    assert written.failure_modes["internal_server_error"].outcome == "unknown"
    assert overlaid(look, {"title": "Mine"}) == {**look, "title": "Mine"}


def test_title_and_category_are_the_authors_words() -> None:
    made = contract(summary="Do it.", tags=["Order handling", "x"])
    assert (made.title, made.category, made.category_label) == ("Do it.", "Order_handling", "Order handling")
    assert contract(requestBody=sending({"type": "object"})).title == "it"
