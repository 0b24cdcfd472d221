"""The people whom a gateway knows, so that nobody gets a key or an account in the name of another."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import orjson

from assent.config.model import Settings
from assent.core.characters import plain_form
from assent.core.principal import AT_THE_COMMAND_LINE, Principal, person_of
from assent.people.accounts import KIND as ACCOUNTS
from assent.people.passkey_records import KIND as PASSKEYS
from assent.people.sessions import KIND as SESSIONS
from assent.ports import Ports
from assent.upstreams.credentials import PersonOwner
from assent.upstreams.vault import CredentialVault

MOST = 100_000
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
        for one in await store.documents(ACCOUNTS, now, limit=MOST):
            yield one.id, "an account"
        for configured in self._settings.auth.api_keys:
            if configured.kind == "human":
                yield configured.name, KEY
        for kept in await store.keys(limit=MOST):
            if kept.principal.kind == "human" and not kept.revoked and kept.made_by != (by.maker or by.id):
                yield kept.principal.id, KEY
        for kind, field in ((PASSKEYS, "person"), (SESSIONS, "id")):
            for document in await store.documents(kind, now, limit=MOST):
                yield orjson.loads(document.body)[field], "somebody who signs in"

    async def _is_connected(self, owner: PersonOwner) -> bool:
        return self._vault is not None and any([await self._vault.get(name, owner) for name in self._per_user()])

    def _per_user(self) -> Iterable[str]:
        return (name for name, one in self._settings.upstreams.items() if one.identity == "per_user" and one.auth)
