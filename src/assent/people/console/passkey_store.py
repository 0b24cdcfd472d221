"""Passkeys that a page finds, adds and uses; what is wrong is a problem of the page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from webauthn.helpers import base64url_to_bytes

from assent.core.principal import Principal
from assent.people.console.page import PageError
from assent.people.console.passkeys import unknown_passkey
from assent.people.passkey_records import (
    KIND,
    MOST_OF_A_PERSON,
    Passkey,
    document_of,
    handle_of,
    passkey_entry,
    passkey_of,
    passkeys_of,
    record_id,
)
from assent.ports import Ports


async def find_passkey(ports: Ports, said: dict[str, Any], owner: Principal | None = None) -> Passkey:
    """The passkey that a browser's answer names: of this person, or of whoever it says."""
    try:
        handle = base64url_to_bytes(said["response"]["userHandle"]) if owner is None else b""
        credential = base64url_to_bytes(said["id"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise unknown_passkey() from None
    id = record_id(handle if owner is None else handle_of(owner.tenant, owner.id), credential)
    kept = await ports.store.document(KIND, id, ports.now())
    if kept is None:
        raise unknown_passkey()
    return passkey_of(kept)


async def add_passkey(
    ports: Ports, owner: Principal, account: bool, credential: str, public_key: str, sign_count: int, label: str
) -> Passkey:
    if len(await passkeys_of(ports, owner)) >= MOST_OF_A_PERSON:
        raise PageError(409, f"You have {MOST_OF_A_PERSON} passkeys.", "Remove one first.")
    id = record_id(handle_of(owner.tenant, owner.id), base64url_to_bytes(credential))
    now, named = ports.now(), label.strip()[:60] or "Passkey"
    passkey = Passkey(id, owner.tenant, owner.id, account, credential, public_key, sign_count, named, now)
    draft = document_of(passkey)
    if (
        await ports.store.put_document(draft, now, expected=0, entry=passkey_entry(ports, "added", passkey, owner))
        is None
    ):
        raise PageError(409, "You have this passkey already.", "Use it to sign in.")
    return passkey


async def keep_count(ports: Ports, passkey: Passkey, sign_count: int) -> None:
    """Keep a passkey's new counter; raises if another sign-in was faster."""
    draft = document_of(replace(passkey, sign_count=sign_count))
    if await ports.store.put_document(draft, ports.now(), expected=passkey.version) is None:
        raise unknown_passkey()
