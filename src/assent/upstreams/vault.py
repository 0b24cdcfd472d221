"""Keeps the credentials of upstreams encrypted in the store, one document per upstream and owner (ADR 0096)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import orjson

from assent.core.audit import Entry, principal_values
from assent.core.document import Document
from assent.core.principal import Principal
from assent.ports import Store
from assent.upstreams.credentials import CredentialOwner, earlier_owner

if TYPE_CHECKING:  # Most gateways keep no credential.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KIND = "upstream_credential"
_NONCE = 12
_OWNER = "assent_owner"


@dataclass(frozen=True, slots=True)
class Kept:
    """A kept credential: its fields, and the version that a change must name."""

    upstream: str
    fields: dict[str, Any]
    version: int
    updated_at: float


class CredentialVault:
    """Encrypted credentials. Each is bound to its upstream and owner: moved to another row, it cannot be read."""

    def __init__(self, store: Store, key: Callable[[], bytes], now: Callable[[], float]) -> None:
        self._store, self._key, self._now = store, key, now

    @cached_property
    def _cipher(self) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(hashlib.sha256(b"assent upstream credentials\0" + self._key()).digest())

    async def get(self, upstream: str, owner: CredentialOwner) -> Kept | None:
        """The credential of this owner for this upstream, or None. One that cannot be decrypted counts as absent."""
        earlier = earlier_owner(owner)
        kept = await self._load_credential(upstream, owner)
        if kept is None and earlier is not None and await self._adopt(upstream, earlier, owner):
            kept = await self._load_credential(upstream, owner)
        if kept is not None:
            kept.fields.pop(_OWNER, None)
        return kept

    async def _load_credential(self, upstream: str, owner: CredentialOwner) -> Kept | None:
        id = _id(upstream, owner)
        document = await self._store.document(KIND, id, self._now())
        fields = self.unseal(document.body, id) if document is not None else None
        if document is None or fields is None:
            return None
        return Kept(upstream, fields, document.version, document.updated_at)

    async def _adopt(self, upstream: str, earlier: CredentialOwner, owner: CredentialOwner) -> bool:
        """Move what a version before 0.3 kept under the name alone. What this version keeps says whose it is."""
        kept = await self._load_credential(upstream, earlier)
        if kept is None or _OWNER in kept.fields or not await self.put(upstream, owner, kept.fields, expected=0):
            return False
        return await self.remove(upstream, earlier, expected=kept.version)

    async def put(
        self,
        upstream: str,
        owner: CredentialOwner,
        fields: dict[str, Any],
        *,
        expected: int | None = None,
        by: Principal | None = None,
    ) -> bool:
        """Keep a credential; with `expected`, only over that version. `by` is recorded in the audit log."""
        id = _id(upstream, owner)
        draft = Document(KIND, id, self.seal({**fields, _OWNER: owner.id}, id), owner.tenant)
        entry = self._entry("connected", upstream, by) if by is not None else None
        return await self._store.put_document(draft, self._now(), expected=expected, entry=entry) is not None

    async def remove(
        self, upstream: str, owner: CredentialOwner, *, expected: int | None = None, by: Principal | None = None
    ) -> bool:
        entry = self._entry("disconnected", upstream, by) if by is not None else None
        gone = await self._store.delete_document(
            KIND, _id(upstream, owner), self._now(), expected=expected, entry=entry
        )
        return gone is not None

    async def lock(self, upstream: str, owner: CredentialOwner, seconds: float) -> bool:
        """Take the right to renew a credential for some seconds; False if another process has it."""
        draft = Document(f"{KIND}_lock", _id(upstream, owner), b"", owner.tenant, expires_at=self._now() + seconds)
        return await self._store.put_document(draft, self._now(), expected=0) is not None

    async def unlock(self, upstream: str, owner: CredentialOwner) -> None:
        await self._store.delete_document(f"{KIND}_lock", _id(upstream, owner), self._now())

    def seal(self, fields: dict[str, Any], id: str) -> bytes:
        """Encrypt fields for the row with this id."""
        nonce = os.urandom(_NONCE)
        return nonce + self._cipher.encrypt(nonce, orjson.dumps(fields), id.encode())

    def unseal(self, body: bytes, id: str) -> dict[str, Any] | None:
        """The fields of a row; None if they were made for another row or with another key."""
        from cryptography.exceptions import InvalidTag

        try:
            fields = orjson.loads(self._cipher.decrypt(body[:_NONCE], body[_NONCE:], id.encode()))
        except (InvalidTag, ValueError):
            return None
        return fields if isinstance(fields, dict) else None

    def _entry(self, what: str, upstream: str, by: Principal) -> Entry:
        facts = {"event": f"upstream.{what}", "upstream": upstream}
        return Entry("authentication", self._now(), facts, principal_values(by))


def _id(upstream: str, owner: CredentialOwner) -> str:
    """A name that does not tell the person and cannot be another's."""
    parts = [part.encode() for part in (upstream, owner.tenant, owner.id)]
    text = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return f"{upstream}.{hashlib.sha256(text).hexdigest()}"
