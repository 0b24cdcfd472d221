"""`assent policy test`: runs cases against the policies of a configuration."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import click
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from assent.cli.shared.policies import LoadedPolicies, call_of, judge, load_policies_of
from assent.cli.shared.requests import principal_of
from assent.config.callers import principal_of as configured_principal
from assent.contract.yaml_document import YamlDocument
from assent.core.call import Request
from assent.core.policy_verdict import PolicyVerdict
from assent.core.principal import Principal
from assent.errors import Fault, FaultsError, SettingsError


class PolicyCase(BaseModel):
    """One case: who asks for what, and what the policies must decide."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    principal: str | dict[str, Any]
    """A principal, or the name of one: under `principals:`, or of a configured API key."""
    tool: str | None = None
    arguments: dict[str, Any] = Field(default_factory=dict)
    resource: str | None = None
    prompt: str | None = None
    action: Literal["resources/read", "prompts/get", "completion/complete"] | None = None
    at: datetime | None = None
    """The time of the request; default: now."""
    expect: Literal["allow", "deny", "approve"]
    policy: str | None = None
    """The id of a policy that must have decided."""

    @model_validator(mode="after")
    def _one_target(self) -> PolicyCase:
        if [self.tool, self.resource, self.prompt].count(None) != 2:
            raise ValueError("write exactly one of tool, resource and prompt")
        return self

    @property
    def now(self) -> float:
        if self.at is None:
            return time.time()
        return (self.at if self.at.tzinfo else self.at.replace(tzinfo=UTC)).timestamp()


class CaseFile(BaseModel):
    """A file of cases."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    principals: dict[str, dict[str, Any]] = Field(default_factory=dict)
    cases: tuple[PolicyCase, ...]


class CaseOutcome(NamedTuple):
    """A case with what the policies decided."""

    case: PolicyCase
    where: str
    verdict: PolicyVerdict

    @property
    def ids(self) -> list[str]:
        return [one.id for one in (*self.verdict.denied, *self.verdict.approvals)]

    @property
    def passed(self) -> bool:
        named = self.case.policy is None or self.case.policy in self.ids
        return self.verdict.effect == self.case.expect and named


def test(ctx: click.Context, files: tuple[Path, ...], as_json: bool, config: Path | None) -> None:
    loaded = load_policies_of(config)
    found = [one for file in files for one in _run(file, loaded)]
    failed = [one for one in found if not one.passed]
    untested = sorted({one.id for one in loaded.engine.policies} - {name for one in found for name in one.ids})
    if as_json:
        click.echo(json.dumps({"cases": list(map(_as_json, found)), "untested": untested}, indent=2))
    else:
        for one in failed:
            click.echo(_explained(one))
        click.echo(f"{len(found)} cases, {len(failed)} failed", err=True)
        if untested:
            click.echo(f"No case is decided by: {', '.join(untested)}", err=True)
    ctx.exit(1 if failed else 0)


def _run(file: Path, loaded: LoadedPolicies) -> Iterable[CaseOutcome]:
    document = YamlDocument(file.read_text(encoding="utf-8"), str(file))
    try:
        cases = CaseFile.model_validate(document.value)
    except ValidationError as error:
        raise SettingsError([_fault(one, document) for one in error.errors(include_url=False)]) from None
    for index, case in enumerate(cases.cases):
        place, line = document.locate(("cases", index))
        try:
            yield CaseOutcome(case, f"{place}:{line}", _decide(case, _principal(case, cases, loaded), loaded))
        except FaultsError as error:
            raise SettingsError(
                [Fault(one.message, one.remedy, case.name, place, line) for one in error.faults]
            ) from None


def _decide(case: PolicyCase, who: Principal, loaded: LoadedPolicies) -> PolicyVerdict:
    if case.tool is not None:
        return judge(call_of(Request(case.tool, case.arguments, who), loaded), loaded, case.now)
    kind, name = ("Resource", case.resource) if case.resource is not None else ("Prompt", case.prompt)
    action = case.action or ("resources/read" if kind == "Resource" else "prompts/get")
    return loaded.engine.judge_other(who, action, kind, name or "", None, case.now)


def _principal(case: PolicyCase, cases: CaseFile, loaded: LoadedPolicies) -> Principal:
    given = case.principal
    if isinstance(given, dict):
        return principal_of(given)
    if given in cases.principals:
        return principal_of({"id": given, **cases.principals[given]})
    for key in loaded.settings.auth.api_keys:
        if key.name == given:
            return configured_principal(key, method="api_key")
    raise SettingsError(Fault(f"no principal has the name {given}", "Write it under `principals:`", "principal"))


def _fault(one: Any, document: YamlDocument) -> Fault:
    file, line = document.locate(one["loc"])
    return Fault(one["msg"].removeprefix("Value error, "), "", ".".join(map(str, one["loc"])), file, line)


def _as_json(one: CaseOutcome) -> dict[str, Any]:
    return {
        "name": one.case.name,
        "where": one.where,
        "expected": one.case.expect,
        "decided": one.verdict.effect,
        "policies": one.ids,
        "passed": one.passed,
    }


def _explained(one: CaseOutcome) -> str:
    expected = one.case.expect + (f" by {one.case.policy}" if one.case.policy else "")
    decided = one.verdict.effect + (f" by {', '.join(one.ids)}" if one.ids else "")
    return f"{one.where}: {one.case.name}\n    expected {expected}, decided {decided}"
