"""Accounts of people who sign in without an identity provider, and the one-time links with which they enrol."""

from __future__ import annotations

import re
import secrets
from dataclasses import asdict, dataclass, replace

import orjson

from assent.core.audit import Entry, principal_values
from assent.core.document import Document
from assent.core.principal import Principal
from assent.gateway.auth.api_keys import digest_secret
from assent.ports import Ports

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
