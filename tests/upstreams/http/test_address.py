"""Which addresses and headers an upstream may have."""

import pytest

from assent.upstreams.http.address import BadAddress, UpstreamAddress, render_fields


def test_a_url_gives_host_port_path_and_authority() -> None:
    target = UpstreamAddress.of("http://[::1]:9000/mcp?x=1")
    assert (target.host, target.port, target.path, target.authority) == (
        "::1",
        9000,
        b"/mcp?x=1",
        b"[::1]:9000",
    )


def test_https_has_its_own_port_and_one_verifying_context() -> None:
    target = UpstreamAddress.of("https://example.com")
    assert target.tls is not None
    assert (target.port, target.tls.check_hostname, target.path) == (443, True, b"/")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ftp://example.com", "not an http"),
        ("http:///mcp", "not an http"),
        ("example.com/mcp", "not an http"),
        ("http://user:secret@example.com/", "credentials"),
        ("http://example.com/#x", "fragment"),
        ("http://example.com/a b", "percent-encoded"),
        ("http://example.com:0/", "port 0"),
        ("http://example.com:99999/", "not an http.*Port out of range"),
        ("http://example.com:http/", "not an http"),
        ("http://[::1/mcp", "not an http.*Invalid IPv6"),
        ("http://bücher.example/", "xn--"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused_in_words(url: str, words: str) -> None:
    with pytest.raises(BadAddress, match=words):
        UpstreamAddress.of(url)


@pytest.mark.parametrize(
    ("name", "value"),
    [("x", "a\r\nevil: 1"), ("x y", "a"), ("x\r\n", "a"), ("", "a"), ("x", "a\x00"), ("Host", "evil")],
)
def test_a_configured_header_that_could_change_the_request_is_refused(name: str, value: str) -> None:
    with pytest.raises(BadAddress):
        UpstreamAddress.of("http://127.0.0.1/", {name: value})


@pytest.mark.parametrize("value", [b"a\r\nevil: 1", b"a\nevil: 1", b"a\revil", b"a\x00"])
def test_a_passed_on_header_that_could_end_its_line_is_refused(value: bytes) -> None:
    with pytest.raises(BadAddress):
        render_fields([(b"mcp-name", value), (b"accept", b"*/*")])
