"""Accounts of people who have no identity provider: list them, make one, change its roles, reset it, disable it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, NotRequired

from annotated_types import Len
from pydantic import StringConstraints
from typing_extensions import TypedDict

from assent.core.api_keys import key_entry
from assent.core.principal import ROLES, Principal
from assent.core.record_scope import OPERATOR, is_operator
from assent.people.accounts import (
    MOST_KNOWN,
    Account,
    accounts_of,
    find_account,
    is_name,
    keep_account,
    make_enrolment,
    withdraw_enrolments,
)
from assent.people.api.fields import ACCOUNT, Limit, OneOf, closed
from assent.people.api.keys import check_name
from assent.people.api.operation import ApiRequest, get, post
from assent.people.api.problems import ApiProblem
from assent.people.authorization_server.grant_store import GrantStore
from assent.people.passkey_records import passkeys_of, remove_passkey
from assent.people.sessions import Sessions, check_recent
from assent.upstreams.credentials import owner_of

PATH = "/api/accounts"


@closed
class AccountFilter(TypedDict, total=False):
    after: Annotated[
        str, StringConstraints(pattern=f"^{ACCOUNT}$"), "Only names after this one: `next` of the page before."
    ]
    limit: Limit


_Roles = Annotated[list[Annotated[str, OneOf(ROLES)]], Len(1, len(ROLES))]


@closed
class NewAccount(TypedDict):
    name: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    tenant: NotRequired[Annotated[str, StringConstraints(max_length=64)]]
    roles: _Roles


@closed
class AccountRoles(TypedDict):
    roles: _Roles


_WHO = "people with the role admin: their tenant's; with the role operator too: all"
_REFUSALS = ("api.not_entitled", "api.unknown", "api.conflict")


@get(PATH, "AccountList", AccountFilter, who=_WHO, refusals=("api.not_entitled", "api.unknown"))
async def list_accounts(request: ApiRequest) -> dict[str, Any]:
    """List the accounts of people, by name."""
    tenant, limit = _tenant_of(request), request.query.get("limit", 100)
    found = await accounts_of(request.ports, tenant, request.query.get("after", ""), limit + 1)
    more = found[limit - 1].name if len(found) > limit else None
    return {"accounts": [_as_json(one) for one in found[:limit]], "next": more}


@post(PATH, "Account", NewAccount, who=_WHO, refusals=_REFUSALS)
async def create_account(request: ApiRequest) -> dict[str, Any]:
    """Make an account, and the link with which its person sets up how they sign in."""
    check_recent(request.principal, request.ports)
    own, by, now = _tenant_of(request), request.principal, request.ports.now()
    name, tenant = request.body["name"].strip().lower(), request.body.get("tenant", "").strip() or by.tenant
    if not is_name(name):
        raise ApiProblem("api.invalid", "A name has up to 64 lower-case letters, digits and . _ @ -")
    if not is_name(tenant.lower()):
        raise ApiProblem("api.invalid", "A tenant has up to 64 letters, digits and . _ @ -")
    if own not in (None, tenant):
        raise ApiProblem("api.not_entitled", "You manage the accounts of your own tenant.")
    await check_name(request, name, tenant)
    account = await keep_account(
        request.ports, Account(name, tenant, _roles(request), now, by.id), "account.create", by
    )
    if account is None:
        raise ApiProblem("api.conflict", "There is an account of this name. It is unique in the gateway.")
    return await _with_link(request, account)


@post(f"{PATH}/{{account}}/roles", "Account", AccountRoles, who=_WHO, refusals=_REFUSALS)
async def change_roles(request: ApiRequest) -> dict[str, Any]:
    """Give an account other roles; its sessions end."""
    check_recent(request.principal, request.ports)
    account = await _find_managed_account(request)
    return _as_json(await _keep(request, replace(account, roles=_roles(request)), "account.roles"))


@post(f"{PATH}/{{account}}/reset", "Account", who=_WHO, refusals=_REFUSALS)
async def reset_account(request: ApiRequest) -> dict[str, Any]:
    """Remove every way in to an account and make a new link."""
    # Its connections go too: whoever has the link becomes this person here, but not at other services.
    check_recent(request.principal, request.ports)
    account = await _find_managed_account(request)
    owner = account.principal(request.ports.now())
    for one in await passkeys_of(request.ports, owner):  # First, so that none starts a session after those that end.
        await remove_passkey(request.ports, owner, one.id, request.principal)
    kept = await _keep(request, replace(account, disabled=False), "account.reset")
    await _forget_connections(request, owner)
    return await _with_link(request, kept)


@post(f"{PATH}/{{account}}/disable", "Account", who=_WHO, refusals=_REFUSALS)
async def disable_account(request: ApiRequest) -> dict[str, Any]:
    """Lock an account; its sessions and applications end."""
    account = await _find_managed_account(request)
    return _as_json(await _keep(request, replace(account, disabled=True), "account.disable"))


async def _keep(request: ApiRequest, account: Account, action: str) -> Account:
    ports = request.ports
    kept = await keep_account(ports, account, action, request.principal)
    if kept is None:
        raise ApiProblem("api.conflict", "Somebody else changed this account meanwhile.")
    await withdraw_enrolments(ports, account)
    await Sessions(lambda: ports.store, ports.now).end_all(account.principal(ports.now()))
    left = frozenset(kept.roles) if action == "account.roles" else frozenset[str]()
    await _revoke_keys(request, account, left)
    if action in ("account.reset", "account.disable"):
        await GrantStore(ports.store, ports.now).end_all(account.name, account.tenant)
    return kept


async def _forget_connections(request: ApiRequest, person: Principal) -> None:
    owner = owner_of(person)
    for name in request.state.settings.upstreams:
        await request.state.vault.remove(name, owner)
        request.state.forget_credential(name, owner)


async def _revoke_keys(request: ApiRequest, account: Account, left: frozenset[str]) -> None:
    """Revoke what the person made for people and what has a role that the person no longer has."""
    now = request.ports.now()
    for one in await request.ports.store.keys(limit=MOST_KNOWN):
        who = one.principal
        if one.made_by == account.name and who.kind == "human" and not one.revoked and not (left and who.roles <= left):
            await request.state.stored_keys.revoke(
                one.digest, now, key_entry("key.revoked", one, request.principal, now)
            )


def _tenant_of(request: ApiRequest) -> str | None:
    """Whose accounts a principal manages: an administrator those of their tenant, one who is an operator too all."""
    who = request.principal
    if not request.state.settings.console.accounts:
        raise ApiProblem("api.unknown", "This console has no accounts of its own.")
    if who.kind != "human" or who.has_agent or who.mode == "test" or "admin" not in who.roles:
        raise ApiProblem("api.not_entitled", "Accounts are managed by people with the role admin.")
    return None if is_operator(who) else who.tenant


async def _find_managed_account(request: ApiRequest) -> Account:
    """The account that the path names, if this administrator manages it; another's is as unknown as none."""
    tenant, account = _tenant_of(request), await find_account(request.ports, request.names["account"])
    if account is None or tenant not in (None, account.tenant):
        raise ApiProblem("api.unknown", "There is no such account.")
    if OPERATOR in account.roles and tenant is not None:
        raise ApiProblem("api.not_entitled", "Only an operator changes an operator's account.")
    return account


def _roles(request: ApiRequest) -> tuple[str, ...]:
    chosen = tuple(role for role in ROLES if role in request.body["roles"])
    if OPERATOR in chosen and not is_operator(request.principal):
        raise ApiProblem("api.not_entitled", "Only an operator makes operators: an operator sees every tenant.")
    return chosen


async def _with_link(request: ApiRequest, account: Account) -> dict[str, Any]:
    return {**_as_json(account), "enrol": f"/console/enrol?token={await make_enrolment(request.ports, account)}"}


def _as_json(account: Account) -> dict[str, Any]:
    names = ("name", "tenant", "state", "created_at", "created_by")
    return {**{name: getattr(account, name) for name in names}, "roles": list(account.roles)}
