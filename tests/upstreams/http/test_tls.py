"""Upstreams behind TLS: one context each, certificates checked."""

import datetime
import ipaddress
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from assent.upstreams.errors import Unreachable
from assent.upstreams.http.address import UpstreamAddress
from assent.upstreams.http.circuit_breaker import CircuitBreaker
from assent.upstreams.http.pool import Limits, Pool
from support.servers.scripted_server import ScriptedServer, echo


def certificate(folder: Path, address: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context with a certificate for `address`, and a client's that trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    start = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + datetime.timedelta(days=36500))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    return server, ssl.create_default_context(cafile=path)


async def post(url: str, tls: ssl.SSLContext | None) -> bytes:
    pool = Pool("shop", UpstreamAddress.of(url, tls=tls), Limits(), CircuitBreaker("shop", lambda: 0.0))
    try:
        return await (await pool.send(b"POST", (), b"hi")).read(100)
    finally:
        await pool.close()


async def test_a_trusted_certificate_is_accepted(tmp_path: Path) -> None:
    server_side, client_side = certificate(tmp_path, "127.0.0.1")
    async with ScriptedServer(echo, server_side) as server:
        assert await post(server.url, client_side) == b"hi"


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"], ids=["unknown issuer", "another name"])
async def test_a_certificate_that_does_not_fit_is_unreachable_and_nothing_was_sent(
    address: str, tmp_path: Path
) -> None:
    server_side, client_side = certificate(tmp_path, address)
    async with ScriptedServer(echo, server_side) as server:
        with pytest.raises(Unreachable) as refused:
            await post(server.url, client_side if address != "127.0.0.1" else None)
        assert not refused.value.sent
        assert server.requests == []
