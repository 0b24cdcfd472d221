"""`assent claims`: lists started calls and settles those in doubt."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assent.cli.shared.options import EXISTING_FILE, operator, print_records, store_option, to_be_asked
from assent.core.question import visible
from assent.core.shown_records import claim_as_json

if TYPE_CHECKING:
    from assent.core.claims import ClaimRecord
    from assent.pipeline.settle import Finding
    from assent.ports import Ports


MOST = 1000


@click.group()
def claims() -> None:
    """List started calls and settle those in doubt.

    Example: assent claims list -c assent.yaml
    """


@claims.command("list")
@click.option("--all", "everything", is_flag=True, help="Include running and finished calls.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@store_option
def list_(everything: bool, form: str, config: Path | None) -> None:
    """List the claims in doubt.

    Example: assent claims list --all
    """
    from assent.cli.shared.store_access import looking_ports, with_ports
    from assent.core.claims import State

    now = time.time()

    unsettled = (State.IN_DOUBT, State.STARTED, State.SUSPENDED)

    async def find_claims(ports: Ports) -> tuple[list[ClaimRecord], Callable[[str], str]]:
        return await ports.store.claims(states=() if everything else unsettled, limit=MOST), ports.keyed_hash

    records, keyed_hash = with_ports(config, find_claims, looking_ports)
    listed = [one for one in records if everything or one.state_at(now) is State.IN_DOUBT]
    names, rows = ("id", "state", "tool", "caller", "key", "age"), [_row(one, now) for one in listed]
    as_json = [claim_as_json(one, now, keyed_hash) for one in listed]
    print_records(form, as_json, names, rows, "No claim is in doubt.")


@claims.command("settle")
@click.argument("claim_id", metavar="ID")
@click.option(
    "--as", "finding", type=click.Choice(["done", "not-done", "failed"]), required=True, help="How the call ended."
)
@click.option(
    "--result",
    type=EXISTING_FILE,
    help="A JSON file with the tool's result, for retries; only with --as done or failed.",
)
@click.option("--no-secrets", is_flag=True, help="State that the result has no secrets, if no contract is available.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@store_option
def settle_(
    claim_id: str, finding: Finding, result: Path | None, no_secrets: bool, yes: bool, config: Path | None
) -> None:
    """Say how a claim in doubt ended, after you have checked. Retries with its key get this answer. Values that the
    tool's contract declares secret are removed from the result first.

    Example: assent claims settle 3fa1 --as done --result result.json
    """
    from assent.cli.shared.store_access import deciding_ports, operator_ports, with_ports
    from assent.pipeline.settle import settle

    given = _read_result(result, finding) if result else None
    asking = to_be_asked(yes)

    async def settling(ports: Ports) -> ClaimRecord:
        whole = await _whole_id(claim_id, ports)
        if asking:
            record = await ports.store.claim_by_id(whole)
            if record is not None:
                click.echo(
                    f"{record.tool}, called by {visible(record.principal)} of {visible(record.tenant)}", err=True
                )
            click.confirm(f"Settle {whole[:12]} as {finding}? This cannot be undone.", abort=True, err=True)
        return await settle(operator(), whole, finding, ports, given, no_secrets=no_secrets)

    settled: ClaimRecord = with_ports(config, settling, deciding_ports if result else operator_ports)
    click.echo(f"{settled.id[:12]}: {settled.state}")


def _read_result(path: Path, finding: Finding) -> dict[str, Any]:
    """A whole result, or the structured content of one, from a file."""
    if finding == "not-done":
        raise click.UsageError("A call that was not done has no result; leave out --result.")
    try:
        value = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise click.UsageError(f"{path} is not a JSON file: {error}.") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"{path} must hold a JSON object: a tool's result, or its structured content.")
    whole = value if {"content", "structuredContent"} & value.keys() else {"structuredContent": value}
    text = json.dumps(whole.get("structuredContent"), ensure_ascii=False)
    full = {"content": [{"type": "text", "text": text}], **whole}
    return {**full, "isError": True} if finding == "failed" else full


async def _whole_id(start: str, ports: Ports) -> str:
    """The only id with this prefix."""
    if len(start) < 4 or await ports.store.claim_by_id(start) is not None:
        return start
    found = [one.id for one in await ports.store.claims(limit=10 * MOST) if one.id.startswith(start)]
    if len(found) > 1:
        raise click.UsageError(f"{len(found)} claims begin with {start}; write more of the id.")
    return found[0] if found else start


def _row(one: ClaimRecord, now: float) -> tuple[str, ...]:
    who, key = visible(one.principal), visible(one.key or "-")
    return one.id[:16], one.state_at(now).value, one.tool, who, key, _age(one, now)


def _age(record: ClaimRecord, now: float) -> str:
    minutes = max(0, int(now - record.created_at)) // 60
    return f"{minutes // 60}h{minutes % 60:02}m"
