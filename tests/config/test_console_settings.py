"""The section `console` of the configuration."""

from __future__ import annotations

from typing import Any

import pytest

from assent.config.load import parse_settings
from assent.contract.yaml_document import write_yaml
from assent.errors import SettingsError

OIDC = {"issuer": "https://login.example.com", "client_id": "c", "groups": {"on-call": "approver"}}


def parsed(**console: Any) -> Any:
    return parse_settings(write_yaml({"console": console})).console


def test_a_provider_needs_issuer_client_and_groups_and_asks_for_openid() -> None:
    found = parsed(oidc={**OIDC, "scopes": ["email"]}).oidc
    assert found.scopes == ("openid", "email") and found.tenant == "local"


@pytest.mark.parametrize(
    ("console", "field"),
    [
        ({"oidc": {**OIDC, "isuer": "x"}}, "console.oidc.isuer"),
        ({"oidc": {**OIDC, "issuer": "http://login.example.com"}}, "console.oidc.issuer"),
        ({"oidc": {**OIDC, "issuer": "https://login.example.com?x"}}, "console.oidc.issuer"),
        ({"oidc": {**OIDC, "groups": {}}}, "console.oidc.groups"),
        ({"oidc": {**OIDC, "groups": {"a": "king"}}}, "console.oidc.groups.a"),
        ({"oidc": {**OIDC, "algorithms": ["HS256"]}}, "console.oidc.algorithms.0"),
        ({"step_up": {"risks": []}}, "console.step_up.risks"),
        ({"step_up": {"max_age": 0}}, "console.step_up.max_age"),
        ({"step_up": {"acr": "mfa"}}, "console.step_up.acr"),
        ({"theme": "dark"}, "console.theme"),
    ],
)
def test_what_is_unknown_or_unsafe_is_an_error_at_its_place(console: dict[str, Any], field: str) -> None:
    with pytest.raises(SettingsError) as wrong:
        parsed(**console)
    assert [fault.field for fault in wrong.value.faults] == [field]


def test_step_up_is_asked_by_risk() -> None:
    found = parse_settings(write_yaml({"console": {"step_up": {"risks": ["high", "critical"], "max_age": "2m"}}}))
    assert {risk: spec.max_age for risk, spec in found.approver_step_up().items()} == {"high": 120, "critical": 120}
    assert parse_settings("{}").approver_step_up() == {}
