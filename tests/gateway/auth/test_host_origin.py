"""Which Host and Origin are let in."""

import pytest

from assent.gateway.auth.host_origin import HostOriginPolicy

LOOPBACK = HostOriginPolicy()
PUBLIC = HostOriginPolicy(["https://mcp.example.com", "http://gate.example.com:8420"], loopback=False)


@pytest.mark.parametrize("host", [b"localhost", b"127.0.0.1:8420", b"[::1]:1", b"[::1]", b"LOCALHOST:80"])
def test_names_of_this_machine_are_let_in_with_any_port(host: bytes) -> None:
    assert LOOPBACK.refuse(host, None) is None


@pytest.mark.parametrize(
    "host",
    [
        b"evil.example",
        b"evil.example:8420",
        b"localhost.evil.example",
        b"127.0.0.1.evil.example",
        b"localhost@evil.example",
        b"evil.example:80@localhost",
        b"localhost, evil.example",
        b"localhost:8420:1",
        b"127.0.0.2",
        b"0.0.0.0:8420",
        b"localhost.",
        b"",
        None,
    ],
)
def test_any_other_host_is_misdirected(host: bytes | None) -> None:
    assert LOOPBACK.refuse(host, None) == (421, "Invalid Host header")


@pytest.mark.parametrize("origin", [b"http://localhost:3000", b"https://127.0.0.1", b"http://[::1]:8420"])
def test_pages_of_this_machine_may_call(origin: bytes) -> None:
    assert LOOPBACK.refuse(b"localhost", origin) is None


@pytest.mark.parametrize(
    "origin",
    [
        b"http://evil.example",
        b"null",
        b"",
        b"http://localhost.evil.example",
        b"file://",
        b"http://localhost:1/x",
        b"http://localhost, http://evil.example",
        b"chrome-extension://localhost",
    ],
)
def test_any_other_origin_is_forbidden(origin: bytes) -> None:
    assert LOOPBACK.refuse(b"localhost", origin) == (403, "Invalid Origin header")


@pytest.mark.parametrize("host", [b"mcp.example.com", b"mcp.example.com:443", b"gate.example.com:8420"])
def test_public_names_are_let_in_with_their_own_port(host: bytes) -> None:
    assert PUBLIC.refuse(host, None) is None


@pytest.mark.parametrize("host", [b"mcp.example.com:80", b"gate.example.com", b"localhost", b"127.0.0.1:8420"])
def test_other_ports_and_this_machine_are_not_implied_by_a_public_name(host: bytes) -> None:
    assert PUBLIC.refuse(host, None) is not None


def test_the_origin_of_a_public_name_must_be_exact() -> None:
    assert PUBLIC.refuse(b"mcp.example.com", b"https://mcp.example.com") is None
    assert PUBLIC.refuse(b"mcp.example.com", b"http://mcp.example.com") is not None
