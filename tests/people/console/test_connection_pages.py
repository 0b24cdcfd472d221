"""Connections in the console: a person connects their account, sees its scopes and takes it back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2

from assent.contract.yaml_document import write_yaml
from assent.core.principal import Principal
from assent.upstreams.credentials import SHARED, PersonOwner
from support.console.plain_browser import signed_in
from support.decisions.problems import problem
from support.gateway.gateways import gateway
from support.identity.oauth_server import OAuthServer, oauth_server
from upstreams.oauth.test_gateway import read, settings
from upstreams.oauth.test_tokens import sign_in

VIEWER = frozenset({"viewer"})


async def connect(person: Any, server: OAuthServer, account: str, scope: str = "") -> httpx2.Response:
    """Press the button, consent at the server as this account, and come back."""
    page = await person.send("/console/connections/notes/connect", {"scope": scope})
    assert page.status_code == 200, page.text
    url = re.search(r'<a class="button primary" href="([^"]+)"', page.text)
    assert url is not None
    answer = await server.consent(url[1].replace("&amp;", "&"), account)
    response: httpx2.Response = await person.get(f"/console/connections/callback?{urlencode(answer)}")
    return response


async def test_a_person_connects_their_account_and_their_agents_use_it(tmp_path: Path) -> None:
    async with oauth_server() as server, gateway(tmp_path, **settings(server, "per_user")) as (url, app):
        await app.runtime.vault.put("notes", SHARED, (await sign_in(server, "operator")).as_json())
        await app.reload("notes")
        async with signed_in(url, app.store, id="ann", roles=VIEWER) as person, httpx2.AsyncClient() as http:
            assert "not connected" in (await person.get("/console/connections")).text
            done = await connect(person, server, "ann-at-notes")
            assert (done.status_code, done.headers["location"]) == (303, "/console/connections")
            shown = (await person.get("/console/connections")).text
            assert "<code>notes</code>" in shown
            assert (await read(http, url, "ann", "plan"))["content"][0]["text"] == "plan of ann-at-notes"
            assert (await read(http, url, "ben", "plan"))["isError"]
            await person.send("/console/connections/notes/disconnect", {})
            assert (await read(http, url, "ann", "plan"))["isError"]
        assert server.calls == [("ann-at-notes", "plan")]
        assert not [one for one in server.accounts.accesses.values() if one.subject == "ann-at-notes"], (
            "ended there too"
        )
        await app.store.flush()
        events = [one.entry.facts.get("event") for one in await app.store.entries()]
        assert "upstream.connected" in events and "upstream.disconnected" in events


async def test_a_person_allows_more_when_a_call_needs_it(tmp_path: Path) -> None:
    contract = tmp_path / "notes.yaml"
    contract.write_text(write_yaml({"tools": {"write_note": {"side_effect": "write"}}}))
    async with oauth_server() as server:
        conf = {**settings(server, "per_user"), "contracts": [str(contract)]}
        async with gateway(tmp_path, **conf) as (url, app), httpx2.AsyncClient() as http:
            await app.runtime.vault.put("notes", SHARED, (await sign_in(server, "operator")).as_json())
            await app.reload("notes")
            async with signed_in(url, app.store, id="ann", roles=VIEWER) as person:
                await connect(person, server, "ann")
                refused = await read(http, url, "ann", "plan", "write_note")
                where = problem(refused)["connect_url"]
                assert "notes:all" in refused["content"][0]["text"]
                page = (await person.get(where[where.index("/console") :])).text
                asked = re.search(r'name="scope" value="([^"]+)"', page)
                assert asked is not None and asked[1] == "notes:all"
                assert (await connect(person, server, "ann", asked[1])).status_code == 303
                assert "Allow more" not in (await person.get(where[where.index("/console") :])).text
            answer = await read(http, url, "ann", "plan", "write_note")
        assert answer["content"][0]["text"] == "wrote plan of ann"
        assert server.calls == [("ann", "plan")], "the refused request ran nothing"


async def test_an_answer_works_once_and_only_in_the_session_that_asked(tmp_path: Path) -> None:
    async with oauth_server() as server, gateway(tmp_path, **settings(server, "per_user")) as (url, app):
        async with (
            signed_in(url, app.store, id="ann", roles=VIEWER) as ann,
            signed_in(url, app.store, id="eve", roles=VIEWER) as eve,
        ):
            page = await eve.send("/console/connections/notes/connect", {})
            link = re.search(r'<a class="button primary" href="([^"]+)"', page.text)
            assert link is not None
            answer = await server.consent(link[1].replace("&amp;", "&"), "eve")
            lured = await ann.get(f"/console/connections/callback?{urlencode(answer)}")
            assert lured.status_code == 403, "eve's answer must not become ann's connection"
            assert (await eve.get(f"/console/connections/callback?{urlencode(answer)}")).status_code == 403, "used up"
            assert (await connect(ann, server, "ann")).status_code == 303
            forged = await ann.get("/console/connections/callback?state=x&code=y")
            assert forged.status_code == 403
        assert await app.runtime.vault.get("notes", PersonOwner("local", "eve")) is None


async def test_a_shared_connection_is_for_operators(tmp_path: Path) -> None:
    async with oauth_server() as server, gateway(tmp_path, **settings(server, "shared")) as (url, app):
        async with signed_in(url, app.store, id="ann", roles=VIEWER) as person:
            assert (await person.send("/console/connections/notes/connect", {})).status_code == 403
        async with signed_in(url, app.store) as operator:
            assert (await connect(operator, server, "team")).status_code == 303
        assert await app.runtime.vault.get("notes", SHARED) is not None
        assert "notes" not in app.tools.troubles, "its tools are loaded at once"


async def test_a_person_enters_an_api_key_that_only_their_calls_carry(tmp_path: Path) -> None:
    async with oauth_server() as server:
        own = await sign_in(server, "ann")
        conf = settings(server, "per_user")
        conf["upstreams"]["notes"] |= {"auth": "key"}
        async with gateway(tmp_path, **conf) as (url, app), httpx2.AsyncClient() as http:
            await app.runtime.vault.put("notes", SHARED, {"key": (await sign_in(server, "operator")).access_token})
            await app.reload("notes")
            async with signed_in(url, app.store, id="ann", roles=VIEWER) as person:
                bad = await person.send("/console/connections/notes/key", {"key": "a\r\nx-evil: 1"})
                assert bad.status_code == 422
                await person.send("/console/connections/notes/key", {"key": own.access_token})
                page = (await person.get("/console/connections")).text
                assert own.access_token not in page
            assert (await read(http, url, "ann", "plan"))["content"][0]["text"] == "plan of ann"
            assert (await read(http, url, "ben", "plan"))["isError"]


async def test_the_client_metadata_document_names_its_own_address(tmp_path: Path) -> None:
    async with oauth_server() as server, gateway(tmp_path, **settings(server, "shared")) as (url, app):
        async with httpx2.AsyncClient() as http:
            parts = urlsplit(url)
            found = (await http.get(f"{parts.scheme}://{parts.netloc}/.well-known/oauth-client")).json()
        assert found["client_id"] == f"{app.settings.public_url.rstrip('/')}/.well-known/oauth-client"
        assert found["redirect_uris"] == [f"{app.settings.public_url.rstrip('/')}/console/connections/callback"]


def test_agents_and_test_callers_have_no_connections_page() -> None:
    from assent.people.api.connections import _check_person
    from assent.people.api.problems import ApiProblem

    for principal in (Principal("bot", "agent"), Principal("ann", "human", mode="test")):
        try:
            _check_person(principal)
        except ApiProblem as problem:
            assert problem.code == "api.not_entitled"
        else:
            raise AssertionError(principal)
