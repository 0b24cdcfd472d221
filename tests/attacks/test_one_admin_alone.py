"""One administrator with as many keys as they like is one person, and nobody else."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from assent.cli import cli
from assent.contract.yaml_document import write_yaml
from assent.core.deceptive_characters import plain_form
from assent.core.document import Document
from assent.core.principal import Principal, person_of
from assent.errors import SettingsError
from assent.upstreams.credentials import PersonOwner, owner_of
from support.console.plain_browser import signed_in
from support.decisions.problems import problem
from support.gateway.gateways import CONTRACTS, post, rpc, shop_gateway

ROLES = {"adm": ["admin", "approver"], "carol": ["approver"], "dan": ["approver"]}
CALL = rpc("tools/call", name="delete_order", arguments={"order_id": "o-1"})
TWO = {**CONTRACTS, "delete_order": {**CONTRACTS["delete_order"], "confirmation": {"by": "approver", "quorum": 2}}}


def key_of(name: str) -> str:
    return f"assent_{name:0<8}_secret-of-{name}"


class Team:
    """A gateway with an administrator and two approvers, and one call that waits for two of them."""

    def __init__(self, url: str, app: Any, approval: str) -> None:
        self.url, self.app, self.approval = url, app, approval

    async def ask(self, key: str, path: str, body: Any) -> httpx2.Response:
        return await post(self.url.removesuffix("/mcp") + path, body, authorization=f"Bearer {key}")

    async def make(self, name: str, by: str = "", **more: Any) -> httpx2.Response:
        body = {"name": name, "kind": "human", "roles": ["approver"], **more}
        return await self.ask(by or key_of("adm"), "/api/keys", body)

    async def approve(self, key: str) -> str:
        said = (await self.ask(key, f"/api/approvals/{self.approval}/approve", {})).json()
        return str(said.get("code") or said["state"])

    async def documents(self, kind: str) -> list[Any]:
        return [json.loads(one.body) for one in await self.app.store.documents(kind, time.time())]


@asynccontextmanager
async def team(folder: Path, **more: Any) -> AsyncIterator[Team]:
    keys = [{"name": name, "key": key_of(name), "kind": "human", "roles": roles} for name, roles in ROLES.items()]
    auth = {"anonymous": {"kind": "agent", "scopes": ["*"]}, "api_keys": keys}
    (folder / "two.yaml").write_text(write_yaml({"tools": TWO}))
    async with shop_gateway(folder, auth=auth, contracts=[str(folder / "two.yaml")], **more) as (url, app, _):
        yield Team(url, app, problem((await post(url, CALL)).json()["result"])["approval"])


async def test_two_people_fill_a_quorum_of_two(tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        assert [await there.approve(key_of(name)) for name in ("carol", "dan")] == ["pending", "approved"]


async def test_two_keys_of_one_admin_do_not(tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        first, second = [(await there.make(name)).json()["key"] for name in ("one", "two")]
        assert await there.approve(first) == "pending"
        for key in (second, key_of("adm")):
            assert await there.approve(key) == "approve.already_decided"
        (decision,) = (await there.app.store.approval(there.approval)).decisions
        assert decision.person == "one (key of adm)"
        assert await there.approve(key_of("carol")) == "approved"


async def test_a_key_made_with_a_key_is_still_the_admins(tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        first = (await there.make("one", roles=["admin", "approver"])).json()["key"]
        second = (await there.make("two", by=first)).json()["key"]
        assert await there.approve(second) == "pending"
        assert await there.approve(first) == await there.approve(key_of("adm")) == "approve.already_decided"


async def test_nobody_approves_what_their_own_key_of_a_person_asked(tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        caller = (await there.make("caller", scopes=["*"])).json()["key"]
        call = rpc("tools/call", name="delete_order", arguments={"order_id": "o-2"})
        there.approval = problem((await post(there.url, call, authorization=f"Bearer {caller}")).json()["result"])[
            "approval"
        ]
        assert await there.approve(key_of("adm")) == "approve.own_request"


@pytest.mark.parametrize(
    "other", ["https://idp.example|Carol", "https://idp.example|CAROL", "https://x.example|ｃarol"]
)
async def test_a_name_in_another_case_is_the_same_person(tmp_path: Path, other: str) -> None:
    async with team(tmp_path) as there:
        assert await there.approve(key_of("carol")) == "pending"
        async with signed_in(there.url, there.app.store, id=other, roles=["approver"]) as again:
            await again.send(f"/console/approvals/{there.approval}/approve", {})
        assert len((await there.app.store.approval(there.approval)).decisions) == 1
        assert await there.approve(key_of("dan")) == "approved"


LIKE_CAROL = ["carol", "Carol", "CAROL", "cаrоl", "car0l", "caro1", "caroI", "cárol", "ｃａｒｏｌ", "𝐜𝐚𝐫𝐨𝐥"]


async def test_no_key_gets_the_name_of_a_person_or_one_like_it(tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        for name, kind in itertools.product(LIKE_CAROL, ["human", "agent", "service"]):
            refused = await there.make(name, kind=kind)
            assert refused.status_code == 422 if name == "cаrоl" else "carol" in refused.json()["detail"], name
            assert refused.json()["code"] in ("api.conflict", "api.invalid")
        assert not await there.app.store.keys()


async def test_no_name_holds_what_nobody_sees_or_mixes_scripts(tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        for name in ("carol\u3164", "ca\u200brol", "Ꮯarol", "carοΙ", "carol\u2800", "c\u0430rol-2"):
            assert (await there.make(name)).status_code in (409, 422), name
        for name in ("josé", "Müller 2", "иван", "山田たろう", "김철수"):
            assert (await there.make(name)).status_code == 200, name


async def test_keys_made_with_a_key_of_a_disabled_person_end_too(tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        await there.ask(key_of("adm"), "/api/accounts", {"name": "bob", "roles": ["admin"]})
        async with signed_in(there.url, there.app.store, id="bob") as bob:
            page = await bob.send("/console/keys", {"name": "one", "kind": "human", "mode": "live", "role": "admin"})
        first = re.findall(r"assent_[0-9a-f]{8}_[\w-]{43}", page.text)[0]
        assert (await there.make("two", by=first)).json()["made_by"] == "bob"
        await there.ask(key_of("adm"), "/api/accounts/bob/disable", {})
        assert all(one.revoked for one in await there.app.store.keys())


async def test_a_subject_of_a_provider_does_not_get_the_name_of_an_account(tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        await there.ask(key_of("adm"), "/api/accounts", {"name": "hans", "roles": ["viewer"]})
        async with signed_in(there.url, there.app.store, id="https://idp.example|hans") as other:
            form = {"name": "hans", "kind": "agent", "mode": "live"}
            assert (await other.send("/console/keys", form)).status_code == 409


@pytest.mark.parametrize("name", ["operator:carol", "https://idp.example|carol", "x (key of carol)", "http://x|carol"])
async def test_no_name_reads_as_the_id_of_somebody(name: str, tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        assert (await there.make(name)).status_code == 422
        assert (await there.ask(key_of("adm"), "/api/accounts", {"name": name, "roles": ["viewer"]})).status_code == 422


@pytest.mark.parametrize("name", ["carol", "car0l", "caro1", "dan"])
async def test_no_account_gets_the_name_of_a_person_with_a_key(name: str, tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        refused = await there.ask(key_of("adm"), "/api/accounts", {"name": name, "roles": ["approver"]})
        assert refused.status_code == 409 and not await there.documents("console_account")


async def test_people_of_an_identity_provider_are_known_once_they_signed_in(tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        async with signed_in(there.url, there.app.store, id="https://idp.example|frida"):
            assert (await there.make("frida")).status_code == 409
        body = {"person": "https://idp.example|gerd", "account": False}
        await there.app.store.put_document(Document("console_passkey", "x.y", json.dumps(body).encode(), "local"), 1.0)
        assert (await there.make("gerd")).status_code == 409


async def test_an_admin_may_use_their_own_name_and_replace_a_key(tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        assert [(await there.make(name)).status_code for name in ("adm", "laptop", "laptop")] == [200] * 3
        assert (await there.make("laptop", by=key_of("carol"))).status_code == 403


async def test_an_operator_uses_their_own_name_only_in_their_own_tenant(tmp_path: Path) -> None:
    keys = [{"name": "op", "key": key_of("op"), "kind": "human", "roles": ["operator"]}]
    async with shop_gateway(tmp_path, auth={"api_keys": keys}) as (url, app, _):
        there = Team(url, app, "")
        assert (await there.make("op", by=key_of("op"), tenant="acme")).status_code == 409
        assert (await there.make("op", by=key_of("op"))).status_code == 200


def test_a_key_made_here_owns_its_connections_itself() -> None:
    """Also one that was made before the person it is named after was known."""
    ann = PersonOwner("local", "ann")
    assert owner_of(Principal("ann", "human")) == owner_of(Principal("operator:ann", "human")) == ann
    for kind in ("agent", "human", "service"):
        assert owner_of(Principal("ann", kind, maker="adm")) != ann
        assert owner_of(Principal("ann (key of adm)", kind, maker="adm")) != ann
        assert owner_of(Principal("ann", kind, maker="ann")) == ann, "her own agent uses her connections"
    subject = Principal("https://idp.example|ann", "agent", bearer=True)
    assert owner_of(subject) not in (ann, owner_of(Principal("https://other.example|ann", "agent")))


async def test_a_reset_account_has_no_connections_and_keys_of_a_disabled_person_end(tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        app, owner = there.app, PersonOwner("local", "bob")
        made = await there.ask(key_of("adm"), "/api/accounts", {"name": "bob", "roles": ["admin", "approver"]})
        assert made.status_code == 200
        await app.runtime.vault.put("shop", owner, {"key": "secret of bob"})
        async with signed_in(there.url, app.store, id="bob") as bob:
            for name, role in (("first", "approver"), ("second", "admin")):
                await bob.send("/console/keys", {"name": name, "kind": "human", "mode": "live", "role": role})
            await bob.send("/console/keys", {"name": "ci", "kind": "agent", "mode": "live"})
        await there.ask(key_of("adm"), "/api/accounts/bob/roles", {"roles": ["approver"]})
        assert {one.principal.id for one in await app.store.keys() if not one.revoked} == {"first", "ci"}
        await there.ask(key_of("adm"), "/api/accounts/bob/reset", {})
        assert {one.principal.id for one in await app.store.keys() if not one.revoked} == {"ci"}
        assert await app.runtime.vault.get("shop", owner) is None


async def test_a_connection_of_an_earlier_version_moves_to_its_subject_and_only_there(tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        vault, short, full = (
            there.app.runtime.vault,
            PersonOwner("local", "ann"),
            PersonOwner("local", "https://idp.example|ann"),
        )
        id = await old_connection(there.app, short)
        assert (await vault.get("shop", full)).fields == {"key": "old"}
        assert await vault.get("shop", short) is None and id
        await vault.put("shop", short, {"key": "of the account"})
        assert await vault.get("shop", PersonOwner("local", "https://evil.example|ann")) is None


async def old_connection(app: Any, owner: PersonOwner) -> str:
    """What 0.2.0 kept: nothing in it says whose it is."""
    from assent.upstreams.vault import _id

    id = _id("shop", owner)
    draft = Document("upstream_credential", id, app.runtime.vault.seal({"key": "old"}, id), owner.tenant)
    await app.store.put_document(draft, time.time())
    return id


async def test_the_command_line_asks_whether_it_is_the_same_person(tmp_path: Path) -> None:
    async with team(tmp_path) as there:
        made = await there.ask(key_of("adm"), "/api/accounts", {"name": "bob", "roles": ["approver"]})
        assert made.status_code == 200
    file = tmp_path / "assent.yaml"
    file.write_text(f"store: sqlite:///{tmp_path}/assent.db\nsecrets: {{directory: {tmp_path}/keys}}\n")

    async def create(name: str, *more: str) -> Any:
        arguments = ["keys", "create", name, "--kind", "human", *more, "-c", str(file)]
        return await asyncio.to_thread(CliRunner().invoke, cli, arguments)

    for name in ("bob", "b0b", "Bob"):
        refused = await create(name)
        assert isinstance(refused.exception, SettingsError) and "--same-person" in str(refused.exception)
    assert (await create("bob", "--same-person")).exit_code == 0
    assert [(await create(name)).exit_code for name in ("ivy", "ivy", "lvy")] == [0, 0, 1]


def test_names_that_look_alike_have_one_form() -> None:
    assert {plain_form(name) for name in LIKE_CAROL} == {plain_form("carol")}
    assert plain_form("modern") == plain_form("modem") and plain_form("ann") != plain_form("anna")
    assert person_of("one (key of https://idp.example|carol)") == person_of("operator:carol") == "carol"
