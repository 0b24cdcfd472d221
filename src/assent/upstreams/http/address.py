"""The address of an upstream, and the first lines of every request to it."""

import re
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_FIELD_VALUE = re.compile(rb"[\x20-\x7e\x80-\xff\t]*")
_PATH = re.compile(rb"[\x21-\x7e]+")
# Only the gateway sets the framing: with a configured or relayed copy, two readers could disagree.
_RESERVED = {b"host", b"content-length", b"transfer-encoding", b"connection", b"expect", b"upgrade", b"te"}

Fields = Iterable[tuple[bytes, bytes]]


class BadAddress(ValueError):
    """The address or a header of an upstream cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class UpstreamAddress:
    """An upstream's address, its TLS context (made once) and its configured headers."""

    host: str
    port: int
    path: bytes
    authority: bytes
    tls: ssl.SSLContext | None
    fields: bytes

    @classmethod
    def of(
        cls, url: str, headers: Mapping[str, str] | None = None, tls: ssl.SSLContext | None = None
    ) -> "UpstreamAddress":
        parts = _split(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadAddress(f"{url!r} is not an http:// or https:// address")
        if parts.username is not None or parts.password is not None:
            raise BadAddress("credentials do not belong in an upstream's URL; use its `headers`")
        if parts.fragment:
            raise BadAddress(f"{url!r} has a fragment, which is never sent to a server")
        path = ((parts.path or "/") + (f"?{parts.query}" if parts.query else "")).encode()
        if not _PATH.fullmatch(path):
            raise BadAddress(f"{url!r} has characters in its path that must be percent-encoded")
        secure = parts.scheme == "https"
        return cls(
            host=parts.hostname,
            port=_port(url, parts.port, secure),
            path=path,
            authority=_authority(parts.hostname, parts.port),
            tls=(tls or ssl.create_default_context()) if secure else None,
            fields=render_fields(
                check_fields((name.encode(), value.encode()) for name, value in (headers or {}).items())
            ),
        )

    @property
    def url(self) -> str:
        """The whole address, to which a relative one can be joined."""
        return self.loggable + self.path.decode()

    @property
    def loggable(self) -> str:
        """The address for a log: without path and query, which may contain a secret."""
        return f"{'https' if self.tls is not None else 'http'}://{self.authority.decode()}"

    @property
    def has_credentials(self) -> bool:
        return b"\r\nauthorization:" in b"\r\n" + self.fields.lower()

    def head(self, method: bytes, path: bytes | None = None) -> bytes:
        """The request line, `Host` and configured headers; the caller adds its own and the blank line."""
        return b"%b %b HTTP/1.1\r\nhost: %b\r\n%b" % (method, path or self.path, self.authority, self.fields)


def render_fields(fields: Fields) -> bytes:
    """Write header lines with valid names; refuse a value that could end its line."""
    lines = [b"%b: %b\r\n" % field for field in fields]
    text = b"".join(lines)
    if text.count(b"\n") != len(lines) or text.count(b"\r") != len(lines) or b"\0" in text:
        raise BadAddress("a header has a line break in its value")
    return text


def check_fields(fields: Fields) -> Fields:
    """Refuse configured headers that HTTP does not allow, or that would change the framing."""
    checked = list(fields)
    for name, value in checked:
        if not _TOKEN.fullmatch(name) or not _FIELD_VALUE.fullmatch(value):
            raise BadAddress(f"header {name[:64]!r} has a name or value that HTTP does not allow")
        if name.lower() in _RESERVED:
            raise BadAddress(f"header {name.decode()} is set by the gateway itself")
    return checked


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise BadAddress(f"{url!r} is not an http:// or https:// address: {error}") from None
    return parts


def _port(url: str, port: int | None, secure: bool) -> int:
    if port == 0:
        raise BadAddress(f"{url!r} has port 0")
    return port or (443 if secure else 80)


def _authority(host: str, port: int | None) -> bytes:
    name = f"[{host}]" if ":" in host else host
    try:
        return (f"{name}:{port}" if port else name).encode("ascii")
    except UnicodeEncodeError:
        raise BadAddress(f"host {host!r} must be written in ASCII (its `xn--` form)") from None
