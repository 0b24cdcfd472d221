"""Routes requests to `/api/` and answers with problem details where no operation applies."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import unquote

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from assent.core.outcome import Refusal
from assent.errors import StoreError
from assent.gateway.auth.challenges import Challenge
from assent.gateway.generation import Generation
from assent.gateway.operator_access import GatewayState
from assent.mcp import strict_json
from assent.people.api.openapi import ALL, document
from assent.people.api.operation import ApiRequest, Operation
from assent.people.api.problems import ApiProblem
from assent.web.asgi import App, Headers, Receive, Scope, Send
from assent.web.http import BodyTooLarge, Disconnected, read_body

logger = logging.getLogger(__name__)

BOUNDS = strict_json.JsonLimits(size=1024 * 1024, depth=32)
_ROUTES = [(Route(one.path, lambda _: None), one) for one in ALL]


class ApiApp:
    """Everything under `/api`; other paths are for `other`."""

    def __init__(self, gateway: GatewayState, other: App) -> None:
        self._gateway, self._other = gateway, other

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (scope["path"] == "/api" or scope["path"].startswith("/api/")):
            return await self._other(scope, receive, send)
        try:
            status, value, fields = await self._respond(Request(scope, receive))
        except Disconnected:
            return
        kind = "application/problem+json" if status >= 400 else "application/json"
        response = Response(orjson.dumps(value), status, media_type=kind)
        response.headers.update({"cache-control": "no-store", "x-content-type-options": "nosniff"})
        response.raw_headers += fields
        await response(scope, receive, send)

    async def _respond(self, request: Request) -> tuple[int, dict[str, Any], Headers]:
        try:
            return 200, await self._answer(request), []
        except Refusal as refusal:
            return refusal.status, refusal.problem(), []
        except Challenge as challenge:
            return challenge.status, challenge.problem, challenge.fields
        except ApiProblem as error:
            problem = error
        except StoreError:
            problem = ApiProblem("api.unavailable")
        except Disconnected:
            raise
        except Exception:
            logger.exception("a request to the API could not be answered")
            problem = ApiProblem("api.failed")
        return problem.status, problem.problem(), problem.fields

    async def _answer(self, request: Request) -> dict[str, Any]:
        generation, headers = self._gateway.current, request.scope["headers"]
        _check_host(generation, headers)
        operation, names = _operation_of(request.scope)
        if operation.handler is None:
            operation.read_query(request.scope["query_string"])
            return document(generation.settings.public_url.rstrip("/"))
        principal = await generation.rulebook.authenticator.authenticate(headers, request.scope)
        query = operation.read_query(request.scope["query_string"])
        body = await _body(operation, request)
        operation.check_names(names)
        return await operation.handler(
            ApiRequest(principal, generation.ports, names, query, body, gateway=self._gateway)
        )


def _check_host(generation: Generation, headers: Headers) -> None:
    refused = generation.rulebook.authenticator.host_policy().refuse_headers(headers)
    if refused is not None:
        raise ApiProblem("api.wrong_host" if refused[0] == 421 else "api.foreign_origin", f"{refused[1]}.")


def _operation_of(scope: Scope) -> tuple[Operation, dict[str, str]]:
    """The operation of a path and method. The path is matched as it was sent: an encoded slash divides nothing."""
    path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
    sent = {**scope, "path": path, "root_path": ""}
    matches = [(one, *route.matches(sent)) for route, one in _ROUTES]
    found = [(one, child["path_params"]) for one, match, child in matches if match is not Match.NONE]
    if not found:
        raise ApiProblem("api.not_found")
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    for one, names in found:
        if one.method == method:
            return one, {name: unquote(value, errors="replace") for name, value in names.items()}
    allowed = sorted({one.method for one, _ in found} | ({"HEAD"} if found[0][0].method == "GET" else set()))
    raise ApiProblem("api.method_not_allowed", "", [(b"allow", ", ".join(allowed).encode())])


async def _body(operation: Operation, request: Request) -> dict[str, Any]:
    """The JSON object of a POST. Only this content type is accepted: no page can send it without being asked first."""
    if operation.body is None:
        return {}
    kinds = [one.partition(";")[0].strip().lower() for one in request.headers.getlist("content-type")]
    if kinds != ["application/json"]:
        raise ApiProblem("api.not_json")
    try:
        raw = await read_body(request.scope["headers"], request.receive, BOUNDS.size)
        value = strict_json.parse(raw, BOUNDS) if raw or operation.schema("body").get("required") else {}
    except BodyTooLarge:
        fields = [(b"connection", b"close")]
        raise ApiProblem("api.too_large", f"At most {BOUNDS.size} bytes are accepted.", fields) from None
    except strict_json.Malformed as error:
        raise ApiProblem("api.malformed", f"The body is not valid JSON: {error}.") from None
    return operation.check_body(value)
