"""The audit pages: entries, proofs, values for auditors, verification, bundles, erased values and tenants."""

from __future__ import annotations

import asyncio
import io
import re
import subprocess
import sys
import zipfile
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from assent.core.audit import Entry
from support.console.plain_browser import Browser, signed_in
from support.gateway.gateways import CI, post, rpc, shop_gateway

ARGUMENT = "order-of-a-customer"
CALL = rpc("tools/call", name="delete_order", arguments={"order_id": ARGUMENT})
READ = rpc("tools/call", name="list_orders", arguments={"limit": 1})


def roles(*names: str) -> dict[str, Any]:
    return {"roles": frozenset(names)}


async def entry_of(gateway_app: Any, kind: str) -> int:
    """The newest entry of a kind."""
    await gateway_app.store.flush()
    return max(one.index for one in await gateway_app.store.entries() if one.entry.kind == kind)


async def kinds(gateway_app: Any) -> list[tuple[str, dict[str, Any]]]:
    await gateway_app.store.flush()
    return [(one.entry.kind, one.entry.facts) for one in await gateway_app.store.entries()]


async def sign(gateway_app: Any) -> None:
    await gateway_app.store.flush()
    await gateway_app.signing.sign(always=True)


async def test_entries_are_listed_newest_first_with_filters_and_without_payload(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, **roles("operator")) as person:
            await post(url, READ)
            await post(url, CALL)
            await gateway_app.store.flush()
            page = (await person.get("/console/audit")).text
            shown = [int(found) for found in re.findall(r'href="/console/audit/(\d+)">\d', page)]
            assert shown == sorted(shown, reverse=True) and len(shown) >= 5
            assert ARGUMENT not in page
            only = (await person.get("/console/audit?kind=approval")).text
            index = await entry_of(gateway_app, "approval")
            assert re.findall(r'href="/console/audit/(\d+)">\d', only) == [str(index)]
            assert "No entry here" in (await person.get("/console/audit?tool=nothing")).text


async def test_one_page_leads_from_the_entry_over_the_proof_to_checkpoint_and_anchor(tmp_path: Path) -> None:
    anchors = {"anchors": [{"directory": str(tmp_path / "anchor"), "name": "vault"}]}
    (tmp_path / "anchor").mkdir()
    async with shop_gateway(tmp_path, audit=anchors) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store) as person:
            await post(url, READ)
            index = await entry_of(gateway_app, "read")
            assert "waits" in (await person.get(f"/console/audit/{index}")).text
            await sign(gateway_app)
            page = (await person.get(f"/console/audit/{index}")).text
            assert ">proved<" in page and "vault" in page and "covers it" in page
            head = await gateway_app.signing.log_signer.latest()
            assert head.decode().split("\n")[2] in unescape(page), "the root that was signed"


async def test_a_proof_is_downloaded_and_the_verifier_beside_it_accepts_it(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, **roles("auditor")) as person:
            await post(url, READ)
            await sign(gateway_app)
            index = await entry_of(gateway_app, "read")
            answer = await person.get(f"/console/audit/{index}/proof.zip")
            assert answer.headers["content-type"] == "application/zip"
            zipfile.ZipFile(io.BytesIO(answer.content)).extractall(tmp_path / "proof")
            assert await verified(tmp_path / "proof", f"entry-{index}.tlog-proof", "--key", "keys") == 0
            leaf = tmp_path / "proof" / f"entry-{index}.leaf"
            leaf.write_bytes(leaf.read_bytes().replace(b"list_orders", b"list_others"))
            assert await verified(tmp_path / "proof", f"entry-{index}.tlog-proof", "--key", "keys") == 1


async def verified(folder: Path, *arguments: str) -> int:
    command = [sys.executable, "verifier.py", *arguments]
    return (await asyncio.to_thread(subprocess.run, command, cwd=folder, capture_output=True, timeout=60)).returncode


async def test_a_bundle_is_streamed_and_its_own_verifier_accepts_it(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        await post(url, CALL)
        await sign(gateway_app)
        plain = await person.get("/console/audit/bundle.zip")
        asked = await person.send("/console/audit/bundle")
        assert (asked.status_code, asked.headers["location"]) == (303, "/console/audit/bundle.zip?values=1")
        whole = await person.get(asked.headers["location"])
        for name, answer, holds in (("plain", plain, False), ("whole", whole, True)):
            (tmp_path / name).mkdir()
            archive = tmp_path / name / "audit-bundle.zip"
            archive.write_bytes(answer.content)
            inside = zipfile.ZipFile(archive)
            (tmp_path / name / "verifier.py").write_bytes(inside.read("verifier.py"))
            assert await verified(tmp_path / name, "audit-bundle.zip") == 0
            text = b"".join(inside.read(one) for one in inside.namelist() if one.startswith("values/"))
            assert (ARGUMENT.encode() in text) is holds
        looks = [facts for kind, facts in await kinds(gateway_app) if facts.get("action") == "look"]
        assert len(looks) == 1 and looks[0]["count"] > 0


@pytest.mark.parametrize("names", [("operator",), ("auditor",), ("admin",), ("viewer",)])
async def test_all_values_of_all_tenants_need_two_roles_and_a_look(names: tuple[str, ...], tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, **roles(*names)) as person:
            await sign(gateway_app)
            assert (await person.send("/console/audit/bundle")).status_code == 403
            assert (await person.get("/console/audit/bundle.zip?values=1")).status_code == 403
            plain = (await person.get("/console/audit/bundle.zip")).status_code
            assert plain == (200 if names == ("operator",) else 403)


async def test_values_are_shown_to_an_auditor_and_each_look_is_an_entry(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, **roles("auditor")) as person:
            await post(url, CALL)
            index = await entry_of(gateway_app, "approval")
            page = f"/console/audit/{index}"
            before = (await person.get(page)).text
            assert ARGUMENT not in before and "kept, not shown" in before
            looked = await person.send(f"{page}/values")
            assert (looked.status_code, looked.headers["location"]) == (303, f"{page}#values")
            assert ARGUMENT in (await person.get(page)).text
            assert ARGUMENT in (await person.get(page)).text, "a reload is the same look"
            looks = [one for one in await gateway_app.store.entries() if one.entry.facts.get("action") == "look"]
            assert [(one.entry.kind, one.entry.facts["entry"]) for one in looks] == [("operator", index)]
            assert looks[0].entry.values["principal"] == "ann"
            assert looks[0].entry.facts["fields"] == ["arguments", "call"]
            other = await entry_of(gateway_app, "denial")
            assert ARGUMENT not in (await person.get(f"/console/audit/{other}")).text, "a look is at one entry"


@pytest.mark.parametrize("names", [("operator",), ("approver",), ("operator", "admin")])
async def test_nobody_else_is_shown_values(names: tuple[str, ...], tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, **roles(*names)) as person:
            await post(url, CALL)
            index = await entry_of(gateway_app, "approval")
            assert (await person.send(f"/console/audit/{index}/values")).status_code == 403
            page = (await person.get(f"/console/audit/{index}")).text
            assert "role auditor" in page and ARGUMENT not in page and "Show values" not in page


@pytest.mark.parametrize("names", [("viewer",), ("admin",)])
async def test_the_log_is_not_for_everybody(names: tuple[str, ...], tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store, **roles(*names)) as person:
            for path in ("/console/audit", "/console/audit/0", "/console/audit/0/proof.zip"):
                assert (await person.get(path)).status_code == 403
            assert (await person.send("/console/audit/verify")).status_code == 403


async def test_an_auditor_sees_their_tenants_entries_and_no_others(tmp_path: Path) -> None:
    keys = [{"name": "ci", "key": CI, "kind": "agent", "tenant": "acme", "scopes": ["*"]}]
    async with shop_gateway(tmp_path, auth={"api_keys": keys}, mode="observe") as (url, gateway_app, _):
        await post(url, rpc("tools/call", name="place_order", arguments={"item": "x"}), authorization=f"Bearer {CI}")
        begun, done = await entry_of(gateway_app, "intent"), await entry_of(gateway_app, "outcome")
        async with signed_in(url, gateway_app.store, tenant="acme", **roles("auditor")) as ours:
            for index in (begun, done):
                assert (await ours.get(f"/console/audit/{index}")).status_code == 200, "an outcome is its caller's"
            assert (await ours.get("/console/audit/0")).status_code == 404, "the configuration is the operator's"
        async with signed_in(url, gateway_app.store, tenant="evil", **roles("auditor")) as theirs:
            for index in (begun, done):
                assert (await theirs.get(f"/console/audit/{index}")).status_code == 404
                assert (await theirs.send(f"/console/audit/{index}/values")).status_code == 404
            listed = (await theirs.get("/console/audit")).text
            assert f'/console/audit/{begun}"' not in listed and "place_order" not in listed


async def test_erased_values_are_shown_as_erased(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        await post(url, CALL)
        index = await entry_of(gateway_app, "approval")
        said = Entry("redaction", 0.0, {"entry": index, "fields": ["arguments"]})
        await gateway_app.store.erase(index, ["arguments"], said)
        await person.send(f"/console/audit/{index}/values")
        page = (await person.get(f"/console/audit/{index}")).text
        assert ARGUMENT not in page
        assert re.search(r"<dt>Arguments</dt><dd><span class=\"badge\">erased</span>", page)
        await sign(gateway_app)
        assert ">proved<" in (await person.get(f"/console/audit/{index}")).text, "an erasure breaks no proof"


async def verification(person: Browser, gateway_app: Any) -> str:
    assert (await person.send("/console/audit/verify")).status_code == 303
    await asyncio.wait_for(asyncio.shield(gateway_app.runtime.evidence._verifying), 60)
    return (await person.get("/console/audit")).text


async def test_a_verification_says_that_the_log_is_intact_and_who_asked(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        await post(url, CALL)
        await sign(gateway_app)
        assert "Not verified" in (await person.get("/console/audit")).text
        assert ">intact<" in await verification(person, gateway_app)
        [facts] = [facts for _, facts in await kinds(gateway_app) if facts.get("action") == "verify"]
        assert facts["state"] == "succeeded"


async def test_a_changed_log_is_found_out(tmp_path: Path) -> None:
    import sqlite3

    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        await post(url, READ)
        index = await entry_of(gateway_app, "read")
        await sign(gateway_app)
        with sqlite3.connect(tmp_path / "assent.db") as database:
            changed = "CAST(replace(CAST(leaf AS TEXT), 'list_orders', 'list_others') AS BLOB)"
            database.execute(f"UPDATE audit_entries SET leaf = {changed} WHERE idx = ?", (index,))
        assert "not the one that was signed" in (await person.get(f"/console/audit/{index}")).text
        assert "faults" in await verification(person, gateway_app)


@pytest.mark.parametrize("entry", ["999999", "9" * 20, "9" * 5000, "x", "%D9%A1"])
async def test_an_entry_that_is_not_there_is_not_found(entry: str, tmp_path: Path) -> None:
    async with shop_gateway(tmp_path) as (url, gateway_app, _), signed_in(url, gateway_app.store) as person:
        assert (await person.get(f"/console/audit/{entry}")).status_code == 404


async def test_a_log_in_memory_says_that_it_is_not_signed(tmp_path: Path) -> None:
    async with shop_gateway(tmp_path, store="memory://") as (url, gateway_app, _):
        async with signed_in(url, gateway_app.store) as person:
            await post(url, READ)
            index = await entry_of(gateway_app, "read")
            assert "is not signed" in (await person.get("/console/audit")).text
            assert "is not signed" in (await person.get(f"/console/audit/{index}")).text
            assert (await person.send("/console/audit/verify")).status_code == 404
            assert (await person.get("/console/audit/bundle.zip")).status_code == 404
