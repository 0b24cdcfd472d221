"""HTTP challenges name everything that is needed at once, and only to callers who can use them."""

from __future__ import annotations

import pytest

from assent.core.outcome import Refusal
from assent.core.principal import Principal
from assent.gateway.auth.challenges import challenge

OAUTH = Principal("ann", "agent", bearer=True)
KEYED = Principal("ci", "agent")
METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource"


def test_nobody_is_challenged_with_the_place_to_become_somebody() -> None:
    assert challenge(Refusal("authenticate.missing"), None, METADATA) == (
        401,
        f'Bearer resource_metadata="{METADATA}"',
    )
    assert challenge(Refusal("authenticate.invalid"), None, None) == (401, 'Bearer error="invalid_token"')


def test_missing_scopes_are_named_all_at_once() -> None:
    refusal = Refusal(
        "authorize.missing_permissions",
        "place needs b.",
        missing_permissions=["b"],
        required_permissions=["a", "b"],
    )
    assert challenge(refusal, OAUTH, None) == (
        403,
        'Bearer error="insufficient_scope", error_description="place needs b.", scope="a b"',
    )


def test_a_weak_login_is_challenged_with_what_it_lacks() -> None:
    refusal = Refusal("step_up.required", "Log in again.", acr_values=["mfa", "hwk"], max_age=300)
    assert challenge(refusal, OAUTH, None) == (
        401,
        'Bearer error="insufficient_user_authentication", error_description="Log in again.", '
        'acr_values="mfa hwk", max_age="300"',
    )


@pytest.mark.parametrize("code", ["authorize.missing_permissions", "step_up.required"])
def test_callers_with_keys_get_problems_instead(code: str) -> None:
    assert challenge(Refusal(code, required_permissions=[]), KEYED, None) is None


def test_other_refusals_are_no_challenge() -> None:
    assert challenge(Refusal("guard.denied"), OAUTH, METADATA) is None


def test_nothing_in_a_challenge_can_end_its_string_or_its_header() -> None:
    refusal = Refusal("step_up.required", 'a" b\r\nSet-Cookie: x\\', max_age=1)
    said = challenge(refusal, OAUTH, None)
    assert said is not None
    assert said[1].startswith('Bearer error="insufficient_user_authentication", error_description="a\\" b??Set-Cookie')
    assert "\n" not in said[1]
