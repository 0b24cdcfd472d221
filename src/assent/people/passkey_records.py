"""The records of passkeys. Adding and removing one is written down with its public key."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass

import orjson

from assent.core.audit import Entry, principal_values
from assent.core.document import Document
from assent.core.principal import Principal
from assent.people.sessions import PASSKEYS
from assent.ports import Ports

MOST_OF_A_PERSON = 20


@dataclass(frozen=True, slots=True)
class Passkey:
    """One passkey of a person."""

    id: str
    """The record's id: the owner's handle and the credential's digest."""
    tenant: str
    person: str
    account: bool
    """Whether it signs in to a local account."""
    credential: str
    public_key: str
    sign_count: int
    label: str
    added_at: float
    version: int = 0


def handle_of(tenant: str, person: str) -> bytes:
    """What authenticators know a person by; it tells nobody who they are."""
    return hashlib.sha256(b"assent passkey owner v1\n" + orjson.dumps([tenant, person])).digest()


async def passkeys_of(ports: Ports, owner: Principal) -> list[Passkey]:
    """The passkeys of a person."""
    start = handle_of(owner.tenant, owner.id).hex()[:32] + "."
    found = await ports.store.documents(PASSKEYS, ports.now(), after=start, limit=MOST_OF_A_PERSON + 1)
    mine = [passkey_of(one) for one in found if one.id.startswith(start)]
    return sorted(mine, key=lambda one: one.added_at)


async def remove_passkey(ports: Ports, owner: Principal, id: str, by: Principal) -> bool:
    """Remove one of a person's passkeys; False if it is not theirs."""
    passkey = next((one for one in await passkeys_of(ports, owner) if one.id == id), None)
    if passkey is None:
        return False
    entry = passkey_entry(ports, "removed", passkey, by)
    return await ports.store.delete_document(PASSKEYS, id, ports.now(), entry=entry) is not None


def plain_key(passkey: Passkey) -> str:
    """The public key as base64url of its DER form (SubjectPublicKeyInfo), which needs no CBOR to be read."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
    from webauthn.helpers import base64url_to_bytes, bytes_to_base64url, decode_credential_public_key
    from webauthn.helpers.decoded_public_key_to_cryptography import decoded_public_key_to_cryptography

    decoded = decode_credential_public_key(base64url_to_bytes(passkey.public_key))
    key = decoded_public_key_to_cryptography(decoded)
    return bytes_to_base64url(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


def passkey_entry(ports: Ports, what: str, passkey: Passkey, by: Principal) -> Entry:
    values = {**principal_values(by), "person": passkey.person, "credential": passkey.credential}
    facts = {"event": f"passkey.{what}"}
    return Entry("authentication", ports.now(), facts, {**values, "public_key": plain_key(passkey)})


def record_id(handle: bytes, credential: bytes) -> str:
    return f"{handle.hex()[:32]}.{hashlib.sha256(credential).hexdigest()}"


def document_of(passkey: Passkey) -> Document:
    body = {name: value for name, value in asdict(passkey).items() if name not in ("id", "tenant", "version")}
    return Document(PASSKEYS, passkey.id, orjson.dumps(body), passkey.tenant)


def passkey_of(kept: Document) -> Passkey:
    return Passkey(kept.id, kept.tenant, version=kept.version, **orjson.loads(kept.body))
