"""`assent stops`: stops calls at once, and releases them again in two steps."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assent.cli.shared.options import date_of, operator, print_table, store_option, store_settings, to_be_asked
from assent.core.question import visible
from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.core.stop_switch import Stop, StopLevel, StopScope
    from assent.pipeline.authorize import StopSwitches


@click.group()
def stops() -> None:
    """Stop everything, an upstream, a tool or a caller; list and release what is stopped.

    Every gateway on the same store obeys within a second. Calls that already run continue.

    Example: assent stops set everything --reason 'an agent sends mail to customers'
    """


def _text(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """A name without spaces around it, which would match nobody. Bytes that are not UTF-8 cannot be kept."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise click.BadParameter("it is not UTF-8 text. Nothing was changed.") from None
    return value.strip()


def _reason(ctx: click.Context, param: click.Parameter, value: str) -> str:
    from assent.core.stop_switch import MOST_REASON

    reason = _text(ctx, param, value)
    if not 1 <= len(reason) <= MOST_REASON:
        raise click.BadParameter(f"say why, in 1 to {MOST_REASON} characters; callers and the log receive it.")
    return reason


reason_option = click.option(
    "--reason", required=True, callback=_reason, help="Why. Callers receive it with the refusal, and the log keeps it."
)


@stops.command("set")
@click.argument("scope", type=click.Choice(["everything", "upstream", "tool", "caller"]))
@click.argument("target", default="", callback=_text)
@click.option("--effects", is_flag=True, help="Let calls through that only read, unless all are stopped already.")
@click.option("--tenant", default="", callback=_text, help="Stop a caller of this tenant alone.")
@click.option("--anyway", is_flag=True, help="Stop a name that nobody has seen yet.")
@reason_option
@store_option
def set_(scope: str, target: str, effects: bool, tenant: str, anyway: bool, reason: str, config: Path | None) -> None:
    """Stop everything, or an upstream, tool or caller.

    A tool has the name that clients see. A caller has the name of its key, or the subject of its token.

    Example: assent stops set upstream mail --reason 'it sends twice'
    """
    _check_target(scope, target, tenant, config)
    kind: StopScope = "principal" if scope == "caller" else scope  # type: ignore[assignment]
    level: StopLevel = "effects" if effects else "all"
    if not anyway:
        _check_known(kind, target, tenant, config)
    stop = _with_switches(
        config, lambda switches: switches.stop(operator(), kind, target, tenant, level, reason, time.time())
    )
    click.echo(f"Stopped: {_target(stop)}{_extent(stop)}. Every gateway on this store obeys within a second.")
    click.echo(f"Release it with: assent stops release {stop.id} --reason '...'", err=True)


@stops.command("list")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@store_option
def list_(form: str, config: Path | None) -> None:
    """List what is stopped, the newest first.

    Example: assent stops list
    """
    found = _with_switches(config, lambda switches: switches.all())
    if form == "json":
        click.echo(json.dumps([{"id": one.id, **asdict(one)} for one in found], indent=2, ensure_ascii=False))
    elif not found:
        click.echo("Nothing is stopped.", err=True)
    else:
        rows = [(one.id, _target(one) + _extent(one), date_of(one.at), visible(one.reason)) for one in found]
        print_table(("id", "stopped", "since", "reason"), rows)


@stops.command()
@click.argument("stop_id", metavar="ID", callback=_text)
@reason_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@store_option
def ease(stop_id: str, reason: str, yes: bool, config: Path | None) -> None:
    """Let reads through again: the first step of a release.

    Example: assent stops ease 9f86d081884c7d659a2feaa0 --reason 'the cause is found'
    """
    _confirm(stop_id, yes, "let calls through that only read", config)
    eased = _with_switches(config, lambda switches: switches.ease(operator(), stop_id, reason, time.time()))
    if eased is None:
        raise _unknown("There is no such stop of all calls")
    click.echo(f"{_target(eased)}: calls that only read run again.")


@stops.command()
@click.argument("stop_id", metavar="ID", callback=_text)
@reason_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@store_option
def release(stop_id: str, reason: str, yes: bool, config: Path | None) -> None:
    """Let all calls through again.

    Example: assent stops release 9f86d081884c7d659a2feaa0 --reason 'repaired and tried'
    """
    _confirm(stop_id, yes, "let all calls through again", config)
    released = _with_switches(config, lambda switches: switches.release(operator(), stop_id, reason, time.time()))
    if released is None:
        raise _unknown("There is no such stop; somebody may have released it")
    click.echo(f"{_target(released)}: all calls run again.")


def _check_target(scope: str, target: str, tenant: str, config: Path | None) -> None:
    if (scope == "everything") != (target == ""):
        needs = "has no TARGET" if scope == "everything" else "needs the name of the one that is meant"
        raise click.UsageError(f"`{scope}` {needs}. Nothing was stopped.")
    if tenant and scope != "caller":
        raise click.UsageError("--tenant is for callers alone. Nothing was stopped.")
    settings = store_settings(config)
    if settings.store.startswith("memory:"):
        why = "a memory store is not shared with the gateway, so nothing was stopped"
        raise SettingsError(Fault(why, "Use SQLite or PostgreSQL, or end the gateway", "store"))


def _check_known(scope: StopScope, target: str, tenant: str, config: Path | None) -> None:
    from assent.cli.shared.store_access import with_ports
    from assent.people.stop_targets import StopTargets

    settings = store_settings(config)
    fault = with_ports(config, lambda ports: StopTargets(ports.store, settings).fault(scope, target, tenant))
    if fault is not None:
        raise click.UsageError(f"{fault} --anyway stops it all the same.")


def _with_switches(config: Path | None, act: Callable[[StopSwitches], Awaitable[Any]]) -> Any:
    from assent.cli.shared.store_access import with_ports
    from assent.pipeline.authorize import StopSwitches

    return with_ports(config, lambda ports: act(StopSwitches(ports.store)))


def _confirm(stop_id: str, yes: bool, what: str, config: Path | None) -> None:
    """Ask a person before calls run again, and show what was stopped and why."""
    if not to_be_asked(yes):
        return
    found = next((one for one in _with_switches(config, lambda switches: switches.all()) if one.id == stop_id), None)
    if found is None:
        raise _unknown("There is no such stop")
    click.echo(f"{_target(found)}, since {date_of(found.at)} by {visible(found.by)}: {visible(found.reason)}", err=True)
    click.confirm(f"Really {what}?", abort=True, err=True)


def _unknown(what: str) -> click.ClickException:
    return click.ClickException(f"{what}. `assent stops list` shows those that are on.")


def _target(stop: Stop) -> str:
    if stop.scope == "everything":
        return "everything"
    scope = "caller" if stop.scope == "principal" else stop.scope
    return f"{scope} {visible(stop.target)}" + (f" of {visible(stop.tenant)}" if stop.tenant else "")


def _extent(stop: Stop) -> str:
    return "" if stop.level == "all" else " except calls that only read"
