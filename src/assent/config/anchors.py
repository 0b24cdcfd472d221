"""Builds the audit log's signer and anchors from the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assent.audit.anchors import Anchor, DirectoryAnchor, GitAnchor, WebhookAnchor
from assent.audit.signed_log import AuditLogSigner, host_of
from assent.audit.signing_schedule import SigningPlan
from assent.errors import Fault, SettingsError
from assent.ports import Store
from assent.upstreams.http.address import BadAddress, UpstreamAddress
from assent.upstreams.http.fetch import exchange

if TYPE_CHECKING:
    from assent.config.model import Settings

_FORMS = "Write {directory: PATH}, {git: PATH, remote: NAME} or {webhook: URL}; a name may be added"
_ALLOWED = {"directory": {"name"}, "git": {"name", "remote"}, "webhook": {"name"}}


def log_signer_of(settings: Settings, store: Store) -> AuditLogSigner:
    """The signer of the configured store's audit log, with its keys and anchors."""
    return AuditLogSigner(store, Path(settings.secrets.directory), host_of(settings.public_url), anchors_of(settings))


def signing_plan_of(settings: Settings, store: Store) -> SigningPlan | None:
    """How the log is signed at intervals; None for a memory store, whose log ends with the process."""
    if settings.store.startswith("memory:"):
        return None
    return SigningPlan(log_signer_of(settings, store), settings.audit.sign_every, settings.audit.heartbeat)


def anchors_of(settings: Settings) -> list[Anchor]:
    """The configured anchors. Anchors of the same kind get a number as part of their name unless you name them."""
    found: list[Anchor] = []
    for number, given in enumerate(settings.audit.anchors):
        anchor = _anchor(given, number)
        if anchor.name in [other.name for other in found]:
            raise _bad(f"two anchors have the name {anchor.name}", "Give one of them another name", number)
        found.append(anchor)
    return found


def _anchor(given: Mapping[str, Any], number: int) -> Anchor:
    kinds = [kind for kind in _ALLOWED if kind in given]
    if len(kinds) != 1 or set(given) - {kinds[0]} - _ALLOWED[kinds[0]]:
        raise _bad("this entry does not describe an anchor", _FORMS, number)
    if not all(isinstance(value, str) and value for value in given.values()):
        raise _bad("every value of an anchor must be text", _FORMS, number)
    kind, name = kinds[0], given.get("name") or (kinds[0] if number == 0 else f"{kinds[0]}-{number}")
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise _bad(f"{name!r} is not a valid anchor name", "Use letters, digits, - and _", number)
    if kind == "directory":
        return DirectoryAnchor(Path(given["directory"]), name)
    if kind == "git":
        return GitAnchor(Path(given["git"]), given.get("remote"), name)
    try:
        UpstreamAddress.of(given["webhook"])
    except BadAddress as error:
        raise _bad(str(error), "Correct the address", number) from None
    return WebhookAnchor(given["webhook"], send, name=name)


def _bad(message: str, remedy: str, number: int) -> SettingsError:
    return SettingsError(Fault(message, remedy, f"audit.anchors.{number}"))


async def send(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Posts a checkpoint and returns the response status."""
    fields = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    status, _ = await exchange("anchor", b"POST", url, fields, body, most=64 * 1024)
    return status
