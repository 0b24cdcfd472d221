"""A function carries its contract; keywords mean what a file means."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import assent
from assent.contract.decorator import contract, contract_of
from assent.errors import ContractError
from support.documents.contract_examples import FULL, FULL_YAML, parse_contracts


def test_keywords_and_a_file_give_the_same_contract_with_the_same_digest() -> None:
    @contract(**FULL)
    def place_order() -> None: ...

    made = contract_of(place_order, "place_order")
    read = parse_contracts(FULL_YAML)["place_order"]
    assert made == read
    assert made is not None
    assert made.digest == read.digest


def test_the_function_comes_back_as_it_was() -> None:
    def plain() -> int:
        return 5

    assert contract(side_effect="read")(plain) is plain
    assert plain() == 5


def test_the_name_is_the_one_it_is_registered_under_unless_the_contract_gives_one() -> None:
    @contract(side_effect="read")
    def one() -> None: ...

    @contract(name="files.two", side_effect="read")
    def two() -> None: ...

    found = contract_of(one, "anything"), contract_of(two, "anything")
    assert [made.name for made in found if made] == ["anything", "files.two"]


def test_a_decorator_without_parentheses_is_told_what_to_write() -> None:
    with pytest.raises(ContractError, match=r"Write @contract\(side_effect=\.\.\.\)"):
        contract(lambda: None)


def test_a_function_without_a_contract_has_none() -> None:
    assert contract_of(lambda: None, "x") is None
    assert contract_of(functools.partial(print), "x") is None


def test_a_contradiction_is_raised_where_it_is_written() -> None:
    with pytest.raises(ContractError, match=r"tool.overwrites: only a write can overwrite"):
        contract(side_effect="read", overwrites=True)
    with pytest.raises(ContractError, match=r"side_efect: there is no such field. Did you mean side_effect\?"):
        contract(side_efect="read")


class Shop:
    @contract(side_effect="read", title="Stock")
    def stock(self) -> int:
        return 1

    @staticmethod
    @contract(side_effect="read", title="Static")
    def static() -> None: ...

    @classmethod
    @contract(side_effect="read", title="Class")
    def class_method(cls) -> None: ...

    def __call__(self) -> None: ...


def test_methods_carry_their_contracts() -> None:
    shop = Shop()
    found = [contract_of(function, "x") for function in (shop.stock, Shop.stock, shop.static, Shop.class_method)]
    assert [made.title for made in found if made] == ["Stock", "Stock", "Static", "Class"]


def test_a_bound_method_and_a_callable_object_can_be_decorated_afterwards() -> None:
    shop = Shop()
    contract(side_effect="read", title="Object")(shop)
    contract(side_effect="read", title="Again")(shop.stock)
    try:
        found = contract_of(shop, "x"), contract_of(shop.stock, "x")
    finally:
        contract(side_effect="read", title="Stock")(shop.stock)
    assert [made.title for made in found if made] == ["Object", "Again"]


def test_a_partial_function_carries_its_own_contract_or_that_of_what_it_wraps() -> None:
    @contract(side_effect="read", title="Inner")
    def inner(number: int) -> int:
        return number

    bare = functools.partial(inner, 1)
    own = contract(side_effect="write", title="Own")(functools.partial(inner, 2))
    found = [contract_of(function, "x") for function in (bare, own, inner)]
    assert [made.title for made in found if made] == ["Inner", "Own", "Inner"]


def test_a_wrapper_that_keeps_a_functions_attributes_keeps_its_contract() -> None:
    @contract(side_effect="read")
    def inner() -> None: ...

    @functools.wraps(inner)
    def outer(*args: Any) -> None: ...

    assert contract_of(outer, "x") is not None


def test_what_cannot_carry_a_contract_is_refused() -> None:
    with pytest.raises(ContractError, match=r"cannot carry a contract. Wrap it in a function"):
        contract(side_effect="read")(len)


def test_a_declaration_does_not_change_with_the_objects_it_was_made_from() -> None:
    permissions = ["orders:read"]
    schema: dict[str, Any] = {"type": "object", "properties": {}}

    @contract(side_effect="read", permissions=permissions, input=schema)
    def tool() -> None: ...

    permissions.append("orders:write")
    schema["properties"]["later"] = {}
    made = contract_of(tool, "tool")
    assert made is not None
    assert (made.permissions, made.input) == (("orders:read",), {"type": "object", "properties": {}})


def test_the_package_offers_the_decorator() -> None:
    assert assent.contract is contract
