"""Rules: what applies to which tool, what it stopped lately, and a form that tries other rules on recorded calls."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import yaml
from starlette.responses import Response

from assent.audit.activity import ActivityLine
from assent.audit.log_reader import first_at
from assent.config.load import parse_settings
from assent.config.references import References
from assent.config.rules import rules_of
from assent.contract.fields import format_duration
from assent.core.match import Match
from assent.core.quotas import RateLimit, SpendBudget
from assent.core.tool import Tool
from assent.errors import SettingsError
from assent.features import load_feature
from assent.gateway.operator_access import GatewayState
from assent.people.api.audit_entry import may_look
from assent.people.api.feed import line_json, moment
from assent.people.api.overview import check_staff
from assent.people.api.problems import ApiProblem
from assent.people.console.page import LOG_READERS, OPERATORS, PageRequest, on
from assent.people.console.pages.agents import MOST_LINES, MOST_SHOWN, counted_lines
from assent.people.console.pages.overview import STAFF
from assent.ports import Ports
from assent.rules.guards.rule import GuardRule

MOST_TRIED = 2000
"""Entries of the log that one try reads."""
SINCE = (("1d", "the last day"), ("7d", "the last week"), ("30d", "the last month"))
_EDITED = ("guards", "limits", "budgets")
_COMMON = frozenset({"match", "action", "on", "mode", "by", "because"})
_ENDS = {"deny": "refuses", "approve": "asks a person", "mask": "masks results", "warn": "warns"}
_trying = asyncio.Lock()


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule in words."""

    kind: str
    name: str
    says: str
    does: str
    match: Match | None
    tools: tuple[str, ...]
    """The tools that it can apply to; which calls of them, the match says."""
    observed: bool = False
    why: str = ""
    stopped: int = 0
    """How often it objected, in the part of the log that was counted. Rules of one name are counted together."""

    @property
    def when(self) -> str:
        """The calls it applies to, in words."""
        given = self.match.model_dump(mode="json", exclude_none=True) if self.match is not None else {}
        named = [f"{name} {_words(value)}" for name, value in given.items() if name not in ("inner", "written")]
        if "written" in given:
            named.append(f"tools whose contract {'a person' if given['written'] else 'nobody'} wrote")
        return ", ".join(named) or "every call"


class Objections:
    """How often each rule objected, by what the log's lines say."""

    def __init__(self, lines: Iterable[ActivityLine]) -> None:
        self.found, self.lines = Counter[str](), list[ActivityLine]()
        for line in lines:
            named = [str(one) for one in line.facts.get("guards", ())]
            code = str(line.facts.get("code", "")) if line.outcome == "refused" else ""
            self.found.update({"/".join(one.split("/")[:2]) for one in named})
            self.found.update({"flow"} if any(one.startswith("flow.") for one in named) else ())
            self.found.update({code, *line.would} - {""})
            if code.startswith("guard.") or code in ("claim.rate_limited", "claim.budget_exceeded"):
                self.lines.append(line)


def rule_rows(ports: Ports, tools: Iterable[Tool], seen: Objections) -> Iterator[RuleRow]:
    """Every rule with those of the tools that it can apply to."""
    rules, every = ports.rules, tuple(tools)
    policies: Any = rules.policies
    for guard in rules.guards:
        named = tuple(one.name for one in every if guard.concerns(one))
        count = seen.found[f"{guard.rule}/{guard.action}"]
        about = " ".join((guard.__doc__ or "").split("\n\n")[0].split())
        yield RuleRow(
            "guard", guard.rule, _options(guard) or about, _ENDS[guard.action], guard.match, named,
            guard.mode == "observe", guard.because, count,
        )  # fmt: skip
    quotas: tuple[RateLimit | SpendBudget, ...] = (*rules.limits, *rules.budgets)
    for line in quotas:
        named = tuple(one.name for one in every if line.match.holds_for(one))
        if isinstance(line, RateLimit):
            kind, code, most = "limit", "claim.rate_limited", f"{line.calls} calls"
        else:
            kind, code, most = "budget", "claim.budget_exceeded", f"{line.amount} {line.currency or 'calls'}"
        each = f"for each {' and '.join(line.each)}" if line.each else "for all together"
        name = f"{most} in {format_duration(line.per)}"
        yield RuleRow(kind, name, each, "refuses more", line.match, named, stopped=seen.found[code])
    for policy in getattr(policies, "policies", ()):
        named = tuple(one.name for one in every if policy in policies.of_tool(one).applying.values())
        does = {"approve": "asks a person", "permit": "allows"}.get(policy.effect, "refuses")
        count = seen.found["guard.policy_denied"]
        yield RuleRow("policy", policy.id, policy.reason or policy.where, does, None, named, stopped=count)
    if rules.flow is not None:
        does = "refuses" if rules.flow.mode == "refuse" else "asks a person"
        says = "Values from untrusted content do not steer a call that changes something."
        named = tuple(one.name for one in every)
        yield RuleRow(
            "flow", "flow control", says, does, None, named, rules.flow.mode == "observe", "", seen.found["flow"]
        )


def _options(guard: GuardRule) -> str:
    given = guard.model_dump(mode="json", exclude_defaults=True, exclude=set(_COMMON))
    return ", ".join(f"{name} {_words(value)}" for name, value in given.items())


def _words(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


@on("GET", "/rules", STAFF, "Rules")
async def show_rules(page: PageRequest, tried: dict[str, Any] | None = None) -> Response:
    """Every rule with what it stopped lately; for operators the form, with what was tried."""
    check_staff(page.principal, "Rules are")
    ports, read = page.ports, await counted_lines(page)
    seen = Objections(read.lines)
    operator = page.may(OPERATORS)
    return page.render(
        "rules.html",
        rows=list(rule_rows(ports, ports.catalogue().tools.values(), seen)),
        lines=[line_json(one) for one in seen.lines[:MOST_SHOWN]],
        whole=read.next is None,
        most=MOST_LINES,
        observing=ports.rules.mode == "observe",
        may_audit=page.may(LOG_READERS),
        operator=operator,
        written=_editable_rules(page.request_of_api().state) if operator else "",
        spans=SINCE,
        tried=tried,
        may_look=may_look(page.principal),
        most_tried=MOST_TRIED,
    )


def _editable_rules(gateway: GatewayState) -> str:
    """The rules of the configuration as they can be edited."""
    given = gateway.settings.model_dump(mode="json", include=set(_EDITED), exclude_unset=True)
    rules = {name: [_plain(one) for one in given.get(name, ())] for name in _EDITED}
    return yaml.safe_dump(rules, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100)


def _plain(rule: dict[str, Any]) -> dict[str, Any]:
    """A rule with only the members that are set."""
    match = {name: value for name, value in (rule.get("match") or {}).items() if value is not None}
    rest = {name: float(one) if name == "amount" else one for name, one in rule.items() if name != "match"}
    return {**({"match": match} if match else {}), **rest}


@on("POST", "/rules", OPERATORS, form_of=show_rules)
async def try_rules(page: PageRequest) -> Response:
    """Decide recorded calls again under the rules of the form. Nothing is called, and nothing is changed."""
    since = page.field("since")
    if since not in dict(SINCE):
        raise ApiProblem("api.invalid", "since: choose one of the list.")
    if _trying.locked():
        raise ApiProblem("api.conflict", "Somebody tries rules on this gateway now. Try again in a moment.")
    async with _trying:
        return await show_rules(page, await _try_rules(page, since))


async def _try_rules(page: PageRequest, since: str) -> dict[str, Any]:
    ports, settings = page.ports, page.request_of_api().state.settings
    given = _parse_rules(page.field("rules"))
    edited = settings.model_copy(update={name: getattr(given, name) for name in _EDITED})
    ports = ports._replace(rules=rules_of(edited, ports.rules.policies, ports.rules.flow))
    past, replay, store = load_feature("recorded_call"), load_feature("replay").replay, ports.store
    length, begin = await store.length(), moment(since, ports.now()) or 0
    after = max(await first_at(store, begin, length), length - MOST_TRIED) - 1
    upstreams = settings.upstreams
    tools = past.CalledTools(
        ports.catalogue(), settings.prefix_of, lambda name: name not in upstreams or upstreams[name].test is not None
    )
    callers = await past.known_callers(settings, store)
    misfits = getattr(ports.rules.policies, "faults_of", lambda _: ())
    found = await replay(store, ports, tools, callers.find, unfit=lambda one: bool(misfits([one])), after=after)
    groups: dict[tuple[str, ...], list[Any]] = {}
    for one in found.changed:
        key = (one.call.facts["tool"], str(one.call.decision), str(one.now), one.rule, one.detail)
        groups.setdefault(key, []).append(one)
    ordered = sorted(groups.items(), key=lambda group: -len(group[1]))
    return {"found": found, "groups": ordered[:MOST_SHOWN], "more": max(0, len(ordered) - MOST_SHOWN), "after": after}


def _parse_rules(text: str) -> Any:
    """The settings of a form; ApiProblem says what is wrong. No variable, file or command is read for it."""
    if "${" in text:
        raise ApiProblem("api.invalid", "rules: variables are not read here. Write their values instead of ${...}.")
    try:
        given = parse_settings(text, references=References({}, found=True))
    except SettingsError as error:
        fault = error.faults[0]
        place = ", ".join(filter(None, (f"line {fault.line}" if fault.line else "", fault.field)))
        raise ApiProblem("api.invalid", f"rules: {place}: {fault.message}. {fault.remedy}") from None
    if others := given.model_fields_set - set(_EDITED):
        raise ApiProblem("api.invalid", f"rules: only guards, limits and budgets can be tried, not {min(others)}.")
    return given
