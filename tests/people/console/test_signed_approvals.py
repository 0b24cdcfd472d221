"""An approval signed with a passkey in a real browser, checked by the verifier that knows nothing of us."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from assent.audit import verifier
from assent.audit.bundle import DirectorySink, write_bundle
from assent.audit.log_reader import StoredEntries
from assent.config.anchors import log_signer_of
from people.console.test_passkeys import open_by_link
from people.console.test_step_up import CALL, CRITICAL, age, state, waiting
from support.console.chromium import add_authenticator, chromium_page, named, needs_chromium
from support.console.plain_browser import hidden_field
from support.gateway.gateways import post


async def add_passkey(page: Any, base: str) -> None:
    await page.goto(f"{base}/console/account")
    await page.get_by_role("button", name="Add a passkey").click()
    await page.get_by_text("The passkey was added.").wait_for()


async def export(app: Any, folder: Path) -> Path:
    signer = log_signer_of(app.settings, app.store)
    await app.store.flush()
    await signer.sign()
    await write_bundle(DirectorySink(folder / "log"), await signer.evidence(), StoredEntries(app.store), values=True)
    return folder / "log"


def run_alone(bundle: Path) -> dict[str, Any]:
    script = bundle.parent / "verifier.py"
    shutil.copy(verifier.__file__, script)
    command = [sys.executable, "-I", str(script), str(bundle), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return dict(json.loads(done.stdout))


@needs_chromium
async def test_a_signed_approval_is_checked_offline_and_every_change_to_it_shows(tmp_path: Path) -> None:
    async with waiting(tmp_path, CRITICAL) as (url, app, shop, approval), chromium_page() as page:
        base = named(url)
        await add_authenticator(page)
        await open_by_link(page, base, app.store)
        await add_passkey(page, base)
        await age(app, 301)
        await page.goto(f"{base}/console/approvals/{approval}")
        await page.get_by_role("button", name="Approve").click()
        await page.wait_for_url("**/sign")
        async with page.expect_request("**/sign") as sent:
            await page.get_by_role("button", name="Approve and sign with a passkey").click()
        form = (await sent.value).post_data_json
        await page.get_by_text("Approved and signed").wait_for()
        assert await state(app, approval) == "approved"
        await post(url, CALL)
        assert shop.effects == ["delete o-1"]

        report = run_alone(await export(app, tmp_path))
        assert (report["ok"], report["signed"], report["faults"]) == (True, 1, [])

        entries = [one.entry for one in await app.store.entries()]
        added = next(one for one in entries if one.facts.get("event") == "passkey.added").values
        decision = next(one for one in entries if one.kind == "decision")
        kept = {(added["person"], added["credential"]): added["public_key"]}
        check_changes(decision.facts, decision.values, kept)

        refused = await page.request.post(f"{base}/console/approvals/{approval}/sign", form=form)
        assert refused.status == 403, "a signature counts once"


def check_changes(facts: dict[str, Any], values: dict[str, Any], kept: dict[tuple[str, str], str]) -> None:
    def wrong(facts: dict[str, Any] = facts, values: dict[str, Any] = values, **signed: str) -> str:
        found = verifier.wrong_with_signature(facts, {**values, "signed": {**values["signed"], **signed}}, kept)
        return found[0] if found else ""

    assert wrong() == ""
    for name in ("approval", "verdict"):
        assert wrong(facts={**facts, name: "other"}) == "signature.wrong"
    assert wrong(values={**values, "shown": values["shown"] + "."}) == "signature.wrong"
    for name in ("binding", "text", "domain", "authenticator_data", "client_data", "signature", "public_key"):
        said = values["signed"][name]
        place = len(said) // 2
        assert wrong(**{name: said[:place] + ("A" if said[place] != "A" else "B") + said[place + 1 :]})
    assert wrong(values={**values, "person": "somebody else"}) == "signature.stranger"
    assert wrong(credential="AAAA") == "signature.stranger"
    assert wrong(format="assent-signed-decision/2") == "signature.malformed"
    assert verifier.wrong_with_signature(facts, values, {}) == (
        "signature.stranger",
        "no entry before it brings in this passkey for this person",
    )


@needs_chromium
async def test_a_signature_of_one_approval_does_not_approve_another(tmp_path: Path) -> None:
    async with waiting(tmp_path, CRITICAL) as (url, app, _, approval), chromium_page() as page:
        base = named(url)
        await add_authenticator(page)
        await open_by_link(page, base, app.store)
        await add_passkey(page, base)
        other = {**CALL, "params": {**CALL["params"], "arguments": {"order_id": "o-2"}}}
        await post(url, other)
        pending = {one.id for one in await app.store.approvals()} - {approval}
        await page.goto(f"{base}/console/approvals/{approval}/sign")
        async with page.expect_request("**/sign") as sent:
            await page.get_by_role("button", name="Approve and sign with a passkey").click()
        form = (await sent.value).post_data_json
        await page.get_by_text("Approved and signed").wait_for()
        target = pending.pop()
        form["csrf"] = hidden_field(await page.content(), "csrf")
        refused = await page.request.post(f"{base}/console/approvals/{target}/sign", form=form)
        assert refused.status == 403
        assert await state(app, target) == "pending"
