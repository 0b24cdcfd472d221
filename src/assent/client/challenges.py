"""Recognises HTTP challenges: 401 and 403 answers, which the SDK's client reports as errors without a status.

Hooks on the HTTP client keep the last challenge of each exchange. A context variable ties an HTTP request to the
call it belongs to: the SDK sends each message in the context of its caller.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
import orjson
from mcp.client.auth.utils import extract_field_from_www_auth

from assent.core.outcome import Refusal

T = TypeVar("T")
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
_MOST_VALUES = 50


class Challenged(Refusal):
    """The server needs other credentials for this request and started nothing."""

    login_tried = False
    """Whether the login hook was called for it, without success."""

    @property
    def scopes(self) -> list[str]:
        """All scopes that the request needs, as the server listed them."""
        return list(self.facts.get("required_permissions", ()))

    @property
    def acr_values(self) -> list[str]:
        """The login methods of which the server requires one."""
        return list(self.facts.get("acr_values", ()))

    @property
    def max_age(self) -> int | None:
        """Maximum age of the login in seconds."""
        return self.facts.get("max_age")

    @property
    def resource_metadata(self) -> str | None:
        """URL of the metadata that lists the authorization servers."""
        return self.facts.get("resource_metadata")


@dataclass(slots=True)
class Exchange:
    """HTTP challenges to the requests of one call."""

    challenge: Challenged | None = None


_current: ContextVar[Exchange | None] = ContextVar("assent_exchange", default=None)


@contextmanager
def exchange() -> Iterator[Exchange]:
    """Record challenges to the requests made in this block."""
    token = _current.set(made := Exchange())
    try:
        yield made
    finally:
        _current.reset(token)


async def unless_challenged(request: Awaitable[T]) -> T:
    """Return the answer; raise Challenged if the request failed because of a challenge."""
    with exchange() as seen:
        try:
            return await request
        except Exception as error:
            if seen.challenge is not None:
                raise seen.challenge from error
            raise


def watch_http(client: Any) -> None:
    """Install the hooks on the HTTP client that an SDK client was given, if there is one."""
    server = getattr(client, "server", None)
    given = (*getattr(server, "args", ()), *getattr(server, "kwds", {}).values())
    for one in given:
        if isinstance(one, httpx2.AsyncClient):
            hook_into(one)


def hook_into(http: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """Install the hooks once on the HTTP client and return it."""
    for name, hook in (("request", forget_challenge), ("response", keep_challenge)):
        hooks = http.event_hooks.setdefault(name, [])
        if hook not in hooks:
            hooks.append(hook)
    return http


async def forget_challenge(request: httpx2.Request) -> None:
    """Request hook: drop the challenge to an earlier request."""
    current = _current.get()
    if current is not None and _is_message(request):
        current.challenge = None


async def keep_challenge(response: httpx2.Response) -> None:
    """Response hook: record what a 401 or 403 asks for."""
    current = _current.get()
    if current is not None and response.status_code in (401, 403) and _is_message(response.request):
        current.challenge = _read(response)


def _is_message(request: httpx2.Request) -> bool:
    """Whether it is a JSON-RPC request of this client, not a notification or a token request."""
    if request.method != "POST" or b'"jsonrpc"' not in request.content:
        return False
    try:
        return "id" in orjson.loads(request.content)
    except (ValueError, TypeError):
        return False


def _read(response: httpx2.Response) -> Challenged:
    error = extract_field_from_www_auth(response, "error")
    scopes, acr = _values(response, "scope"), _values(response, "acr_values")
    metadata = extract_field_from_www_auth(response, "resource_metadata") or ""
    facts: dict[str, Any] = {"resource_metadata": metadata} if _SCOPE.fullmatch(metadata) else {}
    if response.status_code == 403:
        facts |= {"required_permissions": scopes} if scopes else {}
        return Challenged("authorize.missing_permissions", _wants("these scopes", scopes), **facts)
    if error != "insufficient_user_authentication":
        code = "authenticate.invalid" if error == "invalid_token" else "authenticate.missing"
        return Challenged(code, "The server does not accept the credentials (HTTP 401). Nothing was started.", **facts)
    age = extract_field_from_www_auth(response, "max_age") or ""
    facts |= {"acr_values": acr} if acr else {}
    facts |= {"max_age": int(age)} if age.isascii() and age.isdigit() and len(age) < 10 else {}
    return Challenged("step_up.required", _wants("a login by one of", acr, "a newer or stronger login"), **facts)


def _values(response: httpx2.Response, field: str) -> list[str]:
    """Return the values that the challenge lists: plain words, limited in number and length."""
    said = (extract_field_from_www_auth(response, field) or "").split(" ")
    return [value for value in said if _SCOPE.fullmatch(value)][:_MOST_VALUES]


def _wants(what: str, values: list[str], otherwise: str = "other permissions") -> str:
    wanted = f"{what}: {', '.join(values)}" if values else otherwise
    return f"For this call the server wants {wanted}. Nothing was started."
