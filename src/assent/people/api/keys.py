"""API keys in the store: list them, make one, revoke one."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, NotRequired

from annotated_types import Len
from pydantic import StringConstraints
from typing_extensions import TypedDict

from assent.contract.fields import parse_duration
from assent.core.api_keys import MOST_NAME, KeyRecord, key_entry, key_json, name_fault, word_fault
from assent.core.principal import KINDS, ROLES, Principal, person_of
from assent.core.record_scope import is_operator
from assent.gateway.auth.authenticator import make_key, record_key
from assent.people.accounts import KnownPeople
from assent.people.api.fields import Limit, OneOf, closed
from assent.people.api.operation import ApiRequest, get, post
from assent.people.api.problems import ApiProblem
from assent.people.sessions import check_recent

MOST_LOOKED_AT = 5000
_DURATION = r"[1-9][0-9]{0,9}(s|m|h|d)"


@closed
class KeyFilter(TypedDict, total=False):
    state: Annotated[str, OneOf(("good", "expired", "revoked", "all"), "good"), "Only those in this state."]
    limit: Limit


_Word = Annotated[str, StringConstraints(min_length=1, max_length=MOST_NAME)]


@closed
class NewKey(TypedDict):
    name: _Word
    kind: Annotated[str, OneOf(KINDS)]
    tenant: NotRequired[Annotated[str, StringConstraints(max_length=MOST_NAME)]]
    scopes: NotRequired[Annotated[list[_Word], Len(0, 100)]]
    roles: NotRequired[Annotated[list[Annotated[str, OneOf(ROLES)]], Len(0, 5)]]
    mode: NotRequired[Annotated[str, OneOf(("live", "test"))]]
    expires: NotRequired[Annotated[str, StringConstraints(pattern=f"^{_DURATION}$")]]


_WHO = "admins: their tenant's; operators: all"


@get("/api/keys", "KeyList", KeyFilter, who=_WHO, refusals=("api.not_entitled",))
async def list_keys(request: ApiRequest) -> dict[str, Any]:
    """List the API keys in the store, newest first."""
    tenant = _tenant_of(request.principal)
    state, limit, now = request.query.get("state", "good"), request.query.get("limit", 100), request.ports.now()
    found = await request.ports.store.keys(limit=MOST_LOOKED_AT)
    chosen = [one for one in found if tenant in (None, one.principal.tenant) and state in ("all", one.state(now))]
    return {"keys": [_as_json(one, now) for one in chosen[:limit]], "more": len(chosen) > limit}


@post("/api/keys", "Key", NewKey, who=_WHO, refusals=("api.not_entitled",))
async def create_key(request: ApiRequest) -> dict[str, Any]:
    """Make a key; it is shown in this answer and never again."""
    tenant, body, now = _tenant_of(request.principal), request.body, request.ports.now()
    check_recent(request.principal, request.ports)
    if request.state.settings.store.startswith("memory:"):
        raise ApiProblem("api.invalid", "The store is memory: a key would be gone with this process.")
    who = Principal(
        body["name"].strip(),
        body["kind"],
        body.get("tenant", "").strip() or request.principal.tenant,
        frozenset(body.get("scopes", ())),
        frozenset(body.get("roles", ())),
        mode=body.get("mode", "live"),
    )
    _check_words(who)
    if tenant is not None:
        _check_grant(request.principal, who)
    await check_name(request, who.id, who.tenant)
    expires = now + parse_duration(body["expires"]) if body.get("expires") else None
    key, maker = make_key(), request.principal.maker or request.principal.id
    record = replace(record_key(key, who, now, expires), made_by=maker, made_in=request.session)
    await request.ports.store.add_key(record, key_entry("key.created", record, request.principal, now))
    return {**_as_json(record, now), "key": key}


@post("/api/keys/{key}/revoke", "Key", who=_WHO, refusals=("api.not_entitled", "api.unknown"))
async def revoke_key(request: ApiRequest) -> dict[str, Any]:
    """Revoke the key that begins so, for good."""
    tenant, start, now = _tenant_of(request.principal), request.names["key"], request.ports.now()
    found = [one for one in await request.ports.store.keys(start=start, limit=10) if one.start == start]
    record = next((one for one in found if tenant in (None, one.principal.tenant) and not one.revoked), None)
    if record is None:
        raise ApiProblem("api.unknown", "There is no such key, or it is revoked already.")
    entry = key_entry("key.revoked", record, request.principal, now)
    revoked = await request.state.stored_keys.revoke(record.digest, now, entry)
    if revoked is None:
        raise ApiProblem("api.unknown", "This key is revoked already.")
    return _as_json(revoked, now)


def _tenant_of(principal: Principal) -> str | None:
    """Whose keys a principal manages: an operator all, an administrator those of their tenant."""
    if principal.kind != "human" or principal.has_agent or principal.mode == "test":
        raise ApiProblem("api.not_entitled", "Keys are managed by people.")
    if is_operator(principal):
        return None
    if "admin" not in principal.roles:
        raise ApiProblem("api.not_entitled", "Keys are managed by people with the role admin or operator.")
    return principal.tenant


def _check_grant(admin: Principal, who: Principal) -> None:
    """An administrator grants nothing beyond their own tenant."""
    if who.tenant != admin.tenant:
        raise ApiProblem("api.not_entitled", "An administrator makes keys for their own tenant.")
    if "operator" in who.roles:
        raise ApiProblem("api.not_entitled", "Only an operator makes keys with the role operator.")


async def check_name(request: ApiRequest, name: str, tenant: str) -> None:
    """Raises if a new key or account would have the name of another person, or one that looks like it."""
    by, people = request.principal, KnownPeople(request.ports, request.state.settings, request.state.vault)
    if known := await people.like(name, tenant, by):
        raise ApiProblem("api.conflict", f"name: there is {known} already. Choose a name that nobody else has.")
    if name == person_of(by.id) and tenant != by.tenant:
        raise ApiProblem("api.conflict", "name: in another tenant your own name may be somebody else's.")


def _check_words(who: Principal) -> None:
    if fault := name_fault(who.id):
        raise ApiProblem("api.invalid", f"name: it {fault}.")
    for what, words in {"tenant": [who.tenant], "scopes": sorted(who.scopes)}.items():
        for word in words:
            if fault := word_fault(word):
                raise ApiProblem("api.invalid", f"{what}: it {fault}.")


def _as_json(record: KeyRecord, now: float) -> dict[str, Any]:
    return {**key_json(record), "state": record.state(now)}
