"""`assent approvals`: lists the calls that wait for a person, and decides them."""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assent.cli.shared.options import operator, print_records, store_option, to_be_asked
from assent.core.approval import IN_BAND
from assent.core.question import visible
from assent.core.shown_records import approval_as_json, decider_of

if TYPE_CHECKING:
    from assent.core.approval import Approval, Decision, Verdict
    from assent.ports import Ports


POLL = 0.5
_WORDS: dict[Verdict, str] = {"approve": "approve", "decline": "deny", "reopen": "reopen"}


_AT_A_TERMINAL = "A person must run this in their own terminal; `--help` says what a script of theirs needs."


@click.group()
def approvals() -> None:
    """List and decide the calls that wait for a person.

    Example: assent approvals list -c assent.yaml
    """


@approvals.command("list")
@click.option("--all", "everything", is_flag=True, help="Include decided and expired approvals.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@store_option
def list_(everything: bool, form: str, config: Path | None) -> None:
    """List the approvals that wait for a decision.

    Example: assent approvals list --all --format json
    """
    from assent.cli.shared.store_access import looking_ports, with_ports

    now = time.time()

    async def find_approvals(ports: Ports) -> list[Approval]:
        return await ports.store.approvals(pending_at=None if everything else now, limit=1000)

    listed = with_ports(config, find_approvals, looking_ports)
    names, rows = ("id", "state", "tool", "asked by", "time left"), [_row(one, now) for one in listed]
    as_json = [approval_as_json(one, now) for one in listed]
    print_records(form, as_json, names, rows, "No approval waits for a decision.")


@approvals.command()
@click.argument("approval_id", metavar="ID")
@store_option
def show(approval_id: str, config: Path | None) -> None:
    """Show one approval with the whole call.

    Example: assent approvals show 01J9
    """
    from assent.cli.shared.store_access import looking_ports, with_ports
    from assent.pipeline.approve import find

    async def find_approval(ports: Ports) -> Approval:
        return await find(operator(), await _whole_id(approval_id, ports), ports)

    _print_whole(with_ports(config, find_approval, looking_ports), time.time())


@approvals.command(short_help="Approve one call, exactly as `show` prints it.")
@click.argument("approval_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; needs the whole ID.")
@store_option
def approve(approval_id: str, yes: bool, config: Path | None) -> None:
    """Approve one call, once, exactly as `show` prints it. Without a terminal, give --yes and the whole ID.

    Example: assent approvals approve 01J9
    """
    asking = to_be_asked(yes, _AT_A_TERMINAL)
    _decide(approval_id, "approve", asking, config, whole=not asking)


@approvals.command()
@click.argument("approval_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@store_option
def deny(approval_id: str, yes: bool, config: Path | None) -> None:
    """Deny a call. `assent approvals reopen` reverts it.

    Example: assent approvals deny 01J9
    """
    _decide(approval_id, "decline", not yes and sys.stdin.isatty(), config)


@approvals.command(short_help="Take a decision back: the call waits for one again.")
@click.argument("approval_id", metavar="ID")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation; needs the whole ID.")
@store_option
def reopen(approval_id: str, yes: bool, config: Path | None) -> None:
    """Take a denial back, or an approval that no call has used: the call waits for a decision again.

    Example: assent approvals reopen 01J9
    """
    asking = to_be_asked(yes, _AT_A_TERMINAL)
    _decide(approval_id, "reopen", asking, config, whole=not asking)


@approvals.command(short_help="Show each approval as it arrives, and ask for a decision.")
@click.option("--once", is_flag=True, help="Stop when no approval waits.")
@store_option
def watch(once: bool, config: Path | None) -> None:
    """Show each approval as it arrives, and ask for a decision if a terminal is attached. Ctrl-C stops.

    Example: assent approvals watch -c assent.yaml
    """
    import asyncio

    from assent.cli.shared.store_access import with_ports

    seen: set[str] = set()

    async def watching(ports: Ports) -> None:
        click.echo("Waiting for approvals; Ctrl-C stops.", err=True)
        while True:
            waiting = await ports.store.approvals(pending_at=time.time(), limit=1000)
            for approval in reversed([one for one in waiting if one.id not in seen]):
                seen.add(approval.id)
                _print_whole(approval, time.time())
                await _ask(approval, ports)
            if once and not waiting:
                return
            await asyncio.sleep(POLL)

    try:
        with_ports(config, watching)
    except KeyboardInterrupt:
        click.echo("Stopped.", err=True)


async def _ask(approval: Approval, ports: Ports) -> None:
    import asyncio

    from assent.pipeline.approve import approve as decide

    if not sys.stdin.isatty():
        return
    answer = await asyncio.to_thread(
        click.prompt, "Approve, deny or skip?", type=click.Choice(["a", "d", "s"]), default="s", err=True
    )
    if answer != "s":
        decided = await decide(operator(), approval.id, "approve" if answer == "a" else "decline", ports, "cli")
        click.echo(f"{decided.id}: {decided.state_at(time.time())}")


def _decide(approval_id: str, verdict: Verdict, asking: bool, config: Path | None, *, whole: bool = False) -> None:
    from assent.cli.shared.store_access import with_ports
    from assent.core.approval import ApprovalState
    from assent.pipeline.approve import approve as decide
    from assent.pipeline.approve import find

    async def deciding(ports: Ports) -> Approval:
        approval = await find(operator(), await _whole_id(approval_id, ports, given=whole), ports)
        if asking:
            _print_whole(approval, time.time())
            if verdict == "reopen" or approval.state_at(time.time()) is ApprovalState.PENDING:
                click.confirm(f"Really {_WORDS[verdict]} this?", abort=True, err=True)
        return await decide(operator(), approval.id, verdict, ports, "cli")

    decided = with_ports(config, deciding)
    state = decided.state_at(time.time())
    given = sum(1 for decision in decided.decisions if decision.verdict == "approve")
    more = f" ({given} of {decided.quorum} approvals)" if state is ApprovalState.PENDING else ""
    click.echo(f"{decided.id}: {state}{more}")
    if verdict == "decline" or state is ApprovalState.APPROVED:
        url = click.get_current_context().meta.get("assent.store")
        where = f" --store {shlex.quote(url)}" if url else f" -c {shlex.quote(str(config))}" if config else ""
        click.echo(f"To take it back: assent approvals reopen {decided.id}{where}", err=True)


async def _whole_id(start: str, ports: Ports, *, given: bool = False) -> str:
    """The only id with this prefix; with `given`, the whole id must be written."""
    if await ports.store.approval(start) is not None:
        return start
    found = [one.id for one in await ports.store.approvals(limit=1000) if one.id.startswith(start)] if start else []
    if found and given:
        message = f"{start} is only the start of an id. Without a confirmation you must write the whole id."
        raise click.UsageError(message)
    if len(found) > 1:
        raise click.UsageError(f"{len(found)} approvals begin with {start}; write more of the id.")
    return found[0] if found else start


def _row(one: Approval, now: float) -> tuple[str, ...]:
    return one.id, one.state_at(now).value, one.tool, visible(one.requester), _time_left(one, now)


def _print_whole(approval: Approval, now: float) -> None:
    click.echo(f"approval {approval.id}: {approval.state_at(now)}, by {approval.by}, {_time_left(approval, now)} left")
    click.echo(approval.text)
    for decision in approval.decisions:
        click.echo(decision_line(decision))


def decision_line(decision: Decision) -> str:
    """Who decided what. A client's answer is named as the client's, with the time it took."""
    if decision.channel != IN_BAND:
        return f"{decider_of(decision)} decided {decision.verdict} ({decision.channel})"
    counts = "too fast for a person; it does not count" if decision.verdict == "too_fast" else decision.verdict
    return f"answered by {decider_of(decision)}: {counts}"


def _time_left(approval: Approval, now: float) -> str:
    seconds = max(0, int(approval.expires_at - now))
    return f"{seconds // 60}m{seconds % 60:02}s"
