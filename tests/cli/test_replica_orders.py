"""What one replica or a command is told holds in every replica within a second."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner

from assent.cli import cli
from assent.contract.yaml_document import write_yaml
from assent.core.problems import problem_in
from support.gateway.gateways import HEADERS, rpc
from support.gateway.replicas import Replicas, replicas
from support.stores.postgres_server import drop_store, new_store_url
from support.suite.soak import TORTURE

ROOT = "assent_root0000_secret-of-root"
CALLS = 16
PEOPLE = {"api_keys": [{"name": "root", "key": ROOT, "kind": "human", "tenant": "ops", "roles": ["operator"]}]}


async def assent(running: Replicas, *arguments: str) -> Any:
    """Run a command with the configuration of the replicas."""
    run = CliRunner().invoke
    done = await asyncio.to_thread(run, cli, [*arguments, "-c", str(running.file)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


async def outcome(running: Replicas, key: str, name: str) -> str:
    """The code of a refusal, the status of a refused request, or `done`."""
    headers = {"idempotency-key": json.dumps(name), "authorization": f"Bearer {key}"}
    answer = await running.post(rpc("tools/call", name="note", arguments={"text": name}), **headers)
    if answer.status_code != 200:
        return str(answer.status_code)
    problem = problem_in(json.loads(answer.text.rsplit("data: ", 1)[-1])["result"])
    return problem["code"] if problem else "done"


async def outcomes(running: Replicas, key: str, when: str) -> set[str]:
    """What calls get that reach all replicas."""
    calls = (outcome(running, key, f"{when} {number}") for number in range(CALLS))
    return set(await asyncio.gather(*calls))


async def until_all_get(expected: str, running: Replicas, key: str, when: str) -> None:
    """Nobody gets anything else from one second after the order."""
    told = time.monotonic()
    await asyncio.sleep(1.0)  # The promise is about this time, so there is no condition to wait for.
    assert await outcomes(running, key, when) == {expected}, f"{time.monotonic() - told:.1f} s after it was told"


async def change_contracts(running: Replicas) -> None:
    """From now on a note needs an approver. No signal is sent: every replica looks by itself."""
    tools = {
        "note": {"side_effect": "write", "confirmation": {"by": "approver"}},
        "slow_note": {"side_effect": "write"},
    }
    (running.file.parent / "contracts.yaml").write_text(write_yaml({"tools": tools}))
    for command in running.commands:
        await command.said("the new configuration is used")


async def approve_one(running: Replicas, key: str) -> None:
    """A command approves a call; then all replicas know it, and the call has one effect.

    A call that begins while another with its key uses the approval up may be told to wait; called again, it has the
    result.
    """
    assert await outcome(running, key, "wanted") == "confirm.approval_pending"
    [pending] = json.loads(await assent(running, "approvals", "list", "--format", "json"))
    await assent(running, "approvals", "approve", pending["id"], "--yes")
    first = set(await asyncio.gather(*(outcome(running, key, "wanted") for _ in range(CALLS))))
    assert "done" in first and first <= {"done", "confirm.approval_pending"}
    assert set(await asyncio.gather(*(outcome(running, key, "wanted") for _ in range(CALLS)))) == {"done"}


async def order(running: Replicas, path: str, **body: str) -> Any:
    async with httpx2.AsyncClient(timeout=60, trust_env=False) as client:
        headers = {**HEADERS, "authorization": f"Bearer {ROOT}"}
        answer = await client.post(running.urls[0].removesuffix("/mcp") + path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"] if TORTURE else ["sqlite"])
async def test_a_stop_its_release_and_a_revocation_hold_in_every_replica_within_a_second_and_a_changed_file_within_two(
    kind: str, tmp_path: Path
) -> None:
    store = await new_store_url() if kind == "postgres" else ""
    async with replicas(tmp_path, store, auth=PEOPLE) as running:
        made = await assent(running, "keys", "create", "ci", "--kind", "agent", "--scope", "*", "--format", "json")
        key = json.loads(made)["key"]
        assert await outcomes(running, key, "before") == {"done"}
        stop = await order(running, "/api/switches", scope="everything", reason="an incident")
        await until_all_get("authorize.stopped", running, key, "stopped")
        await order(running, f"/api/switches/{stop['id']}/release", reason="it is over")
        await until_all_get("done", running, key, "released")
        await change_contracts(running)
        await approve_one(running, key)
        assert "done" not in await outcomes(running, key, "changed")
        await assent(running, "keys", "revoke", "ci")
        await until_all_get("401", running, key, "revoked")
        assert len(running.notes.effects) == 2 * CALLS + 1
    if store:
        await drop_store(store)
