"""The receipt of one operation: every entry about it, each with the proof that it is in the signed log."""

from __future__ import annotations

import base64
from typing import Any

from assent.audit.log_reader import holding, needles_of, pieces_back, read_row, rows_at
from assent.audit.signed_log import AuditLogError, AuditLogSigner
from assent.ports import Store

FORMAT = "assent-receipt/1"
MOST_ENTRIES = 200
_JOINS = ("claim", "approval")


async def make_receipt(signer: AuditLogSigner, operation: str) -> dict[str, Any]:
    """The receipt of an operation, named by the id of its approval or claim. The log is signed first."""
    await signer.sign()
    places = await _places(signer.store, operation)
    if not places:
        raise AuditLogError(f"The log has no entry about {operation!r}. Give the id of an approval or a claim.")
    if len(places) > MOST_ENTRIES:
        raise AuditLogError(f"The log has {len(places)} entries about {operation!r}; a receipt holds {MOST_ENTRIES}.")
    rows = await rows_at(signer.store, places)
    entries = []
    for place in sorted(places):
        proof, leaf = await signer.prove(place)
        blob = rows[place].vals
        values = dict(read_row(place, leaf, blob).values)
        packed = base64.b64encode(blob).decode() if blob else None
        entries.append({"leaf": leaf.decode(), "values": values, "packed": packed, "proof": proof.encode().decode()})
    return {"format": FORMAT, "operation": operation, "entries": entries}


async def _places(store: Store, operation: str) -> set[int]:
    """Where the entries of an operation are: those that name it, and those that name its approval or its claim."""
    names, found = {operation}, set[int]()
    for _ in _JOINS:  # An intent joins an approval with its claim.
        length = await store.length()
        known = set(names)
        async for piece in pieces_back(store, length):
            for name in known:
                for key in _JOINS:
                    for place, leaf in holding(piece, needles_of(**{key: name})):
                        found.add(place)
                        facts = read_row(place, leaf, None).leaf.facts
                        names |= {str(facts[other]) for other in _JOINS if other in facts}
        if names == known:
            break
    return found
