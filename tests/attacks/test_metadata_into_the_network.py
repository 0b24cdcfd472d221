"""The metadata of an upstream outside does not lead the gateway to addresses of its own machine or network."""

from __future__ import annotations

import pytest

from assent.upstreams.errors import OAuthProblem
from assent.upstreams.oauth.discovery import check_address

OUTSIDE = "https://mcp.example.com/mcp"


@pytest.mark.parametrize(
    "host",
    [
        "localhost.",
        "a.localhost",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "127.1",
        "2130706433",
        "0x7f.1",
        "127.0.0.1.",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.1.1",
        "[fe80::1]",
        "[::]",
        "[::1]",
        "[fd00::1]",
    ],
)
def test_an_upstream_outside_names_no_address_inside(host: str) -> None:
    with pytest.raises(OAuthProblem, match="leads to this machine or network"):
        check_address(f"https://{host}/token", OUTSIDE)


def test_addresses_outside_and_those_beside_an_upstream_inside_are_used() -> None:
    check_address("https://id.example.com/token", OUTSIDE)
    check_address("https://1.1.1.1/token", OUTSIDE)
    check_address("https://10.0.0.2/token", "https://10.0.0.1/mcp")
    check_address("http://127.0.0.1:9000/token", "http://localhost:8000/mcp")
    with pytest.raises(OAuthProblem, match="https://"):
        check_address("http://10.0.0.2/token", "http://10.0.0.1/mcp")
