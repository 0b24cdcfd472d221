"""Does whoever writes a configuration learn what is wrong with it, and what to write instead?"""

from pathlib import Path

import pytest

from assent.config.load import parse_settings
from assent.contract.files import contract_paths
from assent.errors import ContractError, SettingsError

FAULTS = [
    ("upstreams: []", "upstreams: a set of keys is expected. Write it as {key: value}"),
    ("upstreams: {a: 3}", "upstreams.a: a set of keys is expected"),
    ("upstreams: {a: {url: host}}", "upstreams.a.url: this is not an address. Write one that begins with http://"),
    ("upstreams: {a: {command: npx files}}", "upstreams.a.command: a list is expected. Write it in brackets"),
    ('upstreams: {"a b": {url: "http://x/mcp"}}', "upstreams.a b: this is not a valid name. Use 1 to 40 letters"),
    ("contracts: contracts.yaml", "contracts: a list is expected"),
    ("mode: enforced", "mode: this value is not allowed. Write 'enforce' or 'observe'"),
    ("auth: {api_keys: [{name: ci, kind: agent}]}", "auth.api_keys.0.key: it is required. Add it"),
    (
        "auth: {anonymous: {kind: agent, roles: [boss]}}",
        "auth.anonymous.roles.0: this value is not allowed. Write 'view",
    ),
    ("limits: [{calls: 0, per: 1m}]", "limits.0.calls: it is too small. Write a number of 1 or more"),
    ("limits: [{calls: many, per: 1m}]", "limits.0.calls: a whole number is expected"),
    ("limits: [{calls: 1, per: soon}]", "limits.0.per: 'soon' is not a duration; write a whole number"),
    ("budgets: [{amount: lots, per: 1d}]", "budgets.0.amount: a number is expected"),
    ("budgets: [{amount: 5, currency: €, per: 1d}]", "budgets.0.currency: this is not a currency. Write its code"),
    (
        "guards: [{rule: allow_domains, domain: [x.org]}]",
        "guards.0.domain: there is no such key. Did you mean domains?",
    ),
    ("guards: [{rule: allow_domains}]", "guards.0.domains: it is required. Add it"),
]


@pytest.mark.parametrize(("text", "said"), FAULTS, ids=[text for text, _ in FAULTS])
def test_a_wrong_value_is_named_with_its_place_and_what_to_write(text: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings(text, "assent.yaml")
    assert f"assent.yaml:1: {said}" in str(caught.value)


def test_no_message_repeats_a_key_that_came_from_the_environment() -> None:
    text = 'auth: {api_keys: [{name: ci, kind: "${KEY}", key: [x, "${KEY}"]}]}\npublic_url: "${KEY}"'
    with pytest.raises(SettingsError) as caught:
        parse_settings(text, "assent.yaml", {"KEY": "sesame-42"})
    assert len(caught.value.faults) == 3
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize("written", ["${X Y}", "a ${X", "${}", "${1X}", "${env:X}", "${X-y}"])
def test_a_malformed_reference_to_the_environment_is_refused_and_not_taken_as_it_is(written: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_settings(
            f'upstreams: {{a: {{url: "http://x/mcp", headers: {{K: "{written}"}}}}}}', "assent.yaml", {"X": "1"}
        )
    assert "assent.yaml:1: upstreams.a.headers.K: the text after ${ is not a variable name" in str(caught.value)
    assert written not in str(caught.value)


def test_a_dollar_sign_more_keeps_a_brace_as_it_is() -> None:
    text = 'guards: [{rule: block_keywords, keywords: ["$${jndi:", "$$5 ${X}"]}]'
    assert parse_settings(text, environment={"X": "1"}).guards[0]["keywords"] == ["${jndi:", "$$5 1"]


def test_a_pattern_that_matches_no_contract_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="`assent contract init TARGET` prints it"):
        contract_paths(tmp_path / "contracts" / "*.yaml")
    with pytest.raises(ContractError, match="no file of this name"):
        contract_paths(tmp_path / "contracts.yaml")
