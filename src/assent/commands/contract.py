"""`assent contract`: what do these contracts promise?"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from assent.commands.contract_docs import docs
from assent.commands.contract_init import init
from assent.commands.descriptions import api_contracts, api_of
from assent.commands.options import config_option
from assent.commands.targets import check_name
from assent.contract.files import contract_paths, load_contracts
from assent.contract.schema import contract_schema
from assent.contract.show import show as show_contract
from assent.core.render import counted, visible
from assent.edges.upstreams.openapi.api import Api
from assent.errors import ContractError, Fault
from assent.settings import find_settings


@click.group()
def contract() -> None:
    """Show contracts, and the schema of contract files."""


@contract.command()
def schema() -> None:
    """Print the JSON Schema of contract files, for editors.

    Save it and put `# yaml-language-server: $schema=FILE` on the first line of a contract file.
    """
    click.echo(json.dumps(contract_schema(), indent=2, ensure_ascii=False))


@contract.command(short_help="Print contracts with all that was derived.")
@click.argument("target", required=False)
@click.option("--tool", "names", multiple=True, metavar="NAME", help="Only this tool; may be repeated.")
@click.option("--excluded", is_flag=True, help="The operations of an OpenAPI document without a tool, and why.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@config_option
def show(target: str | None, names: tuple[str, ...], excluded: bool, form: str, config: Path | None) -> None:
    """Print the contracts of TARGET (a contract file, a pattern or an OpenAPI document), or of the configuration."""
    check_name(target or "")
    api = api_of(Path(target)) if target else None
    if excluded:
        return _print_excluded(api, form)
    contracts = api_contracts(api) if api else load_contracts(contract_paths(_patterns(target, config)))
    missing = [name for name in names if name not in contracts]
    if missing:
        known = ", ".join(sorted(contracts)) or "none at all"
        raise ContractError(
            [Fault("there is no contract of this name", f"There are {known}", name) for name in missing]
        )
    chosen = [found for name, found in contracts.items() if not names or name in names]
    if form == "json":
        click.echo(json.dumps({"tools": {one.name: one.as_json() for one in chosen}}, indent=2, ensure_ascii=False))
        return
    click.echo("\n\n".join(show_contract(one) for one in chosen))


def _patterns(target: str | None, config: Path | None) -> list[str]:
    return [target] if target else list(find_settings(config).contracts)


def _print_excluded(api: Api | None, form: str) -> None:
    if api is None:
        raise click.UsageError("--excluded is about an OpenAPI document: name one.")
    if form == "json":
        click.echo(json.dumps([asdict(one) for one in api.excluded], indent=2, ensure_ascii=False))
        return
    for one in api.excluded:
        click.echo(f"{one.method.upper()} {visible(one.path)}: {visible(one.reason)}")
    without = counted(len(api.excluded), "operation")
    click.echo(f"{without} without a tool; {len(api.tools)} with one.", err=True)


contract.add_command(docs)
contract.add_command(init)
