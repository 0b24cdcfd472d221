"""A person gives an application access to the gateway: the consent page of the embedded authorization server."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from starlette.responses import Response

from assent.config.callers import EmbeddedServer
from assent.core.audit import Entry, principal_values
from assent.people.authorization_server.grant_store import Grant, grant_store, pending_step_up
from assent.people.console.page import EVERYONE, PageError, PageRequest, on
from assent.people.console.pages.signin import sign_in_again

if TYPE_CHECKING:
    from assent.people.authorization_server.clients import AuthorizationRequest

SHORTEST_AGE = 60
"""Seconds that a sign-in counts as new, so that a person can read the page after it."""
_FIELDS = (
    "client_id", "redirect_uri", "response_type", "scope", "state", "code_challenge", "code_challenge_method",
    "resource", "max_age", "acr_values", "prompt",
)  # fmt: skip


@on("GET", "/authorize", EVERYONE)
async def show_request(page: PageRequest) -> Response:
    """What the application asks for, and who would give it. Opening the page gives nothing."""
    asked = await _read_authorization(page, dict(page.query))
    if isinstance(asked, Response):
        return asked
    if _needs_new_sign_in(page, asked):
        return await _ask_to_sign_in(page, asked)
    fields = {name: page.query[name] for name in _FIELDS if name in page.query}
    known = str(asked.client.client_id).startswith("https://")
    origin = urlsplit(str(asked.client.client_id)).netloc if known else ""
    return page.render("authorize.html", asked=asked, fields=fields, origin=origin, leads_to=_host(asked.redirect_uri))


@on("POST", "/authorize", EVERYONE)
async def decide_request(page: PageRequest) -> Response:
    """The person's answer goes to the application through their browser."""
    query = {name: page.field(name) for name in _FIELDS if name in page.form}
    asked = await _read_authorization(page, query)
    if isinstance(asked, Response):
        return asked
    if _needs_new_sign_in(page, asked):
        raise PageError(403, "You must sign in again first.", "Open the page anew from the application.")
    issuer, settings = page.site.public_url.rstrip("/"), _settings(page)
    ports = page.ports
    if page.field("decision") != "allow":
        return _leave(page, asked.answer(issuer, error="access_denied", error_description="the person declined"))
    chosen = frozenset(page.form.get("grant", ()))
    person = page.principal
    grant = Grant(
        person.id,
        person.tenant,
        str(asked.client.client_id),
        asked.client_name,
        tuple(scope for scope in asked.scopes if scope in chosen),
        person.auth_time,
        person.acr,
        asked.redirect_uri,
        asked.redirect_given,
        asked.challenge,
        asked.resource,
    )
    from assent.people.authorization_server.clients import OAuthClients

    await OAuthClients(ports.store, ports.now, ports.keyed_hash).keep_used(asked.client)
    code = await grant_store(ports.store, settings).add_code(grant)
    values = {**principal_values(person), "client": grant.client_name, "scopes": list(grant.scopes)}
    ports.store.append(Entry("authentication", ports.now(), {"event": "oauth.granted"}, values))
    return _leave(page, asked.answer(issuer, code=code))


def _has_server(page: PageRequest) -> bool:
    return page.context.gateway is not None and page.context.gateway.settings.auth.embedded is not None


@on("GET", "/applications", EVERYONE, "Applications", is_used=_has_server)
async def show_grants(page: PageRequest) -> Response:
    """The applications to which a person gave access; the page says so where the gateway gives none."""
    ports, person = page.ports, page.principal
    if not _has_server(page):
        return page.render("grants.html", grants=[], embedded=False)
    found = await grant_store(ports.store, _settings(page)).families_of(person.id, person.tenant)
    return page.render("grants.html", grants=found, embedded=True)


@on("POST", "/applications/{id}/end", EVERYONE)
async def end_grant(page: PageRequest) -> Response:
    ports, person = page.ports, page.principal
    kept = grant_store(ports.store, _settings(page))
    for family in await kept.families_of(person.id, person.tenant):
        if family.id == page.path["id"]:
            await kept.end(family)
            values = {**principal_values(person), "client": family.grant.client_name}
            ports.store.append(Entry("authentication", ports.now(), {"event": "oauth.revoked"}, values))
            return page.redirect("/console/applications", "Access is withdrawn. It ends within a second.")
    raise PageError(404, "There is no such access.", "It may have been withdrawn already.")


def _settings(page: PageRequest) -> EmbeddedServer:
    gateway = page.context.gateway
    if gateway is None or gateway.settings.auth.embedded is None:
        detail = "Its operator sets `auth: {embedded: {}}`."
        raise PageError(404, "This gateway gives no access to applications.", detail)
    return gateway.settings.auth.embedded


async def _read_authorization(page: PageRequest, query: dict[str, str]) -> AuthorizationRequest | Response:
    """The request, or the answer to one that is wrong."""
    from assent.people.authorization_server.clients import (
        MOST_ID,
        BadRequest,
        OAuthClients,
        Refused,
        answer_url,
        read_request,
    )

    settings, ports = _settings(page), page.ports
    issuer = page.site.public_url.rstrip("/")
    clients = OAuthClients(ports.store, ports.now, ports.keyed_hash)
    client = await clients.find(query.get("client_id", "")[: MOST_ID + 1])
    gateway = page.context.gateway
    assert gateway is not None
    try:
        asked = read_request(query, client, f"{issuer}/mcp", gateway.public_scopes(), frozenset(settings.scopes))
        return await _with_pending_step_up(page, asked)
    except BadRequest as error:
        raise PageError(400, "This request cannot be answered.", str(error)) from None
    except Refused as refused:
        fields = {"error": refused.error, "error_description": refused.description, "iss": issuer}
        return _leave(page, answer_url(refused.redirect_uri, refused.state, **fields), at_once=False)


async def _with_pending_step_up(page: PageRequest, asked: AuthorizationRequest) -> AuthorizationRequest:
    """The request with the sign-in that a refused call needs, where the application does not say it itself."""
    if asked.max_age is not None or asked.acr:
        return asked
    needed = await pending_step_up(page.ports.store, page.principal, page.ports.now())
    return asked if needed is None else replace(asked, max_age=needed.max_age, acr=needed.acr)


def _needs_new_sign_in(page: PageRequest, asked: AuthorizationRequest) -> bool:
    """Whether the person's sign-in is older or weaker than the application needs."""
    person, now = page.principal, page.ports.now()
    signed_in = person.auth_time if person.auth_time is not None else float("-inf")
    too_old = asked.max_age is not None and signed_in + max(asked.max_age, SHORTEST_AGE) < now
    return too_old or (bool(asked.acr) and person.acr not in asked.acr)


async def _ask_to_sign_in(page: PageRequest, asked: AuthorizationRequest) -> Response:
    back = f"/console/authorize?{urlencode({name: page.query[name] for name in _FIELDS if name in page.query})}"
    reason = f"The application needs a {'stronger' if asked.acr else 'newer'} sign-in than yours."
    return await sign_in_again(page, back, reason, asked.max_age or 0, asked.acr)


def _leave(page: PageRequest, url: str, at_once: bool = True) -> Response:
    """A page that leads on to the application; a redirect would have to be allowed by `form-action`.

    Anybody can register an application. Where the person has not answered, they press the button themselves, so that
    a link to this console cannot send them to another site.
    """
    return page.render("authorize_continue.html", url=url, host=_host(url), at_once=at_once)


def _host(url: str) -> str:
    parts = urlsplit(url)
    return parts.netloc if parts.scheme in ("http", "https") else f"{parts.scheme}: (an application on this machine)"
