"""Proofs, checkpoints and verification of a running gateway's log, for `/api` and the console."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import orjson

from assent.audit import checkpoints
from assent.audit.bundle import MOST_ENTRIES, stream_bundle
from assent.audit.entry_proof import SignedHead, prove_entry, signed_head
from assent.audit.log_reader import StoredEntries
from assent.audit.merkle import hash_leaf
from assent.audit.notes import BadNote
from assent.audit.signed_log import AuditLogError, AuditLogSigner
from assent.audit.signing_schedule import PeriodicSigner
from assent.core.audit import Entry, principal_values
from assent.core.document import Document
from assent.core.principal import Principal
from assent.errors import AssentError, StoreError
from assent.ports import Store

MOST_FAULTS = 20
_VERIFICATION = ("audit_verification", "latest")


class LogEvidence:
    """The log of one gateway. The last verification is kept in the store, so that every replica shows it."""

    def __init__(self, store: Store, signing: PeriodicSigner, now: Callable[[], float]) -> None:
        self._store, self._signing, self._now = store, signing, now
        self._verifying: asyncio.Task[None] | None = None

    @property
    def _signer(self) -> AuditLogSigner:
        return self._signing.log_signer

    async def status(self) -> dict[str, Any]:
        trouble, head = self._signing.trouble, None
        try:
            head = await signed_head(self._signer)
        except AuditLogError as error:
            trouble = str(error)
        length = await self._store.length()
        last = await self._store.document(*_VERIFICATION, self._now())
        verification = None if last is None else orjson.loads(last.body)
        return {
            "length": length,
            "checkpoint": None if head is None else head_json(head),
            "unsigned": length - (head.checkpoint.size if head is not None else 0),
            "trouble": trouble,
            "anchors": [self._anchor(one.name, verification) for one in self._signer.anchors],
            "verification": verification,
            "verifying": self._verifying is not None and not self._verifying.done(),
        }

    def _anchor(self, name: str, verification: dict[str, Any] | None) -> dict[str, Any]:
        """What this process handed to an anchor, and what was found there when the log was verified last."""
        read = (verification or {}).get("anchors", {}).get(name)
        return {"name": name, "published": self._signing.anchored.get(name), "read": read}

    async def prove(self, index: int, leaf: bytes) -> dict[str, Any]:
        found = await prove_entry(self._signer, index, leaf)
        said: dict[str, Any] = {"state": found.state, "leaf_hash": hash_leaf(leaf).hex()}
        if found.head is not None:
            said["checkpoint"] = head_json(found.head)
        if found.proof is not None:
            said["path"] = [base64.b64encode(one).decode() for one in found.proof.path]
            said["proof"] = found.proof.encode().decode()
        return said

    def verify(self, by: Principal) -> bool:
        if self._verifying is not None and not self._verifying.done():
            return False
        self._verifying = asyncio.ensure_future(self._verify(by))
        return True

    async def _verify(self, by: Principal) -> None:
        found = await self._inspect_log()
        state = "succeeded" if found["ok"] else "failed"
        facts = {"action": "verify", "state": state, "count": found["entries"]}
        entry = Entry("operator", self._now(), facts, principal_values(by))
        with suppress(StoreError):
            await self._store.put_document(Document(*_VERIFICATION, orjson.dumps(found)), self._now(), entry=entry)

    async def _inspect_log(self) -> dict[str, Any]:
        begun = self._now()
        try:
            report = await self._signer.inspect()
            anchors = (await self._signer.evidence()).anchors
        except (AssentError, OSError, ValueError) as error:
            return {"at": begun, "ok": False, "entries": 0, "checkpoints": 0, "erased": 0, "faults": [], "anchors": {},
                    "fault_count": 0, "remarks": [], "error": str(error)}  # fmt: skip
        return {
            "at": begun,
            "ok": report.ok,
            "entries": report.entries,
            "checkpoints": report.checkpoints,
            "erased": report.erased,
            "fault_count": len(report.faults),
            "faults": [[one.code, one.place, one.detail] for one in report.faults[:MOST_FAULTS]],
            "remarks": report.remarks[:MOST_FAULTS],
            "anchors": {name: {"count": len(notes), "size": _largest(list(notes))} for name, notes in anchors.items()},
            "error": None,
        }

    async def bundle(self, *, values: bool) -> AsyncIterator[bytes]:
        head = await signed_head(self._signer)
        if head is None:
            raise AuditLogError("Nothing is signed yet; the gateway signs every minute. Try again then.")
        if head.checkpoint.size > MOST_ENTRIES:
            raise AuditLogError(
                f"The log has more than {MOST_ENTRIES} entries. Run `assent audit export --format bundle`."
            )
        return stream_bundle(await self._signer.evidence(), StoredEntries(self._store), values=values)

    async def close(self) -> None:
        if self._verifying is not None:
            self._verifying.cancel()
            with suppress(asyncio.CancelledError):
                await self._verifying


def head_json(head: SignedHead) -> dict[str, Any]:
    checkpoint = head.checkpoint
    return {
        "origin": checkpoint.origin,
        "size": checkpoint.size,
        "root": base64.b64encode(checkpoint.root).decode(),
        "signed_at": head.signed_at,
        "note": checkpoint.note.decode("utf-8", "replace"),
        "keys": list(head.keys),
    }


def _largest(notes: list[bytes]) -> int:
    sizes = [0]
    for note in notes:
        with suppress(BadNote):
            sizes.append(checkpoints.parse(note)[0].size)
    return max(sizes)
