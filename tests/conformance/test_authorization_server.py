"""The embedded authorization server passes the public conformance suite's scenarios for authorization servers."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest

from gateway.auth.test_embedded_server import Person, register, shop
from support.conformance.programs import MISSING, suite_command
from support.console.plain_browser import signed_in

pytestmark = pytest.mark.skipif(MISSING, reason="the test programs are missing: run .ci/install-node-tools")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def test_the_embedded_server_passes_the_scenarios_for_authorization_servers(tmp_path: Path) -> None:
    port, results = free_port(), tmp_path / "results"
    async with shop(tmp_path) as (url, app), signed_in(url, app.store, id="ann") as browser:
        client = (await register(url, f"http://127.0.0.1:{port}/callback")).json()["client_id"]
        command, environment = suite_command(
            "authorization", "--url", url.removesuffix("/mcp"), "--client-id", client,
            "--resource", url, "--port", str(port), "-o", str(results),
        )  # fmt: skip
        pipe = asyncio.subprocess.PIPE
        suite = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe, env=environment)
        assert suite.stdout is not None
        try:
            async with asyncio.timeout(120):
                while not (line := (await suite.stdout.readline()).decode()).startswith("http"):
                    assert line, "the suite ended before it named the address"
                person = Person(browser)
                await person.go(line.strip())
                async with httpx2.AsyncClient() as http:
                    await http.get(f"http://127.0.0.1:{port}/callback?{urlencode(person.answer)}")
                said, _ = await suite.communicate()
        finally:
            if suite.returncode is None:
                suite.kill()
    assert suite.returncode == 0, said.decode()
    checks = [one for path in results.rglob("checks.json") for one in json.loads(path.read_text())]
    assert {one["id"]: one["status"] for one in checks} == {
        "authorization-server-metadata": "SUCCESS",
        "authorization-server-metadata-cimd": "SUCCESS",
        "authorization-code-grant": "SUCCESS",
    }
