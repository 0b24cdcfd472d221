"""Who is a caller that the SDK has authenticated?"""

from __future__ import annotations

import pytest
from mcp.server.auth.provider import AccessToken

from assent.library.governance import _principal_of_token


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
    assert _principal_of_token(one).id != _principal_of_token(other).id


def test_a_person_is_the_same_through_every_client() -> None:
    assert _principal_of_token(token("app", subject="ann")).id == _principal_of_token(token("web", subject="ann")).id
