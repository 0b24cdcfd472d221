"""`assent contract`: shows contracts and the schema of contract files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assent.cli.contract_init import init
from assent.cli.shared.options import FILE, TargetCommand, config_option, target_options
from assent.contract.profiles import GENERAL, profile_names
from assent.core.question import counted, visible
from assent.errors import ContractError, Fault, FaultsError, SettingsError
from assent.files import read_text, write_whole

if TYPE_CHECKING:
    from assent.contract.model import Contract
    from assent.upstreams.openapi.tools import ApiDescription


@click.group()
def contract() -> None:
    """Show, draft and document contracts.

    Example: assent contract show contracts.yaml
    """


@contract.command()
@click.option("--config", "of_config", is_flag=True, help="The schema of assent.yaml instead.")
def schema(of_config: bool) -> None:
    """Print the JSON Schema of contract files or of assent.yaml.

    Save it, and put `# yaml-language-server: $schema=FILE` on the first line of the file.

    Example: assent contract schema > contract.schema.json
    """
    from assent.contract.schema import contract_schema

    found = contract_schema()
    if of_config:
        from assent.config.schema import settings_schema

        found = settings_schema()
    click.echo(json.dumps(found, indent=2, ensure_ascii=False))


@contract.command(short_help="Print contracts with all derived values.")
@click.argument("target", required=False)
@click.option("--tool", "names", multiple=True, metavar="NAME", help="Only this tool; may be repeated.")
@click.option(
    "--profile", type=click.Choice(profile_names()), metavar=f"[{'|'.join(GENERAL)}|...]",
    help="As this profile reads them, with its hints.",
)  # fmt: skip
@click.option("--excluded", is_flag=True, help="Print the OpenAPI operations that get no tool, and why.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@config_option
def show(
    target: str | None, names: tuple[str, ...], profile: str | None, excluded: bool, form: str, config: Path | None
) -> None:
    """Print the contracts of TARGET (a contract file, a pattern or an OpenAPI document), or of the configuration.

    Example: assent contract show contracts.yaml --tool place_order
    """
    from assent.cli.shared.servers import api_contracts, api_of
    from assent.cli.shared.targets import check_name
    from assent.contract.files import contract_paths, load_written
    from assent.contract.show import show as show_contract

    check_name(target or "")
    api = api_of(Path(target)) if target else None
    if excluded:
        return _print_excluded(api, form)
    found = (
        [("", one) for one in api_contracts(api).values()]
        if api
        else [(one.upstream, one.contract) for one in load_written(contract_paths(_patterns(target, config)))]
    )
    known = {one.name for _, one in found}
    if missing := [name for name in names if name not in known]:
        remedy = f"The contracts are: {', '.join(sorted(known)) or 'none'}"
        raise ContractError([Fault("no contract has this name", remedy, name) for name in missing])
    chosen = [(upstream, one) for upstream, one in found if not names or one.name in names]
    hints = [""] * len(chosen)
    if profile is not None:
        chosen = [(upstream, _adapted(one, profile)) for upstream, one in chosen]
        hints = [_hints(one, profile) for _, one in chosen]
    if form == "json":
        click.echo(json.dumps(_file_of(chosen), indent=2, ensure_ascii=False))
        return
    shown = zip(chosen, hints, strict=True)
    click.echo("\n\n".join((f"{up}: " if up else "") + show_contract(one) + hint for (up, one), hint in shown))


def _adapted(one: Contract, profile: str) -> Contract:
    """The contract as a profile reads it; raises ContractError if the profile does not accept it."""
    from assent.contract.profiles import profile as named_profile

    named_profile(profile).check(one)
    return named_profile(profile).adapt(one)


def _hints(one: Contract, profile: str) -> str:
    """The hints that a profile derives from a contract, as one line."""
    from assent.contract.profiles import profile as named_profile
    from assent.contract.tool_listing import annotations_of

    listed = annotations_of(one, named_profile(profile))
    words = ", ".join(f"{name} {json.dumps(value)}" for name, value in listed.items() if name != "title")
    return f"\n  {'Hints':<18}{words or 'none'}  (profile {profile})"


def _file_of(chosen: Sequence[tuple[str, Contract]]) -> dict[str, Any]:
    """The contracts as a contract file, with one section per upstream."""
    parts: dict[str, dict[str, Any]] = {}
    for upstream, one in chosen:
        parts.setdefault(upstream, {})[one.name] = one.as_json()
    sections = [{"upstream": name, "tools": tools} for name, tools in parts.items() if name]
    return {"tools": parts.get("", {})} | ({"sections": sections} if sections else {})


def _patterns(target: str | None, config: Path | None) -> list[str]:
    from assent.config.load import find_settings

    return [target] if target else list(find_settings(config, unused=["*"], but=["contracts"]).contracts)


def _print_excluded(api: ApiDescription | None, form: str) -> None:
    if api is None:
        raise click.UsageError("--excluded needs an OpenAPI document as TARGET.")
    if form == "json":
        click.echo(json.dumps([asdict(one) for one in api.excluded], indent=2, ensure_ascii=False))
        return
    for one in api.excluded:
        click.echo(f"{one.method.upper()} {visible(one.path)}: {visible(one.reason)}")
    without = counted(len(api.excluded), "operation")
    click.echo(f"{without} without a tool; {len(api.tools)} with one.", err=True)


@contract.command(cls=TargetCommand, short_help="Print a Markdown table of tools, or keep a page up to date.")
@target_options
@click.option("--check", type=FILE, help="Exit with 1 if the table in this page differs.")
@click.option("--write", type=FILE, help="Write the table into this page.")
@click.option(
    "--sort",
    type=click.Choice(["declared", "safety"]),
    default="declared",
    show_default=True,
    help="The order of the tools; safety: the riskiest first.",
)
@config_option
@click.pass_context
def docs(
    ctx: click.Context,
    target: str | None,
    profile: str,
    contracts: tuple[str, ...],
    headers: tuple[str, ...],
    check: Path | None,
    write: Path | None,
    sort: str,
    config: Path | None,
) -> None:
    """Print the table of TARGET's tools in Markdown, or check or write it in a page.

    Without TARGET, the table shows the contracts of the configuration. In a page, the table is between the lines
    `<!-- assent:tools -->` and `<!-- /assent:tools -->`; each must be alone on its line and occur once.

    Example: assent contract docs contracts.yaml --write README.md
    """
    from assent.checks.lint.markdown_table import by_safety, drift, excluded_table, placed, table
    from assent.cli.shared.servers import api_of
    from assent.cli.shared.targets import chosen, names_nothing
    from assent.config.load import find_file, find_settings

    if check is not None and write is not None:
        raise click.UsageError("--check and --write exclude each other.", ctx)
    if names_nothing(ctx, target):
        target = str(find_file(config))
        try:
            find_settings(config, unused=["*"])
        except FaultsError as error:
            if config is None or not config.exists():
                raise
            remedy = "Correct it; a file of contracts or of definitions is named without -c"
            whole = Fault("it cannot be used as a configuration", remedy, file=target)
            raise SettingsError([*error.faults, whole]) from None
    read = chosen(ctx, target, profile, contracts, headers).read().target
    if read.configuration and not read.subjects:
        remedy = "List contract files under `contracts:`, or name a server: a URL or a command after `--`"
        raise SettingsError(Fault("the configuration lists no contracts", remedy, file=target or ""))
    made = table(by_safety(read.subjects) if sort == "safety" else read.subjects)
    api = api_of(Path(target)) if target and Path(target).is_file() else None
    if api is not None and api.excluded:
        made += "\n\n" + excluded_table([(f"{one.method.upper()} {one.path}", one.reason) for one in api.excluded])
    if check is not None:
        lines = drift(read_text(check, "Correct the path"), made, str(check))
        for line in lines:
            click.echo(line)
        ctx.exit(1 if lines else 0)
    if write is not None:
        write_whole(write, placed(read_text(write, "Correct the path"), made, str(write)), "--write")
        return
    click.echo(made)


contract.add_command(init)
