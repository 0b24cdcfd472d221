"""The frame of every console page: what it works with, who may open it, and how it answers."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from assent.config.model import ConsoleSettings
from assent.core.principal import ROLES, Principal
from assent.gateway.auth.host_origin import HostOriginPolicy
from assent.gateway.operator_access import GatewayState
from assent.people.api.operation import OPERATIONS, ApiRequest
from assent.people.api.problems import ApiProblem
from assent.people.console.templating import render_template
from assent.people.sessions import ConsoleSession, Sessions
from assent.ports import Ports
from assent.web.asgi import Scope

if TYPE_CHECKING:
    from assent.people.console.oidc import OidcClient


@dataclass(frozen=True, slots=True)
class ConsoleSite:
    """One configuration as the console needs it."""

    ports: Ports
    host_policy: HostOriginPolicy
    public_url: str
    settings: ConsoleSettings


@dataclass(frozen=True, slots=True)
class ConsoleContext:
    """What every request gets. The site is read anew each time, because a changed configuration replaces it."""

    site: Callable[[], ConsoleSite]
    sessions: Sessions
    count_failure: Callable[[str, Scope], None]
    """Called with every failed sign-in; the log gets one entry a minute at most."""
    oidc: Callable[[], OidcClient | None] = lambda: None
    """The identity provider; None if none is configured."""
    gateway: GatewayState | None = None
    """The running gateway; None for the console of a store."""
    command: str = "assent console"
    """The command that prints a sign-in link."""
    offer_link: Callable[[str, str], Awaitable[bool]] | None = None
    """Prints a sign-in link in the server's terminal, for this address of the console and of the browser."""


EVERYONE: frozenset[str] = frozenset(ROLES)
PUBLIC: frozenset[str] | None = None
"""Open to people who are not signed in."""
DECIDERS: frozenset[str] = frozenset({"approver", "operator"})
OPERATORS: frozenset[str] = frozenset({"operator"})
ADMINS: frozenset[str] = frozenset({"admin"})
LOG_READERS: frozenset[str] = frozenset({"operator", "auditor", "approver"})
KEEPERS: frozenset[str] = frozenset({"admin", "operator"})
"""Who manages API keys."""


class PageError(Exception):
    """A request that a page cannot answer: status, what happened and what to do."""

    def __init__(self, status: int, title: str, detail: str = "") -> None:
        super().__init__(title)
        self.status, self.title, self.detail = status, title, detail


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request to the console."""

    request: Request
    context: ConsoleContext
    session: ConsoleSession | None
    form: Mapping[str, list[str]] = field(default_factory=dict)
    """Fields of a POST form; the anti-forgery token is checked and removed."""
    problems: list[ApiProblem] = field(default_factory=list)
    """Why the input is refused; the page shows it beside the field, with the input."""

    @property
    def principal(self) -> Principal:
        """The signed-in person. Only pages that are not public use it."""
        assert self.session is not None
        return self.session.principal

    @property
    def site(self) -> ConsoleSite:
        return self.context.site()

    @property
    def ports(self) -> Ports:
        return self.context.site().ports

    @property
    def path(self) -> Mapping[str, str]:
        return self.request.path_params

    @property
    def query(self) -> Mapping[str, str]:
        return self.request.query_params

    def field(self, name: str, default: str = "") -> str:
        """One field of the form; the last one where it is given twice."""
        return self.form.get(name, [default])[-1]

    def may(self, roles: frozenset[str]) -> bool:
        """Whether the person has one of these roles."""
        return self.session is not None and bool(self.session.principal.roles & roles)

    def kept(self, name: str, default: str = "") -> str:
        """What a field shows: the input that was refused, or this."""
        return self.typed(name, default) if self.problems else default

    def typed(self, name: str, default: str = "") -> str:
        """What was typed into a field, without characters that nobody sees."""
        return "".join(one for one in self.field(name, default) if one.isprintable() or one in "\n\t")

    def fault(self, name: str) -> str:
        """What is wrong with a field of the refused input; empty if nothing is."""
        details = [one.detail.partition(": ") for one in self.problems]
        return next((said for place, _, said in details if said and place.partition("/")[0] == name), "")

    def filters(self, handler: Any, also: tuple[str, ...] = (), *, strict: bool = False) -> dict[str, Any]:
        """The filters in the address, read by the rules of the operation behind the page; empty ones do not count.

        If one is wrong, none is used and the page says so; with `strict` nothing is shown.
        """
        given = [(name, value) for name, value in self.request.query_params.multi_items() if value]
        try:
            return OPERATIONS[handler].read_pairs([pair for pair in given if pair[0] not in also])
        except ApiProblem as problem:
            if strict:
                raise
            self.problems.append(problem)
            return {}

    async def api(self, handler: Any, *, form: Mapping[str, Any] | None = None, **rest: Any) -> dict[str, Any]:
        """Run one operation of `/api` as the signed-in person, so that both decide alike.

        A form is checked like the body it stands for. `rest` are further fields of the request.
        """
        assert self.session is not None
        if form is not None:
            rest["body"] = OPERATIONS[handler].check_body(dict(form))
        given = {"names": {}, "session": self.session.chain, **rest}
        answer: dict[str, Any] = await handler(replace(self.request_of_api(), **given))
        return answer

    def request_of_api(self) -> ApiRequest:
        """This request as `/api` sees it, so that both decide alike who may do what."""
        return ApiRequest(self.principal, self.ports, dict(self.path), {}, {}, "console", self.context.gateway)

    def render(self, template: str, status: int = 200, **values: Any) -> Response:
        response = HTMLResponse(
            render_template(template, self, values), max([status, *(p.status for p in self.problems)])
        )
        if "assent_notice" in self.request.cookies:  # a notice is shown once
            response.delete_cookie("assent_notice", path="/console")
        return response

    def redirect(self, url: str, notice: str = "") -> Response:
        """Answer a POST: the browser fetches the page anew, so a reload repeats nothing."""
        response = RedirectResponse(url, 303)
        if notice:
            response.set_cookie(
                "assent_notice", notice[:500].encode().hex(), max_age=30, path="/console", httponly=True
            )
        return response


PageHandler = Callable[[PageRequest], Awaitable[Response]]
PageHandlerT = TypeVar("PageHandlerT", bound=PageHandler)


@dataclass(frozen=True, slots=True)
class Page:
    """One page or action. All of them drive routing, the navigation and the role tests."""

    method: Literal["GET", "POST"]
    path: str
    handler: PageHandler
    roles: frozenset[str] | None
    menu: str = ""
    """The label in the navigation; empty for pages that are reached from others."""
    form_of: PageHandler | None = None
    """The page with the form of this action. Where the input is refused, it is shown again with the input."""
    is_used: Callable[[PageRequest], bool] = lambda _: True
    """Whether the configuration gives this page something to show; otherwise the navigation folds it away."""


DECLARED: list[Page] = []
"""Every page and action, as far as its module is imported."""


def on(
    method: Literal["GET", "POST"], path: str, roles: frozenset[str] | None, menu: str = "", **more: Any
) -> Callable[[PageHandlerT], PageHandlerT]:
    """Declare a handler as a page or an action, with the fields of `Page`."""

    def declare(handler: PageHandlerT) -> PageHandlerT:
        DECLARED.append(Page(method, path, handler, roles, menu, **more))
        return handler

    return declare


def address_of(page: PageRequest) -> str:
    """Scheme and host of the console: `public_url`, or the name of this machine that the browser used.

    The gateway's host check has refused every other name.
    """
    public, host = page.site.public_url.rstrip("/"), page.request.headers["host"].lower()
    parts = urlsplit(public)
    return f"{parts.scheme}://{parts.netloc}" if host == parts.netloc.lower() else f"http://{host}"


def passkey_domain(page: PageRequest) -> str | None:
    """The domain that passkeys belong to; None where the console is open under a bare address, which has none."""
    host = urlsplit(address_of(page)).hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host
    return None


SESSION_COOKIE = "assent_session"


def set_session_cookie(response: Response, token: str, public_url: str) -> None:
    """The browser sends it to the console only, never to scripts, and over TLS where the console uses it."""
    secure = public_url.startswith("https://")
    response.set_cookie(SESSION_COOKIE, token, path="/console", httponly=True, samesite="lax", secure=secure)


def clear_session_cookie(response: Response) -> None:
    response.delete_cookie(SESSION_COOKIE, path="/console")
