"""Routes requests to `/api/` and answers with problem details where no operation applies."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from assent.core.outcome import Refusal
from assent.errors import StoreError
from assent.gateway.auth.challenges import Challenge
from assent.gateway.generation import Generation
from assent.gateway.state import GatewayState
from assent.mcp import strict_json
from assent.people.api.inputs import check_body, read_query
from assent.people.api.openapi import document
from assent.people.api.problems import ApiProblem, answer
from assent.people.api.routes import ID, PATTERNS, ApiRequest, Route
from assent.people.api.table import ROUTES
from assent.web.asgi import App, Headers, Receive, Scope, Send
from assent.web.http import BodyTooLarge, Disconnected, read_body

logger = logging.getLogger(__name__)

BOUNDS = strict_json.JsonLimits(size=1024 * 1024, depth=32)
_PATTERNS = [(route.pattern, route) for route in ROUTES]


class ApiApp:
    """Everything under `/api`; other paths are for `other`."""

    def __init__(self, gateway: GatewayState, other: App) -> None:
        self._gateway, self._other = gateway, other

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (scope["path"] == "/api" or scope["path"].startswith("/api/")):
            return await self._other(scope, receive, send)
        try:
            status, value, fields = await self._said(scope, receive)
        except Disconnected:
            return
        await answer(send, status, value, fields)

    async def _said(self, scope: Scope, receive: Receive) -> tuple[int, dict[str, Any], Headers]:
        try:
            return 200, await self._answered(scope, receive), []
        except Refusal as refusal:
            return refusal.status, refusal.problem(), []
        except Challenge as challenge:
            return challenge.status, challenge.problem, challenge.fields
        except ApiProblem as problem:
            said = problem
        except StoreError:
            said = ApiProblem("api.unavailable")
        except Disconnected:
            raise
        except Exception:
            logger.exception("a request to the API could not be answered")
            said = ApiProblem("api.failed")
        return said.status, said.problem(), said.fields

    async def _answered(self, scope: Scope, receive: Receive) -> dict[str, Any]:
        generation = self._gateway.current
        self._check_doors(generation, scope["headers"])
        route, names = _found(scope)
        if route.handler is None:
            read_query(route, scope["query_string"])
            return document(generation.settings.public_url.rstrip("/"))
        principal = await generation.rulebook.authenticator.authenticate(scope["headers"], scope)
        query = read_query(route, scope["query_string"])
        body = await _body(route, scope["headers"], receive)
        found = _names(route, names)
        return await route.handler(ApiRequest(principal, generation.ports, found, query, body, gateway=self._gateway))

    def _check_doors(self, generation: Generation, headers: Headers) -> None:
        refused = generation.rulebook.authenticator.host_policy().refuse_headers(headers)
        if refused is not None:
            raise ApiProblem("api.wrong_host" if refused[0] == 421 else "api.foreign_origin", f"{refused[1]}.")


def _found(scope: Scope) -> tuple[Route, dict[str, str]]:
    """The operation of a path and method. The path is split as it was sent: an encoded slash parts nothing."""
    path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
    found = [(route, match.groupdict()) for pattern, route in _PATTERNS if (match := pattern.fullmatch(path))]
    if not found:
        raise ApiProblem("api.not_found")
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    for route, names in found:
        if route.method == method:
            return route, names
    allowed = sorted({route.method for route, _ in found} | ({"HEAD"} if found[0][0].method == "GET" else set()))
    raise ApiProblem("api.method_not_allowed", "", [(b"allow", ", ".join(allowed).encode())])


def _names(route: Route, written: Mapping[str, str]) -> dict[str, str]:
    """The names in a path. One that nothing can have is as unknown as any other, and no store is asked for it."""
    names = {name: unquote(value, errors="replace") for name, value in written.items()}
    for name, value in names.items():
        if not re.fullmatch(PATTERNS.get(name, ID), value):
            raise ApiProblem("api.unknown") if route.missing == "api.unknown" else Refusal(route.missing)
    return names


async def _body(route: Route, headers: Headers, receive: Receive) -> dict[str, Any]:
    """The JSON object of a POST. Only this content type is taken: no page can send it without being asked first."""
    if route.body is None:
        return {}
    kinds = [value.partition(b";")[0].strip().lower() for name, value in headers if name == b"content-type"]
    if kinds != [b"application/json"]:
        raise ApiProblem("api.not_json")
    try:
        raw = await read_body(headers, receive, BOUNDS.size)
        value = strict_json.parse(raw, BOUNDS) if raw or route.body.get("required") else {}
    except BodyTooLarge:
        fields = [(b"connection", b"close")]
        raise ApiProblem("api.too_large", f"At most {BOUNDS.size} bytes are taken.", fields) from None
    except strict_json.Malformed as error:
        raise ApiProblem("api.malformed", f"The body is no JSON we read: {error}.") from None
    return check_body(route, value)
