"""Connections: a person lends the gateway their account at an upstream, sees what it may do, and takes it back."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.responses import Response

from assent.core.document import Document
from assent.features import load_feature
from assent.people.api.connections import connection_owner, disconnect, keep_key, list_connections, upstream_of
from assent.people.console.page import EVERYONE, PageError, PageRequest, address_of, on
from assent.upstreams.credentials import CALLBACK_PATH, PersonOwner

LASTS = 600.0
_KIND = "upstream_sign_in"


@on("GET", "/connections", EVERYONE, "Connections", is_used=lambda page: bool(page.ports.rules.connections))
async def show_connections(page: PageRequest) -> Response:
    found = await page.api(list_connections)
    wanted, more = page.query.get("upstream", "")[:40], _scope_words(page.query.get("scope", ""))
    return page.render("connections.html", connections=found["connections"], wanted=wanted, more=more)


@on("POST", "/connections/{upstream}/connect", EVERYONE)
async def begin_connection(page: PageRequest) -> Response:
    """Lead the person's browser to the upstream's authorization server."""
    from assent.upstreams.errors import OAuthProblem

    begin_sign_in = load_feature("oauth_sign_in").begin_sign_in
    asked = page.request_of_api()
    name = upstream_of(asked)
    owner, settings = connection_owner(asked, name), asked.state.settings.upstreams[name]
    if settings.auth != "oauth" or settings.url is None:
        raise PageError(400, "This upstream does not use OAuth.", "Enter your API key instead.")
    kept = await asked.state.vault.get(name, owner)
    had = str(kept.fields.get("scope") or "") if kept is not None else ""
    address, public = address_of(page), page.site.public_url.rstrip("/")
    try:
        started = await begin_sign_in(
            settings.url,
            address + CALLBACK_PATH,
            client_id=settings.oauth.client_id,
            client_secret=settings.oauth.client_secret,
            scopes=settings.oauth.scopes,
            more=" ".join([*had.split(), *_scope_words(page.field("scope"))]),
            metadata_url=f"{public}/.well-known/oauth-client",
        )
    except OAuthProblem as problem:
        raise PageError(502, f"{name} cannot be connected.", f"{problem.detail}. Ask the operator.") from None
    assert page.session is not None
    body = {"sign_in": started.as_json(), "upstream": name, "owner": list(owner), "session": page.session.id}
    sealed = asked.state.vault.seal(body, started.state)
    draft = Document(_KIND, started.state, sealed, owner.tenant, expires_at=page.ports.now() + LASTS)
    await page.ports.store.put_document(draft, page.ports.now(), expected=0)
    return page.render("connection_continue.html", url=started.url, host=urlsplit(started.url).netloc, name=name)


@on("GET", "/connections/callback", EVERYONE)
async def finish_connection(page: PageRequest) -> Response:
    """The authorization server's answer. Only the session that began can bring it, and only once."""
    from assent.upstreams.errors import OAuthProblem

    oauth = load_feature("oauth_sign_in")
    asked, state = page.request_of_api(), page.query.get("state", "")[:200]
    kept = await page.ports.store.delete_document(_KIND, state, page.ports.now()) if state else None
    body = asked.state.vault.unseal(kept.body, state) if kept is not None else None
    if body is None or page.session is None or body["session"] != page.session.id:
        detail = "It took more than ten minutes, was finished already, or began in another browser. Connect again."
        raise PageError(403, "This connection cannot be finished.", detail)
    name, owner = body["upstream"], PersonOwner(*body["owner"])
    try:
        started, answer = oauth.SignIn.from_json(body["sign_in"]), dict(page.query)
        await oauth.finish_sign_in(started, answer, asked.state.vault, name, owner, page.principal, page.ports.now)
    except OAuthProblem as problem:
        raise PageError(403, f"{name} is not connected.", f"{problem.detail}. Connect again.") from None
    asked.state.forget_credential(name, owner)
    await asked.state.reload(name)
    return page.redirect("/console/connections", f"{name} is connected.")


@on("POST", "/connections/{upstream}/disconnect", EVERYONE)
async def end_connection(page: PageRequest) -> Response:
    name = page.path["upstream"]
    await page.api(disconnect, names={"upstream": name})
    return page.redirect("/console/connections", f"{name} is disconnected.")


@on("POST", "/connections/{upstream}/key", EVERYONE, form_of=show_connections)
async def enter_key(page: PageRequest) -> Response:
    name = page.path["upstream"]
    form = {"key": page.field("key").strip()}
    await page.api(keep_key, names={"upstream": name}, form=form)
    return page.redirect("/console/connections", f"{name} is connected.")


def _scope_words(text: str) -> list[str]:
    """The scopes that a call lacked, as the refusal's link names them; the authorization server asks about them."""
    return [word for word in text[:1000].split() if word.isascii() and word.isprintable()]
