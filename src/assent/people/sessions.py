"""Server-side sessions of people in the console, and whether a sign-in is recent enough for lasting powers.

The cookie holds a random token; the store holds its SHA-256 digest and who signed in. A session ends after eight idle
hours, twelve hours in all, or when the person signs out. A stolen session, or one left open, must not leave anything
behind that outlives it: keys, accounts, passkeys and the release of a stop need a recent sign-in.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace

import orjson

from assent.contract.fields import StepUp
from assent.core.document import Document
from assent.core.principal import Principal
from assent.gateway.auth.authenticator import digest_secret
from assent.people.api.problems import ApiProblem
from assent.pipeline.step_up import shortfall
from assent.ports import Ports, Store

KIND = "console_session"
PASSKEYS = "console_passkey"
"""The kind of the records of passkeys. It is here because the core reads it, and passkeys need a further package."""
IDLE = 8 * 3600.0
LONGEST = 12 * 3600.0
TOUCH_EVERY = 60.0
MOST_OF_A_PERSON = 20


@dataclass(frozen=True, slots=True)
class ConsoleSession:
    """One signed-in browser."""

    id: str
    principal: Principal
    csrf: str
    method: str
    """How the person signed in: link, oidc or passkey; password in sessions of versions before 0.3."""
    name: str
    """The person's name for display."""
    started_at: float
    seen_at: float
    chain: str = ""
    """The same for all sessions that continue each other; keys are listed with it."""

    def expires_at(self) -> float:
        return min(self.seen_at + IDLE, self.started_at + LONGEST)


class Sessions:
    """Starts, finds and ends sessions."""

    def __init__(self, store: Callable[[], Store], now: Callable[[], float]) -> None:
        self._store, self._now = store, now

    async def start(
        self, principal: Principal, method: str, name: str, before: ConsoleSession | None = None
    ) -> tuple[str, ConsoleSession]:
        """A new session and the token for its cookie. It continues the session before, if that is the same person's."""
        token, now = secrets.token_urlsafe(32), self._now()
        id, csrf = digest_secret(token), secrets.token_urlsafe(32)
        same = before is not None and before.principal.identity == principal.identity
        chain = before.chain if before is not None and same else id
        session = ConsoleSession(id, principal, csrf, method, name, now, now, chain)
        await self._end_oldest(principal)
        await self._store().put_document(_document_of(session), self._now())
        return token, session

    async def find(self, token: str | None) -> ConsoleSession | None:
        """The session of a cookie's token, or None. Being found keeps it from becoming idle."""
        if not token or len(token) > 128:
            return None
        now = self._now()
        document = await self._store().document(KIND, digest_secret(token), now)
        if document is None:
            return None
        session = _session_of(document)
        if now - session.seen_at >= TOUCH_EVERY:
            session = replace(session, seen_at=now)
            await self._store().put_document(_document_of(session), now, expected=document.version)
        return session

    async def is_open(self, session: ConsoleSession) -> bool:
        """Whether the session has not ended. Asking does not keep it from becoming idle."""
        return await self._store().document(KIND, session.id, self._now()) is not None

    async def end(self, session: ConsoleSession) -> bool:
        """End a session; False if it had ended already."""
        return await self._store().delete_document(KIND, session.id, self._now()) is not None

    async def end_all(self, principal: Principal) -> int:
        """End every session of a person; how many there were."""
        sessions = await self.of(principal)
        for session in sessions:
            await self.end(session)
        return len(sessions)

    async def of(self, principal: Principal) -> list[ConsoleSession]:
        """The sessions of a person, oldest first."""
        documents = await self._store().documents(KIND, self._now(), tenant=principal.tenant, limit=100_000)
        sessions = [_session_of(document) for document in documents]
        return sorted((one for one in sessions if one.principal.id == principal.id), key=lambda one: one.started_at)

    async def _end_oldest(self, principal: Principal) -> None:
        sessions = await self.of(principal)
        for session in sessions[: max(0, len(sessions) - MOST_OF_A_PERSON + 1)]:
            await self.end(session)


def _document_of(session: ConsoleSession) -> Document:
    who = session.principal
    body = {name: getattr(who, name) for name in ("id", "acr", "auth_time", "mode")}
    body |= {"scopes": sorted(who.scopes), "roles": sorted(who.roles)}
    body |= {name: getattr(session, name) for name in ("csrf", "method", "name", "started_at", "seen_at", "chain")}
    return Document(KIND, session.id, orjson.dumps(body), who.tenant, expires_at=session.expires_at())


def _session_of(document: Document) -> ConsoleSession:
    body = orjson.loads(document.body)
    principal = Principal(
        body["id"],
        "human",
        document.tenant,
        frozenset(body["scopes"]),
        frozenset(body["roles"]),
        body["acr"],
        body["auth_time"],
        body["mode"],
        in_console=True,
    )
    rest = body["started_at"], body["seen_at"], body.get("chain", document.id)
    return ConsoleSession(document.id, principal, body["csrf"], body["method"], body["name"], *rest)


MOST_AGE = 300
"""Seconds. `defaults.step_up.max_age` may ask for less, never for more."""


def is_recent(person: Principal, ports: Ports) -> bool:
    """Whether a person signed in recently and strongly enough to approve a critical call.

    Keys have no sign-in. They pass unless `defaults.step_up.approvers` is `all`: then they cannot approve such a call.
    """
    default = ports.rules.default_step_up
    if not (person.in_console or person.bearer or default.approvers == "all"):
        return True
    acr = () if default.approvers == "none" else default.spec.acr
    needed = StepUp(max_age=min(default.spec.max_age or MOST_AGE, MOST_AGE), acr=acr)
    return shortfall(needed, person, ports.now()) is None


def check_recent(person: Principal, ports: Ports) -> None:
    """Raises unless the person signed in recently."""
    if not is_recent(person, ports):
        raise ApiProblem("api.sign_in_again", "This needs a sign-in of the last minutes; yours is older or weaker.")
