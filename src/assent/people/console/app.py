"""The console as an ASGI application: everything under `/console`."""

from __future__ import annotations

import hmac
import logging
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qs, quote

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles

from assent.core.outcome import Refusal
from assent.errors import StoreError
from assent.people.api.problems import ApiProblem
from assent.people.console.live import LiveFeed
from assent.people.console.page import SESSION_COOKIE, ConsoleContext, Page, PageError, PageRequest
from assent.people.console.pages import PAGES, STORE_PAGES
from assent.people.console.pages.signin import ask_to_sign_in
from assent.web.asgi import App, Receive, Scope, Send

logger = logging.getLogger("assent.people.console")

MOST_FORM = 256 * 1024
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_FIELDS = {
    "content-security-policy": _POLICY,
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
}


GROUPS = (
    ("", ("Overview", "Approvals", "Activity")),
    ("Control", ("Tools", "Agents", "Rules", "Upstreams", "Stop switch")),
    ("Records", ("Audit", "Claims", "Conversations")),
    ("Access", ("Connections", "Applications", "Keys", "Accounts")),
)
"""The navigation: groups of pages, in the order in which people need them."""


Menu = tuple[tuple[str, tuple[Page, ...]], ...]


def menu_of(pages: Sequence[Page]) -> Menu:
    """The groups with the links to these pages. A page with a label that is in no group is a mistake."""
    labelled = {page.menu: page for page in pages if page.menu}
    if unknown := labelled.keys() - {label for _, labels in GROUPS for label in labels}:
        raise LookupError(f"in no group of the navigation: {', '.join(sorted(unknown))}")
    return tuple((group, tuple(labelled[label] for label in labels if label in labelled)) for group, labels in GROUPS)


class Console:
    """Answers `/console`; other paths are for `other`. Without a gateway it has the pages that need only a store."""

    def __init__(self, context: ConsoleContext, other: App) -> None:
        self._context, self._other = context, other
        self.live = LiveFeed(lambda: context.site().ports.store)
        pages = STORE_PAGES if context.gateway is None else PAGES
        self._menu = menu_of(pages)
        routes = [Route(page.path, self._endpoint(page), methods=[page.method]) for page in pages]
        self._router = Router(
            [
                Route("/", self._home, methods=["GET"]),
                Route("/live", self._stream, methods=["GET"]),
                Mount("/static", StaticFiles(packages=[("assent.people.console", "static")])),
                *routes,
            ],
            redirect_slashes=False,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        if scope["type"] != "http" or not (path == "/console" or path.startswith("/console/")):
            return await self._other(scope, receive, send)
        scope["console_path"], scope["console_menu"] = path, self._menu
        request = Request(scope, receive)
        response = await self._answer(request)
        for name, value in _FIELDS.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        try:
            self._check_host(request)
            inner = {**request.scope, "path": request.scope["path"].removeprefix("/console") or "/", "root_path": ""}
            return await self._route_request(inner, request)
        except PageError as error:
            return await self._render_error(request, error.status, error.title, error.detail)
        except Refusal as refusal:
            problem = refusal.problem()
            return await self._render_error(request, refusal.status, problem["detail"], problem["remedy"])
        except ApiProblem as problem:
            said = problem.problem()
            if problem.code == "api.sign_in_again":
                return await ask_to_sign_in(await self._page_request(request), 403)
            return await self._render_error(request, problem.status, said["detail"], said["remedy"])
        except HTTPException as error:
            detail = "Use the navigation to find what you are looking for."
            return await self._render_error(request, error.status_code, "There is no such page.", detail)
        except StoreError:
            detail = "The server cannot reach its store. Look at its log, then try again."
            return await self._render_error(request, 503, "The store does not answer.", detail)

    async def _route_request(self, scope: Scope, request: Request) -> Response:
        for route in self._router.routes:
            match, child = route.matches(scope)
            if match.value == 2:
                scope.update(child)
                if isinstance(route, Mount):
                    return await _static(route, scope)
                return await route.endpoint(Request(scope, request.receive))  # type: ignore[attr-defined,no-any-return]
        raise HTTPException(404)

    def _check_host(self, request: Request) -> None:
        policy, said = self._context.site().host_policy, request.headers
        if len(said.getlist("host")) != 1:
            raise PageError(421, "Invalid Host header")
        origins = said.getlist("origin")
        if len(origins) > 1:
            raise PageError(403, "Invalid Origin header")
        refused = policy.refuse(said["host"].encode(), origins[0].encode() if origins else None)
        if refused is not None:
            raise PageError(refused[0], refused[1], "Open the console under its own address.")
        if request.method == "POST" and said.get("sec-fetch-site") not in (None, "same-origin", "none"):
            raise PageError(403, "Another site sent this form.", "Open the page in the console and repeat the action.")

    def _endpoint(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            if any(ord(char) < 32 for value in request.path_params.values() for char in str(value)):
                raise HTTPException(404)  # no id holds such a character, and a database may refuse to look for it
            given = await self._page_request(request)
            if page.roles is not None:
                if given.session is None:
                    return _to_sign_in(request)
                if not given.may(page.roles):
                    allowed = ", ".join(sorted(page.roles))
                    raise PageError(403, "You may not open this page.", f"It needs one of these roles: {allowed}.")
            if page.method == "POST":
                given = await _with_form(given)
            try:
                return await page.handler(given)
            except ApiProblem as problem:
                if page.form_of is None or problem.status not in (404, 409, 422):
                    raise
                given.problems.append(problem)
                try:
                    return await page.form_of(given)
                except (PageError, ApiProblem):
                    raise problem from None

        return endpoint

    async def _page_request(self, request: Request) -> PageRequest:
        session = await self._context.sessions.find(request.cookies.get(SESSION_COOKIE))
        return PageRequest(request, self._context, session)

    async def _home(self, request: Request) -> Response:
        return RedirectResponse("/console/approvals", 303)

    async def _stream(self, request: Request) -> Response:
        given = await self._page_request(request)
        if given.session is None:
            raise PageError(401, "You are not signed in.", "Sign in, then reload the page.")
        sessions, session = self._context.sessions, given.session
        return self.live.response(session.principal.identity, lambda: sessions.is_open(session))

    async def _render_error(self, request: Request, status: int, title: str, detail: str) -> Response:
        try:
            given = await self._page_request(request)
        except StoreError:
            given = PageRequest(request, self._context, None)
        return given.render("error.html", status, title=title, detail=detail)


async def _with_form(given: PageRequest) -> PageRequest:
    """The request with its form fields. A signed-in person's form must carry the session's token."""
    kind = given.request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise PageError(415, "This is not a form.", "Send it from the console's own page.")
    body = b""
    async for chunk in given.request.stream():
        body += chunk
        if len(body) > MOST_FORM:
            raise PageError(413, "The form is too large.", f"At most {MOST_FORM // 1024} KiB are accepted.")
    try:
        form = parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=5000, errors="strict")
    except ValueError:
        raise PageError(400, "The form cannot be read.", "Reload the page and try again.") from None
    token = form.pop("csrf", [""])[-1]
    if given.session is not None and not hmac.compare_digest(token.encode(), given.session.csrf.encode()):
        raise PageError(403, "This form has expired or was not made for you.", "Reload the page and try again.")
    return PageRequest(given.request, given.context, given.session, form)


def _to_sign_in(request: Request) -> Response:
    if request.method != "GET":
        raise PageError(401, "You are not signed in.", "Sign in, then repeat the action.")
    path = request.scope["console_path"] + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(f"/console/signin?next={quote(path, safe='')}", 303)


async def _static(route: Mount, scope: Scope) -> Response:
    files: StaticFiles = route.app  # type: ignore[assignment]
    response = await files.get_response(files.get_path(scope), scope)
    response.headers["cache-control"] = "public, max-age=3600"
    return response
