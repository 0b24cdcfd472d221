"""The records of passkeys in the store. Adding and removing one is written down with its public key."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, replace
from typing import Any

import orjson
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url, decode_credential_public_key
from webauthn.helpers.decoded_public_key_to_cryptography import decoded_public_key_to_cryptography

from assent.console.page import PageError
from assent.console.passkeys import KIND, MOST_OF_A_PERSON, Passkey, handle_of, unknown_passkey
from assent.core.audit import Entry, principal_values
from assent.core.document import Document
from assent.core.principal import Principal
from assent.ports import Ports


async def passkeys_of(ports: Ports, owner: Principal) -> list[Passkey]:
    """The passkeys of a person."""
    start = handle_of(owner.tenant, owner.id).hex()[:32] + "."
    found = await ports.store.documents(KIND, ports.now(), after=start, limit=MOST_OF_A_PERSON + 1)
    mine = [_passkey_of(one) for one in found if one.id.startswith(start)]
    return sorted(mine, key=lambda one: one.added_at)


async def find_passkey(ports: Ports, said: dict[str, Any], owner: Principal | None = None) -> Passkey:
    """The passkey that a browser's answer names: of this person, or of whoever it says."""
    try:
        handle = base64url_to_bytes(said["response"]["userHandle"]) if owner is None else b""
        credential = base64url_to_bytes(said["id"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise unknown_passkey() from None
    id = _id(handle if owner is None else handle_of(owner.tenant, owner.id), credential)
    kept = await ports.store.document(KIND, id, ports.now())
    if kept is None:
        raise unknown_passkey()
    return _passkey_of(kept)


async def add_passkey(
    ports: Ports, owner: Principal, account: bool, credential: str, public_key: str, sign_count: int, label: str
) -> Passkey:
    if len(await passkeys_of(ports, owner)) >= MOST_OF_A_PERSON:
        raise PageError(409, f"You have {MOST_OF_A_PERSON} passkeys.", "Remove one first.")
    id = _id(handle_of(owner.tenant, owner.id), base64url_to_bytes(credential))
    now, named = ports.now(), label.strip()[:60] or "Passkey"
    passkey = Passkey(id, owner.tenant, owner.id, account, credential, public_key, sign_count, named, now)
    draft = _document_of(passkey)
    if await ports.store.put_document(draft, now, expected=0, entry=_entry(ports, "added", passkey, owner)) is None:
        raise PageError(409, "You have this passkey already.", "Use it to sign in.")
    return passkey


async def remove_passkey(ports: Ports, owner: Principal, id: str, by: Principal) -> bool:
    """Remove one of a person's passkeys; False if it is not theirs."""
    passkey = next((one for one in await passkeys_of(ports, owner) if one.id == id), None)
    if passkey is None:
        return False
    entry = _entry(ports, "removed", passkey, by)
    return await ports.store.delete_document(KIND, id, ports.now(), entry=entry) is not None


async def keep_count(ports: Ports, passkey: Passkey, sign_count: int) -> None:
    """Keep a passkey's new counter; raises if another sign-in was faster."""
    draft = _document_of(replace(passkey, sign_count=sign_count))
    if await ports.store.put_document(draft, ports.now(), expected=passkey.version) is None:
        raise unknown_passkey()


def plain_key(passkey: Passkey) -> str:
    """The public key as base64url of its DER form (SubjectPublicKeyInfo), which needs no CBOR to be read."""
    decoded = decode_credential_public_key(base64url_to_bytes(passkey.public_key))
    key = decoded_public_key_to_cryptography(decoded)
    return bytes_to_base64url(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def _entry(ports: Ports, what: str, passkey: Passkey, by: Principal) -> Entry:
    values = {**principal_values(by), "person": passkey.person, "credential": passkey.credential}
    facts = {"event": f"passkey.{what}"}
    return Entry("authentication", ports.now(), facts, {**values, "public_key": plain_key(passkey)})


def _id(handle: bytes, credential: bytes) -> str:
    return f"{handle.hex()[:32]}.{hashlib.sha256(credential).hexdigest()}"


def _document_of(passkey: Passkey) -> Document:
    body = {name: value for name, value in asdict(passkey).items() if name not in ("id", "tenant", "version")}
    return Document(KIND, passkey.id, orjson.dumps(body), passkey.tenant)


def _passkey_of(kept: Document) -> Passkey:
    return Passkey(kept.id, kept.tenant, version=kept.version, **orjson.loads(kept.body))
