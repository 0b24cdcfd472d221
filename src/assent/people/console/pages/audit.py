"""Entries of the audit log, one entry with its proof, verification, and the bundle for an auditor."""

from __future__ import annotations

import io
import zipfile

from starlette.responses import Response, StreamingResponse

from assent.audit.bundle import verifier_source
from assent.audit.leaf import KINDS
from assent.errors import AssentError, StoreError
from assent.people.api.audit import list_entries
from assent.people.api.audit_entry import (
    UNSIGNED,
    ask_for_values_bundle,
    check_bundle,
    may_look,
    read_values,
    show_entry,
    show_status,
    verify_log,
)
from assent.people.api.feed import TIERS
from assent.people.api.operation import ApiRequest
from assent.people.console.page import LOG_READERS, PageError, PageRequest, on
from assent.people.console.pages.activity import address

ON_A_PAGE = 50
FILTERS = ("kind", "tool", "tier", "principal", "since", "until")
CHECKERS = frozenset({"operator", "auditor"})


@on("GET", "/audit", LOG_READERS, "Audit")
async def show_entries(page: PageRequest) -> Response:
    """The newest entries and the state of the log."""
    query = page.filters(list_entries)
    found = await page.api(list_entries, query={"limit": ON_A_PAGE, **query, "order": "newest"})
    chosen = {name: page.query.get(name, "") for name in FILTERS}
    return page.render(
        "audit.html",
        entries=found["entries"],
        log=await page.api(show_status),
        is_signed=page.ports.evidence is not None,
        older=address(chosen, "/console/audit", before=found["next"]) if found["next"] > 0 else None,
        newest=address(chosen, "/console/audit"),
        live="before" not in query,
        chosen=chosen,
        kinds=sorted(KINDS),
        tiers=TIERS,
        may_verify=page.may(CHECKERS),
        **_may_download(page),
    )


def _may_download(page: PageRequest) -> dict[str, bool]:
    whole = page.may(frozenset({"operator"}))
    return {"may_bundle": whole, "may_bundle_values": whole and may_look(page.principal)}


@on("GET", "/audit/{entry}", LOG_READERS)
async def show_one(page: PageRequest) -> Response:
    """One entry: what it says, its values, its proof, checkpoint and anchors."""
    entry = await page.api(show_entry, names={"entry": page.path["entry"]})
    log = await page.api(show_status)
    operation = entry["facts"].get("claim") or entry["facts"].get("approval")
    return page.render("audit_entry.html", entry=entry, log=log, may_look=may_look(page.principal), operation=operation)


@on("POST", "/audit/{entry}/values", frozenset({"auditor"}))
async def look_at_values(page: PageRequest) -> Response:
    """Show an auditor the values; the look is written down."""
    await page.api(read_values, names={"entry": page.path["entry"]})
    said = "The log now says that you looked at these values."
    return page.redirect(f"/console/audit/{page.path['entry']}#values", said)


@on("GET", "/audit/{entry}/proof.zip", LOG_READERS)
async def download_proof(page: PageRequest) -> Response:
    """The proof of one entry with its leaf, the log's public keys and the verifier."""
    entry = await page.api(show_entry, names={"entry": page.path["entry"]})
    evidence = entry["evidence"]
    if "proof" not in evidence:
        raise PageError(409, "There is no proof of this entry yet.", "The gateway signs every minute. Try again then.")
    name, out = f"entry-{entry['index']}", io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{name}.tlog-proof", evidence["proof"])
        archive.writestr(f"{name}.leaf", entry["leaf"])
        archive.writestr("keys", "".join(f"{key}\n" for key in evidence["checkpoint"]["keys"]))
        archive.writestr("verifier.py", verifier_source())
    return _attachment(Response(out.getvalue(), media_type="application/zip"), f"{name}.zip")


@on("POST", "/audit/verify", CHECKERS)
async def verify(page: PageRequest) -> Response:
    begun = (await page.api(verify_log))["begun"]
    said = "The log is being checked; the result appears here." if begun else "A check is under way already."
    return page.redirect("/console/audit", said)


@on("GET", "/audit/bundle.zip", frozenset({"operator"}))
async def download_bundle(page: PageRequest) -> Response:
    """The whole log as a .zip archive, sent while it is written. Without values unless `?values=1`."""
    values = page.query.get("values") == "1"
    await check_bundle(ApiRequest(page.principal, page.ports), values=values)
    if page.ports.evidence is None:
        raise PageError(404, "There is no bundle.", UNSIGNED)
    try:
        pieces = await page.ports.evidence.bundle(values=values)
    except StoreError:
        raise
    except AssentError as error:
        raise PageError(409, "There is no bundle.", str(error)) from error
    return _attachment(StreamingResponse(pieces, media_type="application/zip"), "audit-bundle.zip")


@on("POST", "/audit/bundle", frozenset({"auditor"}))
async def ask_bundle_values(page: PageRequest) -> Response:
    """Write down that this person takes all values, then let them download."""
    await page.api(ask_for_values_bundle)
    return page.redirect("/console/audit/bundle.zip?values=1")


def _attachment(response: Response, name: str) -> Response:
    response.headers["content-disposition"] = f'attachment; filename="{name}"'
    return response
