"""An application cannot make the host that gets the answer look like another one."""

from __future__ import annotations

import pytest
from mcp.server.auth.provider import RegistrationError

from assent.people.authorization_server.clients import check_redirect


@pytest.mark.parametrize(
    "uri",
    [
        "https://claude.ai@evil.example/back",
        "https://claude.ai:443@evil.example/back",
        "http://claude.ai@127.0.0.1:8000/back",
        "https://claude.ai/#back",
        "javascript:alert(1)",
        "http://claude.ai/back",
    ],
)
def test_a_disguised_redirect_address_is_refused(uri: str) -> None:
    with pytest.raises(RegistrationError):
        check_redirect(uri)


@pytest.mark.parametrize("uri", ["https://claude.ai/back?a=b", "http://127.0.0.1:8000/back", "cursor://app/back"])
def test_ordinary_redirect_addresses_are_taken(uri: str) -> None:
    check_redirect(uri)
