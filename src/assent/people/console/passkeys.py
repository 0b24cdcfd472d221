"""Passkeys: the challenges they sign, and the checks of what a browser sends back.

A person owns passkeys whichever way they sign in. Those of a local account sign in; all of them sign decisions.

See ADR 0066.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import orjson
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from assent.core.document import Document
from assent.core.principal import Principal
from assent.people.console.page import PageError, PageRequest, address_of, passkey_domain
from assent.people.passkey_records import (
    MOST_OF_A_PERSON,
    Passkey,
    document_of,
    handle_of,
    passkey_entry,
    passkey_of,
    passkeys_of,
    record_id,
)
from assent.people.sessions import PASSKEYS
from assent.ports import Ports, Store

USED = "console_used_challenge"
CHALLENGE_LASTS = 300
MOST_CREDENTIAL = 32 * 1024
_VERIFIED = UserVerificationRequirement.REQUIRED


@dataclass(frozen=True, slots=True)
class Ceremony:
    """Where a passkey is used: the domain it belongs to and the page's origin."""

    domain: str
    origin: str


def ceremony_of(page: PageRequest) -> Ceremony | None:
    """Where this page uses passkeys; None where the console is open under a bare address, which has none."""
    domain = passkey_domain(page)
    return None if domain is None else Ceremony(domain, address_of(page))


def new_challenge(keyed_hash: Callable[[str], str], purpose: str, now: float) -> bytes:
    """A challenge that only this gateway makes, for one purpose and five minutes; nothing is stored for it."""
    head = secrets.token_bytes(16) + int(now + CHALLENGE_LASTS).to_bytes(8, "big")
    return head + _seal(keyed_hash, purpose, head)


def _seal(keyed_hash: Callable[[str], str], purpose: str, head: bytes) -> bytes:
    return bytes.fromhex(keyed_hash(f"console passkey challenge v1\n{purpose}\n{head.hex()}"))[:16]


def check_challenge(keyed_hash: Callable[[str], str], purpose: str, challenge: bytes, now: float) -> bool:
    head, seal = challenge[:24], challenge[24:]
    right = hmac.compare_digest(_seal(keyed_hash, purpose, head), seal)
    return right and now < int.from_bytes(head[16:24], "big")


async def use_once(ports: Ports, what: bytes, until: float) -> bool:
    """Remember that a challenge or signature was used; False if it was before."""
    draft = Document(USED, hashlib.sha256(what).hexdigest(), b"{}", expires_at=until)
    return await ports.store.put_document(draft, ports.now(), expected=0) is not None


def creation_options(at: Ceremony, owner: Principal, name: str, challenge: bytes, kept: list[Passkey]) -> str:
    """What the browser needs to make a passkey, as JSON."""
    options = generate_registration_options(
        rp_id=at.domain,
        rp_name="Assent",
        user_id=handle_of(owner.tenant, owner.id),
        user_name=name,
        challenge=challenge,
        exclude_credentials=[_descriptor_of(one) for one in kept],
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.REQUIRED, user_verification=_VERIFIED
        ),
    )
    return options_to_json(options)


def request_options(at: Ceremony, challenge: bytes, kept: list[Passkey]) -> str:
    """What the browser needs to use a passkey, as JSON; with no passkeys named, it offers all it has."""
    options = generate_authentication_options(
        rp_id=at.domain,
        challenge=challenge,
        allow_credentials=[_descriptor_of(one) for one in kept],
        user_verification=_VERIFIED,
    )
    return options_to_json(options)


def _descriptor_of(one: Passkey) -> PublicKeyCredentialDescriptor:
    return PublicKeyCredentialDescriptor(id=base64url_to_bytes(one.credential))


def sent_credential(text: str) -> dict[str, Any]:
    """The browser's answer, as far as it can be read."""
    try:
        said = orjson.loads(text) if len(text) <= MOST_CREDENTIAL else None
    except orjson.JSONDecodeError:
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("response"), dict):
        raise PageError(400, "The browser sent no passkey.", "Try again; the page needs JavaScript for it.")
    return said


def sent_challenge(said: dict[str, Any]) -> bytes:
    """The challenge that the browser says it answered; it counts only after the signature was checked."""
    try:
        client_data = orjson.loads(base64url_to_bytes(said["response"]["clientDataJSON"]))
        return base64url_to_bytes(client_data["challenge"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise unknown_passkey() from None


def made_passkey(said: dict[str, Any], at: Ceremony, challenge: bytes) -> tuple[str, str, int]:
    """Credential, public key and counter of a new passkey."""
    try:
        made = verify_registration_response(
            credential=said,
            expected_challenge=challenge,
            expected_rp_id=at.domain,
            expected_origin=at.origin,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, KeyError, TypeError):
        raise PageError(403, "The passkey was not accepted.", "Try again with another passkey.") from None
    return bytes_to_base64url(made.credential_id), bytes_to_base64url(made.credential_public_key), made.sign_count


def checked_assertion(said: dict[str, Any], at: Ceremony, passkey: Passkey, challenge: bytes) -> int:
    """The new counter of a passkey that signed this challenge, for this origin, with the person verified."""
    try:
        done = verify_authentication_response(
            credential=said,
            expected_challenge=challenge,
            expected_rp_id=at.domain,
            expected_origin=at.origin,
            credential_public_key=base64url_to_bytes(passkey.public_key),
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=True,
        )
    except (WebAuthnException, ValueError, KeyError, TypeError):
        raise unknown_passkey() from None
    return done.new_sign_count


def unknown_passkey() -> PageError:
    return PageError(403, "The passkey was not accepted.", "It is unknown here, was removed, or answered another page.")


async def find_passkey(ports: Ports, said: dict[str, Any], owner: Principal | None = None) -> Passkey:
    """The passkey that a browser's answer names: of this person, or of whoever it says."""
    try:
        handle = base64url_to_bytes(said["response"]["userHandle"]) if owner is None else b""
        credential = base64url_to_bytes(said["id"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise unknown_passkey() from None
    id = record_id(handle if owner is None else handle_of(owner.tenant, owner.id), credential)
    kept = await ports.store.document(PASSKEYS, id, ports.now())
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


ATTEMPTS = "console_attempts"
WINDOW = 900.0
MOST_ATTEMPTS = 100
_TRIES = 5


async def count_attempt(store: Store, address: str, now: float) -> None:
    """Count a sign-in before it is looked at; raises once there were too many."""
    if not await _count_attempt(store, f"address.{hashlib.sha256(address.encode()).hexdigest()}", now):
        detail = f"Wait {int(WINDOW // 60)} minutes, then try again. An administrator can make a new enrolment link."
        raise PageError(429, "There were too many sign-ins from your address.", detail)


async def _count_attempt(store: Store, id: str, now: float) -> bool:
    for _ in range(_TRIES):
        kept = await store.document(ATTEMPTS, id, now)
        count = 0 if kept is None else int(orjson.loads(kept.body)["count"])
        if count >= MOST_ATTEMPTS:
            return False
        until = now + WINDOW if kept is None else kept.expires_at
        draft = Document(ATTEMPTS, id, orjson.dumps({"count": count + 1}), expires_at=until)
        if await store.put_document(draft, now, expected=kept.version if kept else 0) is not None:
            return True
    return False
