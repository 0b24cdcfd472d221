"""Accounts of people who sign in without an identity provider, and the one-time links with which they enrol."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, replace

import orjson

from assent.config.model import Settings
from assent.core.audit import Entry, principal_values
from assent.core.deceptive_characters import plain_form
from assent.core.document import Document
from assent.core.principal import AT_THE_COMMAND_LINE, Principal, person_of
from assent.gateway.auth.authenticator import digest_secret
from assent.people.sessions import KIND as SESSIONS
from assent.people.sessions import PASSKEYS
from assent.ports import Ports
from assent.upstreams.credentials import PersonOwner
from assent.upstreams.vault import CredentialVault

KIND = "console_account"
LINKS = "console_enrolment"
LINK_LASTS = 86400.0


@dataclass(frozen=True, slots=True)
class Account:
    """A person's account. Its name is unique in the gateway."""

    name: str
    tenant: str
    roles: tuple[str, ...]
    created_at: float
    created_by: str
    disabled: bool = False
    had_password: bool = False
    """Whether it was set up with a password, which versions before 0.3 accepted."""
    version: int = 0

    def principal(self, now: float) -> Principal:
        """The person, who has just authenticated."""
        return Principal(self.name, "human", self.tenant, roles=frozenset(self.roles), auth_time=now)

    @property
    def state(self) -> str:
        return "disabled" if self.disabled else "active"


@dataclass(frozen=True, slots=True)
class Enrolment:
    """A link that has not been used yet."""

    account: str
    tenant: str

    @property
    def owner(self) -> Principal:
        """The person, as their passkeys know them."""
        return Principal(self.account, "human", self.tenant)


def is_name(text: str) -> bool:
    return re.fullmatch(r"[a-z0-9][a-z0-9._@-]{0,63}", text) is not None


async def find_account(ports: Ports, name: str) -> Account | None:
    kept = await ports.store.document(KIND, name, ports.now()) if is_name(name) else None
    return None if kept is None else _account_of(kept)


async def own_account(ports: Ports, person: Principal) -> Account | None:
    """The account of a signed-in person; None for somebody who is known in another way."""
    found = await find_account(ports, person.id)
    return found if found is not None and found.tenant == person.tenant else None


async def accounts_of(ports: Ports, tenant: str | None, after: str = "", limit: int = 100) -> list[Account]:
    """Accounts by name; of one tenant, where given."""
    kept = await ports.store.documents(KIND, ports.now(), tenant=tenant, after=after, limit=limit)
    return [_account_of(one) for one in kept]


async def accounts_without_passkey(ports: Ports) -> list[str]:
    """The accounts that were set up with a password and have nothing else, by name; at most a hundred."""
    left = [one for one in await accounts_of(ports, None, limit=100_000) if one.had_password and not one.disabled]
    if not left:
        return []
    from assent.people.passkey_records import passkeys_of

    return [one.name for one in left[:100] if not await passkeys_of(ports, one.principal(0))]


async def keep_account(ports: Ports, account: Account, action: str, by: Principal) -> Account | None:
    """Keep a new or changed account and write it down; None if somebody changed it meanwhile, or it exists."""
    body = asdict(account)
    for own in ("name", "tenant", "version", "had_password"):
        del body[own]
    values = {**principal_values(by), "account": account.name, "roles": list(account.roles)}
    entry = Entry("operator", ports.now(), {"action": action}, values)
    draft = Document(KIND, account.name, orjson.dumps(body), account.tenant)
    kept = await ports.store.put_document(draft, ports.now(), expected=account.version, entry=entry)
    return None if kept is None else replace(account, version=kept.version)


async def make_enrolment(ports: Ports, account: Account) -> str:
    """The token of a link with which the person sets up their ways to sign in, once, within a day."""
    token, now = secrets.token_urlsafe(32), ports.now()
    body = {"account": account.name}
    document = Document(LINKS, digest_secret(token), orjson.dumps(body), account.tenant, expires_at=now + LINK_LASTS)
    await ports.store.put_document(document, now)
    return token


async def find_enrolment(ports: Ports, token: str) -> Enrolment | None:
    kept = await ports.store.document(LINKS, digest_secret(token), ports.now()) if 0 < len(token) <= 128 else None
    return None if kept is None else Enrolment(orjson.loads(kept.body)["account"], kept.tenant)


async def use_enrolment(ports: Ports, token: str) -> bool:
    """Use the link up; False if somebody was faster."""
    return await ports.store.delete_document(LINKS, digest_secret(token), ports.now()) is not None


async def withdraw_enrolments(ports: Ports, account: Account) -> None:
    """Make every unused link of an account worthless."""
    for one in await ports.store.documents(LINKS, ports.now(), tenant=account.tenant, limit=10_000):
        if orjson.loads(one.body)["account"] == account.name:
            await ports.store.delete_document(LINKS, one.id, ports.now())


def _account_of(kept: Document) -> Account:
    body = orjson.loads(kept.body)
    made = float(body["created_at"]), str(body["created_by"])
    had_password = body.get("password") is not None
    return Account(kept.id, kept.tenant, tuple(body["roles"]), *made, body["disabled"], had_password, kept.version)


MOST_KNOWN = 100_000
KEY = "a person with a key"


def is_at_the_command_line(person: Principal) -> bool:
    return person.id.startswith(AT_THE_COMMAND_LINE) and not person.in_console


class KnownPeople:
    """Everybody who has an account, a passkey, a session, a key of a person, or a connection of their own."""

    def __init__(self, ports: Ports, settings: Settings, vault: CredentialVault | None = None) -> None:
        self._ports, self._settings, self._vault = ports, settings, vault

    async def like(self, name: str, tenant: str, by: Principal) -> str | None:
        """How somebody else is known whose name is this one or looks like it; None if there is nobody.

        A person may use their own name in their own tenant, and the names of keys that they made. At the command line
        a key may get the name of another one.
        """
        wanted, own = plain_form(person_of(name)), name == person_of(by.id) and tenant == by.tenant
        ids = {by.id, name} if by.id.startswith(AT_THE_COMMAND_LINE) else {by.id}
        async for known, how in self._everybody(by):
            again = how == KEY and known == name and is_at_the_command_line(by)
            if plain_form(person_of(known)) == wanted and not (own and known in ids) and not again:
                return f"{person_of(known)} ({how})"
        if not own and await self._is_connected(PersonOwner(tenant, name)):
            return f"{name} (somebody with a connection)"
        return None

    async def _everybody(self, by: Principal) -> AsyncIterator[tuple[str, str]]:
        """The id of each person, and how they are known."""
        store, now = self._ports.store, self._ports.now()
        for one in await store.documents(KIND, now, limit=MOST_KNOWN):
            yield one.id, "an account"
        for configured in self._settings.auth.api_keys:
            if configured.kind == "human":
                yield configured.name, KEY
        for kept in await store.keys(limit=MOST_KNOWN):
            if kept.principal.kind == "human" and not kept.revoked and kept.made_by != (by.maker or by.id):
                yield kept.principal.id, KEY
        for kind, field in ((PASSKEYS, "person"), (SESSIONS, "id")):
            for document in await store.documents(kind, now, limit=MOST_KNOWN):
                yield orjson.loads(document.body)[field], "somebody who signs in"

    async def _is_connected(self, owner: PersonOwner) -> bool:
        upstreams = self._settings.upstreams.items()
        lent = [name for name, one in upstreams if one.identity == "per_user" and one.auth]
        return self._vault is not None and any([await self._vault.get(name, owner) for name in lent])
