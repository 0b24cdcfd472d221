"""A one-time secret is shown once: nothing of it is left in what is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent.core.one_time_secrets import ALREADY_DELIVERED, WITHHELD, without_secrets
from support.documents.contract_examples import contract_with
from support.suite.hypothesis_profile import json_values, thorough

CANARY = "canary-7f3a"


def result_of(structured: Any, **more: Any) -> dict[str, Any]:
    """A result as tools give it: the text repeats the structure."""
    content = [{"type": "text", "text": json.dumps(structured)}]
    return {"content": content, "structuredContent": structured, **more}


@pytest.mark.parametrize(
    ("pointers", "structured", "emptied"),
    [
        (["/token"], {"token": CANARY, "id": 1}, {"token": "", "id": 1}),
        (["/download/token"], {"download": {"token": CANARY}}, {"download": {"token": ""}}),
        (["/a", "/b"], {"a": CANARY, "b": CANARY}, {"a": "", "b": ""}),
        (["/keys/*"], {"keys": [CANARY, CANARY]}, {"keys": ["", ""]}),
        (["/keys/*/value"], {"keys": [{"value": CANARY}, {"id": 1}]}, {"keys": [{"value": ""}, {"id": 1}]}),
        (["/keys/0"], {"keys": [CANARY, "kept"]}, {"keys": ["", "kept"]}),
        (["/by/*"], {"by": {"*": CANARY, "x": CANARY}}, {"by": {"*": "", "x": ""}}),
        (["/pin"], {"pin": 4711}, {"pin": None}),
        (["/whole"], {"whole": {"token": CANARY}}, {"whole": None}),
        (["/list"], {"list": [CANARY]}, {"list": None}),
        (["/a~1b/c~0d"], {"a/b": {"c~d": CANARY}}, {"a/b": {"c~d": ""}}),
        (["/token", "/token/deeper"], {"token": CANARY}, {"token": ""}),
        (["/outer", "/outer/token"], {"outer": {"token": CANARY}}, {"outer": None}),
        (["/none/at/all"], {"id": 1}, {"id": 1}),
    ],
)
def test_secrets_are_emptied_wherever_the_contract_points(pointers: list[str], structured: Any, emptied: Any) -> None:
    kept = without_secrets(contract_with(secrets=pointers), result_of(structured))
    assert kept["structuredContent"] == emptied
    assert json.loads(kept["content"][0]["text"]) == emptied
    assert kept["_meta"] == {ALREADY_DELIVERED: pointers}
    assert CANARY not in json.dumps(kept)


def test_a_result_of_text_alone_is_withheld_whole() -> None:
    result = {"content": [{"type": "text", "text": f"Your key is {CANARY}"}, {"type": "image", "data": CANARY}]}
    kept = without_secrets(contract_with(secrets=["/token"]), result)
    assert kept == {"content": [{"type": "text", "text": WITHHELD}], "_meta": {ALREADY_DELIVERED: ["/token"]}}


def test_other_blocks_that_might_repeat_a_secret_are_not_kept() -> None:
    result = result_of({"token": CANARY})
    result["content"].append({"type": "resource_link", "uri": f"https://example.com/?t={CANARY}"})
    assert CANARY not in json.dumps(without_secrets(contract_with(secrets=["/token"]), result))


def test_the_first_answer_is_left_as_it_is() -> None:
    result = result_of({"token": CANARY, "deep": [{"a": 1}]}, _meta={"own": 1})
    before = json.dumps(result)
    kept = without_secrets(contract_with(secrets=["/token"]), result)
    assert json.dumps(result) == before
    assert kept["_meta"] == {"own": 1, ALREADY_DELIVERED: ["/token"]}


def test_without_secrets_a_result_is_kept_as_it_is() -> None:
    result = result_of({"token": "not a secret"})
    assert without_secrets(contract_with(), result) is result


def test_an_error_is_kept_so_that_a_retry_learns_of_it() -> None:
    made = contract_with(secrets=["/token"])
    text = {"content": [{"type": "text", "text": "No such file"}], "isError": True}
    structured = result_of({"code": "no_file"}, isError=True)
    assert without_secrets(made, text) is text
    assert without_secrets(made, structured) is structured


def test_an_error_that_holds_a_secret_after_all_is_emptied() -> None:
    kept = without_secrets(
        contract_with(secrets=["/token"]), result_of({"code": "late", "token": CANARY}, isError=True)
    )
    assert kept["structuredContent"] == {"code": "late", "token": ""}
    assert CANARY not in json.dumps(kept)


@thorough
@given(json_values(leaves=10), st.lists(st.sampled_from(["a", "b", "0", "*"]), min_size=1, max_size=4))
def test_a_secret_is_gone_wherever_it_stood(document: Any, path: list[str]) -> None:
    structured: Any = CANARY
    for token in reversed(path):
        structured = [structured] if token in ("0", "*") else {token: structured, "other": document}
    kept = without_secrets(contract_with(secrets=["/" + "/".join(path)]), result_of(structured))
    assert CANARY not in json.dumps(kept)
