"""Whatever is sent to `/api/`, the answer is JSON, true to the document, and no failure of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest

from support.gateway.api import scene

APPROVE = "/api/approvals/x/approve"


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "code"),
    [
        ("GET", "/api", None, {}, 404, "api.not_found"),
        ("GET", "/api/", None, {}, 404, "api.not_found"),
        ("GET", "/api/nowhere", None, {}, 404, "api.not_found"),
        ("GET", "/api/approvals/", None, {}, 404, "api.not_found"),
        ("GET", "/api/approvals/a/b", None, {}, 404, "api.not_found"),
        ("POST", "/api/approvals", b"{}", {}, 405, "api.method_not_allowed"),
        ("GET", "/api/approvals/a%2Fb", None, {}, 404, "approve.unknown"),
        ("GET", "/api/approvals/%00", None, {}, 404, "approve.unknown"),
        ("GET", "/api/approvals/%ff", None, {}, 404, "approve.unknown"),
        ("GET", "/api/approvals/" + "x" * 65, None, {}, 404, "approve.unknown"),
        ("GET", "/api/tools/%F0%9F%92%A9", None, {}, 404, "api.unknown"),
        ("GET", "/api/approvals?limit=0", None, {}, 400, "api.malformed"),
        ("GET", "/api/approvals?limit=1001", None, {}, 400, "api.malformed"),
        ("GET", "/api/approvals?limit=%D9%A3", None, {}, 400, "api.malformed"),
        ("GET", "/api/approvals?limit=1&limit=2", None, {}, 400, "api.malformed"),
        ("GET", "/api/approvals?state=odd", None, {}, 400, "api.malformed"),
        ("GET", "/api/approvals?cursor=%00", None, {}, 400, "api.malformed"),
        ("GET", "/api/approvals?colour=red", None, {}, 400, "api.malformed"),
        ("GET", "/api/approvals?limit=%ff", None, {}, 400, "api.malformed"),
        ("GET", "/api/approvals?" + "&".join(["limit=1"] * 30), None, {}, 400, "api.malformed"),
        ("GET", "/api/approvals?limit=" + "1" * 5000, None, {}, 400, "api.malformed"),
        ("GET", "/api/audit?after=-2", None, {}, 400, "api.malformed"),
        ("GET", "/api/audit?after=99999999999999999999", None, {}, 400, "api.malformed"),
        ("GET", "/api/audit?tool=a%20b", None, {}, 400, "api.malformed"),
        ("POST", APPROVE, b"{}", {"content-type": "text/plain"}, 415, "api.not_json"),
        ("POST", APPROVE, b"a=b", {"content-type": "application/x-www-form-urlencoded"}, 415, "api.not_json"),
        (
            "POST",
            APPROVE,
            b"{}",
            {"content-type": "multipart/form-data; a=application/json"},
            415,
            "api.not_json",
        ),
        ("POST", APPROVE, b"{", {}, 400, "api.malformed"),
        ("POST", APPROVE, b'{"a":1,"a":2}', {}, 400, "api.malformed"),
        ("POST", APPROVE, b"NaN", {}, 400, "api.malformed"),
        ("POST", APPROVE, b"\xff", {}, 400, "api.malformed"),
        ("POST", APPROVE, b"[" * 100 + b"]" * 100, {}, 400, "api.malformed"),
        ("POST", APPROVE, b'{"verdict":"yes"}', {}, 422, "api.invalid"),
        ("POST", APPROVE, b"[]", {}, 422, "api.invalid"),
        ("POST", APPROVE, b'"' + b"x" * 1_100_000 + b'"', {}, 413, "api.too_large"),
        ("GET", "/api/tools", None, {"host": "evil.example"}, 421, "api.wrong_host"),
        ("GET", "/api/tools", None, {"origin": "http://evil.example"}, 403, "api.foreign_origin"),
        ("GET", "/api/tools", None, {"origin": "null"}, 403, "api.foreign_origin"),
        ("POST", APPROVE, b"{}", {"origin": "http://evil.example"}, 403, "api.foreign_origin"),
    ],
)
async def test_what_cannot_be_answered_is_a_problem(
    method: str, path: str, body: Any, headers: dict[str, str], status: int, code: str, tmp_path: Path
) -> None:
    async with scene(tmp_path) as there:
        given = headers if method == "GET" else {"content-type": "application/json", **headers}
        said = await there.send(method, path, "root", body, **given)
        assert (said.status, said.code) == (status, code)


async def test_a_bad_key_is_challenged_like_at_mcp_and_never_falls_through(tmp_path: Path) -> None:
    anonymous = {"anonymous": {"kind": "human", "scopes": ["*"], "roles": ["operator"]}}
    async with scene(tmp_path, auth=anonymous) as there:
        assert (await there.get("/api/approvals", None)).status == 200
        said = await there.get("/api/approvals", None, authorization="Bearer wrong")
        assert (said.status, said.code) == (401, "authenticate.invalid")
        assert said.headers["www-authenticate"] == 'Bearer error="invalid_token"'


async def test_a_head_is_a_get_without_its_body(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        said = await there.send("HEAD", "/api/tools", "root")
        assert (said.status, said.json) == (200, {})
        assert int(said.headers["content-length"]) > 0


async def test_a_store_that_fails_is_said_to_be_unavailable_and_nothing_more(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        await there.gateway_app.store.close()
        for said in (await there.get("/api/approvals", "root"), await there.get("/api/audit", "root")):
            assert (said.status, said.code) == (503, "api.unavailable")
            assert str(tmp_path) not in str(said.json)


async def test_without_the_store_a_kept_key_is_nobodys_and_the_gateway_says_so(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        await there.gateway_app.store.close()
        kept = {"authorization": "Bearer assent_00000000_kept", "content-type": "application/json"}
        said = await there.get("/api/tools", None, **kept)
        assert (said.status, said.code) == (503, "record.unavailable")
        async with httpx2.AsyncClient(timeout=60) as client:
            call = await client.post(there.url, content=b"{}", headers={**kept, "accept": "application/json"})
        assert (call.status_code, call.json()["code"]) == (503, "record.unavailable")


async def test_a_field_that_there_is_not_is_named(tmp_path: Path) -> None:
    async with scene(tmp_path) as there:
        said = await there.send("POST", APPROVE, "root", b'{"verdict":"yes"}', **{"content-type": "application/json"})
        assert said.json["detail"] == "The body: there are unknown fields: 'verdict'."
