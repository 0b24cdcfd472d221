"""`assent contract init`: drafts a contract file for the tools of a server, for a person to review."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assent.cli.shared.options import TargetCommand, config_option, target_options
from assent.cli.shared.servers import list_tools, read_description, settings_naming
from assent.contract.tiers import DEFAULT_RISK, Risk, Tier
from assent.core.question import counted, visible
from assent.errors import Fault, SettingsError

if TYPE_CHECKING:
    from assent.cli.shared.targets import Chosen
    from assent.config.model import Settings
    from assent.contract.infer import Inference
    from assent.ports import LogEntry, Ports
    from assent.upstreams.compiled_tools import UpstreamPolicy
    from assent.upstreams.openapi.tools import ApiTool


@dataclass(frozen=True, slots=True)
class Draft:
    """The drafted contract of one tool, the reasons for it, and whether a person should check it first."""

    name: str
    fields: Mapping[str, Any]
    reasons: tuple[str, ...]
    doubtful: bool


@click.command(cls=TargetCommand, short_help="Print a draft of a contract file.")
@target_options
@click.option("--from-log", is_flag=True, help="Add to each tool what observe mode recorded about it.")
@config_option
@click.pass_context
def init(
    ctx: click.Context,
    target: str | None,
    profile: str,
    contracts: tuple[str, ...],
    headers: tuple[str, ...],
    from_log: bool,
    config: Path | None,
) -> None:
    """Print a contract file for the tools of TARGET: doubtful tools first, reasons as comments.

    If TARGET is the name of a configured upstream, the file is bound to it.

    Example: assent contract init https://example.com/mcp > contracts.yaml
    """
    from assent.cli.shared.store_access import with_ports
    from assent.cli.shared.targets import chosen

    settings = settings_naming(target, config) if target is not None else None
    if config is not None and not from_log and settings is None:
        message = "-c names the configuration of a log or an upstream: use it with --from-log or an upstream's name."
        raise click.UsageError(message, ctx)
    what = chosen(ctx, target, profile, contracts, headers, config)
    upstream = what.target or "" if settings is not None else ""
    drafts = _drafts(what) if settings is None else _drafts_of(upstream, settings)
    seen = seen_in(with_ports(config, _entries)) if from_log else {}
    if settings is not None:
        seen = {one.name: seen[name] for one in drafts if (name := settings.wire_name(upstream, one.name)) in seen}
    click.echo(contract_file(drafts, seen, upstream), nl=False)
    left = left_out(drafts)
    doubts = sum(one.doubtful for one in drafts if one.name not in left)
    first = "; they come first" if doubts else ""
    click.echo(f"{len(drafts)} tools, {doubts} of them doubtful{first}.", err=True)
    if left:
        click.echo(f"{counted(len(left), 'name')} left out; comments in the file say why.", err=True)


def _drafts(what: Chosen) -> list[Draft]:
    """The drafts of a target, from the server or the OpenAPI document."""
    from assent.cli.shared.servers import api_of

    api = api_of(Path(what.target)) if what.target is not None else None
    if api is not None:
        return [draft_operation(tool) for tool in api.tools.values()]
    read = what.read()
    if read.target.configuration:
        remedy = f"Name one upstream: `assent contract init NAME -c {what.target}`"
        message = "a configuration is not a server, and its upstreams are not contacted"
        raise SettingsError(Fault(message, remedy, file=what.target or ""))
    definitions = [one.definition for one in read.target.subjects]
    return _draft_all(definitions, read.server, _policy_of("", what.profile))


def _drafts_of(name: str, settings: Settings) -> list[Draft]:
    """The drafts of a configured upstream; existing contracts are ignored."""
    upstream = settings.upstreams[name]
    if upstream.openapi is not None:
        return [draft_operation(tool) for tool in read_description(upstream.openapi).tools.values()]
    found = list_tools(name, upstream, settings)
    policy = _policy_of(name, upstream.profile or settings.profile, trust=upstream.trust)
    return _draft_all(found, found.server, policy)


def _policy_of(name: str, profile: str, **more: Any) -> UpstreamPolicy:
    from assent.contract.profiles import profile as named_profile
    from assent.upstreams.compiled_tools import UpstreamPolicy

    return UpstreamPolicy(name, named_profile(profile), **more)


def _draft_all(definitions: Sequence[Mapping[str, Any]], server: str, policy: UpstreamPolicy) -> list[Draft]:
    from assent.upstreams.compiled_tools import marks_all_destructive
    from assent.upstreams.known import known_fields

    known, blanket = known_fields(server, definitions), marks_all_destructive(definitions)
    return [draft(one, known.get(str(one.get("name"))), policy, blanket=blanket) for one in definitions]


def draft(
    definition: Mapping[str, Any],
    known: Mapping[str, Any] | None = None,
    policy: UpstreamPolicy | None = None,
    *,
    blanket: bool = False,
) -> Draft:
    """Drafts the contract that a tool would get now. `known` is the contract that Assent ships for it, if any."""
    from assent.contract.infer import classify
    from assent.contract.tool_listing import read_claims
    from assent.upstreams.compiled_tools import CONFIDENT, judge_definition

    if known is not None:
        return Draft(str(definition.get("name")), known, ("this is the contract that Assent ships for it",), False)
    inference, claims = classify(definition), read_claims(definition)
    policy = policy or _policy_of("", "spec")
    tier, risk, overwrites, open_world = judge_definition(
        str(definition.get("name")), definition, policy, inference, blanket=blanket
    )
    fields: dict[str, Any] = {"side_effect": tier.value}
    if overwrites:
        fields["overwrites"] = True
    if risk is not DEFAULT_RISK[tier]:
        fields["risk"] = risk.value
    if open_world or claims.open_world is not None:  # a guess that it stays inside is laxer than no word
        fields["open_world"] = open_world
    contradicts = claims.read_only is not None and claims.read_only != inference.read_only
    doubtful = inference.confidence < CONFIDENT or contradicts or risk is Risk.FORBIDDEN
    reasons = [_guess(inference)]
    if contradicts:
        reasons.append(f"the server declares readOnlyHint: {str(claims.read_only).lower()}; one of the two is wrong")
    elif tier is Tier.DESTRUCTIVE and tier != inference.tier:
        reasons.append("the server declares destructiveHint: true, which is trusted")
    return Draft(str(definition.get("name")), fields, tuple(reasons), doubtful)


def draft_operation(tool: ApiTool) -> Draft:
    """Drafts the contract of an OpenAPI operation; only values that its author did not set can be doubtful."""
    from assent.contract.infer import classify
    from assent.upstreams.compiled_tools import CONFIDENT

    operation, inference = tool.operation, classify(tool.definition)
    place = f"{operation.method.upper()} {operation.path}"
    fields = {name: tool.fields[name] for name in ("side_effect", "overwrites", "risk") if name in tool.fields}
    if operation.extensions.get("x-side-effect") == fields["side_effect"]:
        return Draft(tool.name, fields, (f"{place}: set by its author (x-side-effect)",), False)
    differs = inference.tier != fields["side_effect"] and inference.confidence >= CONFIDENT
    unclear = operation.method == "post" and inference.confidence < CONFIDENT
    reasons = (place, f"from its name and texts: {_guess(inference)}")
    return Draft(tool.name, fields, reasons, differs or unclear or fields.get("risk") == Risk.FORBIDDEN.value)


def _guess(inference: Inference) -> str:
    return f"{inference.tier}, {inference.confidence:.0%} sure: {'; '.join(inference.reasons) or 'no further reason'}"


def contract_file(drafts: Iterable[Draft], seen: Mapping[str, str], upstream: str = "") -> str:
    """The contract file: doubtful tools first, each tool under its reasons."""
    from assent.contract.yaml_document import write_yaml

    head = ["# Written by `assent contract init`. Review it, correct it, and list it under `contracts:`."]
    head += [f"upstream: {json.dumps(upstream)}"] if upstream else []
    lines = [*head, "tools:"]
    drafts = list(drafts)
    left = left_out(drafts)
    ordered = sorted((one for one in drafts if one.name not in left), key=lambda one: (not one.doubtful, one.name))
    for number, one in enumerate(ordered):
        if one.doubtful and number == 0:
            lines.append("  # Doubtful: check these first.")
        if not one.doubtful and (number == 0 or ordered[number - 1].doubtful):
            lines.append("  # Clear.")
        notes = [*one.reasons, *([seen[one.name]] if one.name in seen else [])]
        lines += [f"  # {_comment_text(note)}" for note in notes]
        body = write_yaml({one.name: dict(one.fields)})
        lines += [f"  {line}" for line in body.splitlines()]
    lines = lines if ordered else [*head, "tools: {}"]
    return "\n".join([*lines, *(f"# Left out: {_comment_text(why)}" for why in left.values())]) + "\n"


def left_out(drafts: Iterable[Draft]) -> dict[str, str]:
    """The names that a contract file cannot hold, each with the reason; one would make the whole file invalid."""
    from assent.contract.model import TOOL_NAME

    number = Counter(one.name for one in drafts)
    wrong = {name: "this is not a valid contract name" for name in number if not re.fullmatch(TOOL_NAME, name)}
    twice = {name: "it is listed twice" for name in number if number[name] > 1}
    return {name: f"{why}: {visible(name)}" for name, why in sorted({**twice, **wrong}.items())}


def seen_in(entries: Iterable[LogEntry]) -> dict[str, str]:
    """What the log says about each tool: how often it was called, and what enforce mode would have done."""
    calls: Counter[str] = Counter()
    would: dict[str, Counter[str]] = {}
    for logged in entries:
        facts = logged.entry.facts
        if logged.entry.kind in ("intent", "read") and isinstance(facts.get("tool"), str):
            calls[facts["tool"]] += 1
            would.setdefault(facts["tool"], Counter()).update(facts.get("would") or ())
    return {
        name: f"seen {_times(number)}"
        + "".join(f"; {code} {_times(n)} in enforce mode" for code, n in would[name].items())
        for name, number in calls.items()
    }


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


async def _entries(ports: Ports) -> list[LogEntry]:
    found: list[LogEntry] = []
    while page := await ports.store.entries(after=found[-1].index if found else -1):
        found += page
    return found


def _comment_text(text: str) -> str:
    """Text that cannot break out of its comment."""
    return "".join(character if character.isprintable() else " " for character in text)[:300]
