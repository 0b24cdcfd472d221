"""`assent contract`: what do these contracts promise?"""

from __future__ import annotations

import json
from pathlib import Path

import click

from assent.bootstrap import contract_paths
from assent.commands.contract_docs import docs
from assent.commands.options import config_option
from assent.contract.files import load_contracts
from assent.contract.schema import contract_schema
from assent.contract.show import show as show_contract
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


@contract.command()
@click.argument("target", required=False)
@click.option("--tool", "names", multiple=True, metavar="NAME", help="Only this tool; may be repeated.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@config_option
def show(target: str | None, names: tuple[str, ...], form: str, config: Path | None) -> None:
    """Print the contracts of TARGET (a contract file or a pattern), or of the configuration, as people read them."""
    patterns = [target] if target else list(find_settings(config).contracts)
    contracts = load_contracts(contract_paths(patterns))
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


contract.add_command(docs)
