"""What a command imports before it is ready, and on which event loop the gateway runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from assent.cli import COMMANDS
from support.clients.transports import over_http
from support.gateway.gateways import Shop, configuration, post, rpc
from support.processes.servers import commanded

SDK = {"fastmcp", "mcp", "mcp_types"}
"""The SDK and its models: they cost more than everything else a command imports."""
RARELY_USED = {
    "anthropic", "asyncpg", "authlib", "cedarpy", "httpx2", "hypothesis", "jinja2", "joserfc", "jwt", "opentelemetry",
    "ruamel", "sqlglot", "starlette", "webauthn",
}  # fmt: skip
MODELS_AND_KEYS = {"cryptography", "jsonschema_rs", "pydantic", "rich", "tomlkit", "uvicorn", "yaml"}
"""What a command uses once it runs; its help does not wait for it."""
RULES = {
    "assent.contract.infer.classifier",
    "assent.checks.lint.run",
    "assent.upstreams.openapi.tools",
    "assent.people.api.app",
}


def imported_by(code: str) -> set[str]:
    """The modules of a fresh process after it has run this code, each with its packages."""
    shown = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("process", ["serve_process", "wrap_process"])
def test_a_gateway_starts_without_the_sdk_and_without_what_it_may_never_use(process: str) -> None:
    unneeded = SDK | RARELY_USED | RULES | {"cryptography"}  # A start signs and decrypts nothing.
    assert imported_by(f"import assent.cli.{process}") & unneeded == set()


HELP = """
from click.testing import CliRunner
from assent.cli import cli
def show(command, words):
    shown = CliRunner().invoke(cli, [*words, "--help"])
    assert shown.exit_code == 0 and "Usage:" in shown.output, (words, shown.output)
    for name in getattr(command, "commands", {}) or (command.list_commands(None) if command is cli else ()):
        show(command.get_command(None, name), [*words, name])
show(cli, [])
"""


def test_no_command_imports_anything_heavy_to_show_its_help() -> None:
    modules = imported_by(HELP)
    assert {f"assent.cli.{name}" for name in COMMANDS} <= modules, "every help was shown"
    ours = {"assent.contract.model", "assent.gateway.app", "assent.pipeline", "assent.stores"}
    assert modules & (SDK | RARELY_USED | MODELS_AND_KEYS | RULES | ours) == set()


async def test_the_served_process_runs_on_uvloop_and_loads_the_console_with_its_first_page(tmp_path: Path) -> None:
    pytest.importorskip("uvloop")
    async with over_http(Shop().server) as shop:
        file = tmp_path / "assent.yaml"
        file.write_text(configuration(tmp_path, {"shop": {"url": shop}}))
        async with commanded("serve", "-c", str(file), "--port", "0") as command:
            url = (await command.said(r"at (http\S+)/mcp"))[1]
            answer = await post(f"{url}/mcp", rpc("tools/call", name="list_orders", arguments={}))
            assert answer.json()["result"]["structuredContent"] == {"result": ["o-0", "o-1"]}
            assert 'event_loop="uvloop"' in (await get(f"{url}/metrics")).text
            assert (await get(f"{url}/console/signin")).status_code == 200


async def get(url: str) -> httpx2.Response:
    async with httpx2.AsyncClient(timeout=60) as client:
        return await client.get(url)
