"""`assent policy`: checks, explains, tests and compares policies, and tries rules on recorded history."""

from __future__ import annotations

from pathlib import Path
from typing import IO

import click

from assent.cli.shared.options import config_option


@click.group()
def policy() -> None:
    """Check, explain, test and compare policies, and try guards, limits, contracts and policies on history.

    Example: assent policy check -c assent.yaml
    """


@policy.command(short_help="Validate the policies and say what each applies to.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@config_option
@click.pass_context
def check(ctx: click.Context, as_json: bool, config: Path | None) -> None:
    """Validate the policies of a configuration and say what each applies to.

    Upstreams are asked for their tools. Exit code 0: every policy applies to something; 1: some apply to nothing;
    2: a policy cannot be used.

    Example: assent policy check -c assent.yaml
    """
    from assent.cli import policy_check

    policy_check.check(ctx, as_json, config)


@policy.command(short_help="Find requests that two sets of policies decide differently.")
@click.argument("old")
@click.argument("new")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with all differences.")
@config_option
@click.pass_context
def diff(ctx: click.Context, old: str, new: str, as_json: bool, config: Path | None) -> None:
    """Find requests that OLD and NEW decide differently.

    OLD and NEW are configurations (assent.yaml) or policies (a file, a folder, a pattern). Policies are compared over
    the tools of the configuration -c. Requests vary over tools, tiers and risks, kinds of principal, live and test,
    roles, and the values around every literal in the policies. Exit code 0: no difference was found; 1: differences.

    Example: assent policy diff policies/ policies-new/
    """
    from assent.cli import policy_diff

    policy_diff.diff(ctx, old, new, as_json, config)


@policy.command(short_help="Show which policies decide about one call.")
@click.argument("request_file", type=click.File("r", encoding="utf-8"), default="-", metavar="[REQUEST]")
@click.option("--as", "caller", metavar="NAME", help="Call with the configured API key of this name.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@config_option
@click.pass_context
def explain(ctx: click.Context, request_file: IO[str], caller: str | None, as_json: bool, config: Path | None) -> None:
    """Show which policies decide about one call, with their text.

    REQUEST is a file (or standard input) with one JSON object: `tool`, `arguments`, optionally `principal`. Contracts,
    guards and limits are not looked at: `assent decide` shows every stage. Exit code 0: policies allow the call;
    1: they deny it or ask for an approval.

    Example: echo '{"tool": "place_order", "arguments": {}}' | assent policy explain --as ci
    """
    from assent.cli import policy_explain

    policy_explain.explain(ctx, request_file, caller, as_json, config)


@policy.command(short_help="Decide recorded calls again under changed settings.")
@click.option("--since", help="Only calls from this time on: 2026-01-31, or an age: 15m, 2h, 7d.", metavar="T")
@click.option(
    "--history",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="The configuration whose log is read, if it is not the one of -c.",
)
@click.option("--json", "as_document", is_flag=True, help="Print everything as one JSON object.")
@config_option
@click.pass_context
def replay(ctx: click.Context, since: str | None, history: Path | None, as_document: bool, config: Path | None) -> None:
    """Decide recorded calls again, under the guards, limits, contracts and policies of another configuration.

    No tool is called and nothing is written. Recorded times are the clock of limits, budgets and time windows. Calls
    whose arguments were erased or never stored are counted as not replayable. Exit code 1: a decision changed, or the
    log does not verify.

    Example: assent policy replay -c new.yaml --since 7d
    """
    from assent.cli import policy_replay

    policy_replay.replay(ctx, since, history, as_document, config)


@policy.command(short_help="Suggest guards and scopes that recorded calls kept to.")
@click.option("--since", help="Only calls from this time on: 2026-01-31, or an age: 15m, 2h, 7d.", metavar="T")
@click.option(
    "--min-calls",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Suggest nothing about an argument that was seen in fewer calls.",
)
@config_option
def suggest(since: str | None, min_calls: int, config: Path | None) -> None:
    """Suggest guards that recorded calls have always kept to, and scopes that no call needed.

    It looks at the domains, folders and amounts in the arguments of calls that ran or that a person was asked about.
    Observe mode is a good time to collect them. Nothing is written: copy what you want into your configuration.

    Example: assent policy suggest --since 30d > suggested.yaml
    """
    from assent.cli import policy_suggest

    policy_suggest.suggest(since, min_calls, config)


@policy.command(short_help="Run cases: principal, tool, arguments, and the expected decision.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@config_option
@click.pass_context
def test(ctx: click.Context, files: tuple[Path, ...], as_json: bool, config: Path | None) -> None:
    """Run cases from YAML files: principal, tool, arguments, and the expected decision.

    Exit code 0: all cases hold; 1: some do not.

    Example: assent policy test policies/cases.yaml
    """
    from assent.cli import policy_test

    policy_test.test(ctx, files, as_json, config)
