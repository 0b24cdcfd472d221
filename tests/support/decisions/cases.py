"""Loads decision cases from YAML files."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assent.contract.reader import read_contract
from assent.contract.yaml_document import YamlDocument
from assent.core.problems import CATALOGUE
from assent.errors import Fault, FaultsError
from assent.rules.guards import build_guard
from support.decisions.model import (
    CallSpec,
    CaseForm,
    CaseStep,
    Changed,
    Decide,
    Expect,
    FileForm,
    Matrix,
    PrincipalSpec,
    Script,
    WorldSettings,
)

PEOPLE = {
    "agent": PrincipalSpec(kind="agent"),
    "human": PrincipalSpec(kind="human"),
    "service": PrincipalSpec(kind="service"),
    "ann": PrincipalSpec(kind="human", roles=("approver",)),
    "bob": PrincipalSpec(kind="human", roles=("approver",)),
    "operator": PrincipalSpec(kind="human", tenant="operations", roles=("operator",)),
}
"""Principals of every file; `nobody` has no credentials, and those of `stranger` are invalid."""
_UNKNOWN = ("nobody", "stranger")


class CasesError(FaultsError):
    """A file of cases that cannot be used."""


@dataclass(frozen=True, slots=True)
class Case:
    """One decision case, ready to run."""

    file: str
    line: int
    name: str
    tools: Mapping[str, Mapping[str, Any]]
    principals: Mapping[str, PrincipalSpec]
    upstream: Mapping[str, tuple[Script, ...]]
    world: WorldSettings
    given: tuple[CaseStep, ...]
    act: CallSpec
    decide: Decide | None
    expect: Expect

    @property
    def tool(self) -> str:
        return self.act.tool


def load_cases(paths: Iterable[Path]) -> list[Case]:
    """Load every case of the files and of `*.yaml` files in directories; raise with all faults at once."""
    found: list[Case] = []
    faults: list[Fault] = []
    for path in _files(paths):
        try:
            found.extend(parse_cases(path.read_text(encoding="utf-8"), str(path)))
        except FaultsError as error:
            faults.extend(error.faults)
        except (OSError, UnicodeDecodeError) as error:
            faults.append(Fault(f"cannot be read: {getattr(error, 'strerror', None) or 'not UTF-8'}", file=str(path)))
    if faults:
        raise CasesError(faults)
    return found


def _files(paths: Iterable[Path]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        inside = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
        if not inside:
            raise CasesError(Fault("there are no *.yaml files in it", "Name a directory of cases", file=str(path)))
        files += inside
    return files


def parse_cases(text: str, file: str = "") -> list[Case]:
    """Parse the cases of one YAML text; raise CasesError with every fault and its line."""
    document = YamlDocument(text, file)
    if not isinstance(document.value, Mapping):
        raise CasesError(Fault("there are no cases in it", "Write `cases:` and a list under it", file=file, line=1))
    try:
        form = FileForm.model_validate(document.value)
    except ValidationError as error:
        raise CasesError([_fault(one, document) for one in error.errors(include_url=False)]) from None
    _check_tools(form.tools, document)
    cases = [_case(form, one, *document.locate(("cases", place))) for place, one in enumerate(form.cases)]
    for place, matrix in enumerate(form.matrices):
        cases += _expand_matrix(form, matrix, *document.locate(("matrices", place)))
    faults = [*_repeated(cases), *(fault for case in cases for fault in _faults(case))]
    if faults:
        raise CasesError(list(dict.fromkeys(faults)))
    return cases


def _check_tools(tools: Mapping[str, Mapping[str, Any]], document: YamlDocument) -> None:
    faults: list[Fault] = []
    for name, fields in tools.items():
        try:
            read_contract(name, fields, partial(_place, document, name))
        except FaultsError as error:
            faults.extend(error.faults)
    if faults:
        raise CasesError(faults)


def _place(document: YamlDocument, name: str, loc: tuple[Any, ...]) -> tuple[str, int]:
    return document.locate(("tools", name, *loc))


def _case(form: FileForm, one: CaseForm, file: str, line: int) -> Case:
    tools = {name: dict(fields) for name, fields in form.tools.items()}
    for name, fields in one.tools.items():
        tools[name] = {**tools.get(name, {}), **fields}
    return Case(
        file=file,
        line=line,
        name=one.name,
        tools=_tools_of_case(tools, one),
        principals={**PEOPLE, **form.principals, **one.principals},
        upstream={**form.upstream, **one.upstream},
        world=one.world.over(form.world),
        given=one.given,
        act=one.act,
        decide=one.decide,
        expect=one.expect,
    )


def _tools_of_case(tools: dict[str, dict[str, Any]], one: CaseForm) -> dict[str, dict[str, Any]]:
    """Return the tools that a case calls or changes, and the tools that these refer to."""
    acts = [one.act, *(getattr(step, step.verb) for step in one.given)]
    names = {act.tool for act in acts if isinstance(act, CallSpec)}
    names |= {name for act in acts if isinstance(act, Changed) for name in act.tools}
    for name in tuple(names):
        fields = tools.get(name, {})
        estimate, idempotency = fields.get("estimate") or {}, fields.get("idempotency") or {}
        names |= {estimate.get("tool", ""), (idempotency.get("lookup") or {}).get("tool", "")}
    return {name: fields for name, fields in tools.items() if name in names}


def _expand_matrix(form: FileForm, matrix: Matrix, file: str, line: int) -> list[Case]:
    """Return every combination of a matrix; its table says how each one ends."""
    cases: list[Case] = []
    faults: list[Fault] = []
    for values in itertools.product(*matrix.over.values()):
        cell = dict(zip(matrix.over, values, strict=True))
        expect = matrix.expect.get(cell.get(matrix.rows, ""), {}).get(cell.get(matrix.columns, ""))
        if expect is None:
            said = f"the table says nothing of {cell.get(matrix.rows)}, {cell.get(matrix.columns)}"
            faults.append(Fault(said, "Add it to `expect`", matrix.name, file, line))
            continue
        try:
            tools = {"tool": _fill(matrix.contract, cell)}
            given = {
                "name": _fill(matrix.name, cell),
                "tool": "tool",
                "tools": tools,
                **_fill(matrix.case, cell),
            }
            cases.append(_case(form, CaseForm.model_validate({**given, "expect": expect}), file, line))
        except (KeyError, IndexError, ValueError) as error:
            if not isinstance(error, ValidationError):
                faults.append(Fault(f"{error} is not an axis", "Use names of `over`", matrix.name, file, line))
                continue
            one = error.errors(include_url=False)[0]
            faults.append(Fault(_describe_fault(one), "", ".".join(map(str, one["loc"])), file, line))
    if faults:
        raise CasesError(list(dict.fromkeys(faults)))
    return cases


def _fill(template: Any, cell: Mapping[str, str]) -> Any:
    if isinstance(template, str):
        return template.format_map(cell)
    if isinstance(template, Mapping):
        return {key: _fill(value, cell) for key, value in template.items()}
    return [_fill(value, cell) for value in template] if isinstance(template, list) else template


def _repeated(cases: list[Case]) -> Iterable[Fault]:
    lines: dict[str, int] = {}
    for case in cases:
        first = lines.setdefault(case.name, case.line)
        if first != case.line:
            yield Fault("two cases have this name", f"The first is on line {first}", case.name, case.file, case.line)


def _faults(case: Case) -> Iterable[Fault]:
    """Yield faults that the model cannot find: invalid contracts and guards, unknown principals."""
    acts = [getattr(step, step.verb) for step in case.given]
    people = [case.act.by, *(act.by for act in acts if isinstance(act, CallSpec) and "by" in act.model_fields_set)]
    known = [*case.principals, *_UNKNOWN]
    deciding = [act for act in acts if isinstance(act, str)] + ([case.decide.by] if case.decide else [])
    for name in deciding:
        if name in _UNKNOWN:
            yield Fault(f"{name} cannot decide anything", "Name a person", case.name, case.file, case.line)
    for name in [*people, *deciding]:
        if name not in known:
            yield Fault(f"nobody is called {name!r}", _suggest_name(name, known), case.name, case.file, case.line)
    try:
        for name, fields in case.tools.items():
            read_contract(name, fields)
        for line in case.world.guards:
            build_guard(line)
    except FaultsError as error:
        for fault in error.faults:
            yield Fault(fault.message, fault.remedy, f"{case.name}: {fault.field}", case.file, case.line)


def _fault(one: Any, document: YamlDocument) -> Fault:
    loc = tuple(part for part in one["loc"] if not str(part).startswith("function-"))
    file, line = document.locate(loc)
    remedy = ""
    if one["type"] == "extra_forbidden":
        remedy = "Remove it, or correct its name"
    if isinstance(one["input"], str) and "no refusal" in one["msg"]:
        remedy = _suggest_name(one["input"], list(CATALOGUE))
    return Fault(_describe_fault(one), remedy, ".".join(map(str, loc)), file, line)


def _describe_fault(one: Any) -> str:
    if one["type"] == "extra_forbidden":
        return "there is no such key"
    message: str = one["msg"]
    return message.removeprefix("Value error, ")[:1].lower() + message.removeprefix("Value error, ")[1:]


def _suggest_name(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]}?" if close else "Use one of " + ", ".join(known[:20])
