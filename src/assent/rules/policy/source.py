"""Policies as written: read from files, parsed one by one, and checked for what Assent needs of them (ADR 0089)."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import cedarpy
from cedarpy import pst

from assent.contract.digest import digest_of
from assent.core.policy_verdict import PolicyReason
from assent.errors import Fault, SettingsError
from assent.rules.policy.references import ConditionReferences, references_of

MOST_BYTES = 8 * 1024 * 1024
MOST_ID = 128
MOST_REASON = 500
Effect = Literal["deny", "approve"]
_ANY = (pst.ScopeAny(), pst.ScopeAny(), pst.ScopeAny(), ())
_PERMIT_REMEDY = "What no policy forbids is allowed. Write `forbid (...) unless { ... };` to allow only some requests"


@dataclass(frozen=True)
class Policy:
    """One policy: its id, what it does when it matches, and its text."""

    id: str
    effect: Effect
    by: str
    reason: str
    text: str
    file: str
    line: int
    node: pst.Template

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}" if self.file else f"line {self.line}"

    @property
    def policy_reason(self) -> PolicyReason:
        return PolicyReason(self.id, self.reason, self.by)

    @cached_property
    def references(self) -> ConditionReferences:
        """What its conditions read."""
        return references_of(self.node)

    def fault(self, message: str, remedy: str = "") -> Fault:
        """A fault of this policy, on the line of the name that the message mentions."""
        named = "" if self.id == _place(self.file, self.line) else self.id  # The place is already in the fault.
        return Fault(message, remedy, named, self.file, locate_error(Statement(self.text, self.line), message))


def _place(file: str, line: int) -> str:
    return f"{Path(file).name or 'policy'}:{line}"


_ABSENT = "Write one, correct the pattern, or remove it from `policies:`"


def policy_paths(patterns: Iterable[str | Path], remedy: str = _ABSENT) -> list[Path]:
    """The files that match the patterns, `*.cedar` of a folder; a pattern without a match is an error."""
    found: list[Path] = []
    for pattern in patterns:
        inside = Path(pattern) / "*.cedar" if Path(pattern).is_dir() else pattern
        matches = sorted(glob.glob(str(inside), recursive=True))  # noqa: PTH207 - patterns may be absolute
        if not matches:
            raise SettingsError(Fault("no policy file matches this pattern", remedy, file=str(pattern)))
        found.extend(map(Path, matches))
    return list(dict.fromkeys(found))


def load_policies(paths: Iterable[Path]) -> list[Policy]:
    """Every policy of the files; raises SettingsError with all faults, each with its file and line."""
    found: list[Policy] = []
    faults: list[Fault] = []
    for path in paths:
        try:
            found += _parse_policies(_text_of(path), str(path), faults)
        except SettingsError as error:
            faults += error.faults
    return _check_unique_ids(found, faults)


def parse_policies(text: str, file: str = "") -> list[Policy]:
    """Every policy of one text."""
    faults: list[Fault] = []
    return _check_unique_ids(_parse_policies(text, file, faults), faults)


def policies_digest(policies: Iterable[Policy]) -> str:
    """The digest of what policies say: comments, layout and order do not count."""
    return digest_of(
        sorted(json.dumps(json.loads(cedarpy.policies_to_json_str(one.text)), sort_keys=True) for one in policies)
    )


def _check_unique_ids(found: list[Policy], faults: list[Fault]) -> list[Policy]:
    first: dict[str, Policy] = {}
    for one in found:
        other = first.setdefault(one.id, one)
        if other is not one:
            faults.append(
                Fault(f"another policy has this id, at {other.where}", "Rename one", one.id, one.file, one.line)
            )
    if faults:
        raise SettingsError(faults)
    return found


def _parse_policies(text: str, file: str, faults: list[Fault]) -> list[Policy]:
    found: list[Policy] = []
    for statement in split_policies(text):
        try:
            policy = _parse(statement, file)
        except SettingsError as error:
            faults += error.faults
            continue
        if policy is not None:
            found.append(policy)
    return found


def _parse(statement: Statement, file: str) -> Policy | None:
    """One policy; None for `permit (principal, action, resource);`, which states the default."""
    try:
        nodes = cedarpy.policies_to_pst(statement.text)
    except ValueError as error:
        line = locate_error(statement, str(error))
        raise SettingsError(Fault(f"this is not Cedar: {error}", "Correct the policy", "", file, line)) from None
    if nodes.templates:
        fault = Fault("?principal and ?resource are not filled in here", "Name an entity", "", file, statement.line)
        raise SettingsError(fault)
    (node,) = nodes.static_policies.values()
    if node.effect == "permit":
        if (node.principal, node.action, node.resource, node.clauses) == _ANY:
            return None
        raise SettingsError(Fault("a permit has no effect here", _PERMIT_REMEDY, "", file, statement.line))
    return _annotated(node, statement, file)


def _annotated(node: pst.Template, statement: Statement, file: str) -> Policy:
    says = node.annotations
    name = says.get("id") or _place(file, statement.line)
    effect, by, reason = says.get("effect", "deny"), says.get("by", "approver"), says.get("reason", "")
    wrong = None
    if len(name) > MOST_ID or not name.isprintable():
        wrong = f"the @id must be printable and have at most {MOST_ID} characters"
    elif effect not in ("deny", "approve"):
        wrong = f"@effect({effect[:40]!r}) is unknown; use deny or approve"
    elif by not in ("user", "approver") or ("by" in says and effect != "approve"):
        wrong = '@by says who approves: "user" or "approver", beside @effect("approve")'
    elif len(reason) > MOST_REASON:
        wrong = f"the @reason has more than {MOST_REASON} characters"
    if wrong is not None:
        raise SettingsError(Fault(wrong, "Correct the annotation", name[:MOST_ID], file, statement.line))
    kept = replace(node, annotations=pst.FrozenMap())
    return Policy(name, effect, by, reason, statement.text, file, statement.line, kept)  # type: ignore[arg-type]


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise SettingsError(Fault(f"larger than {MOST_BYTES} bytes", "Split it into several files", file=str(path)))
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(Fault("not UTF-8 text", "Save it as UTF-8", file=str(path))) from None
    except OSError as error:
        raise SettingsError(Fault(f"cannot be read: {error.strerror}", "Correct the path", file=str(path))) from None


_TOKEN = re.compile(r'//[^\n]*|\s+|"(?:\\.|[^"\\])*"|[A-Za-z_][A-Za-z0-9_]*|\d+|::|.', re.DOTALL)
_INCOMPLETE = "unexpected end of input"
_NAMED = re.compile(r"`([^`]+)`")


class Statement(NamedTuple):
    """The text of one policy and the line on which it begins."""

    text: str
    line: int


def split_policies(text: str) -> Iterator[Statement]:
    """Each policy of a file. A rest without a semicolon is a statement too, which the parser refuses."""
    begin, line, first, parts = None, 1, 1, list[str]()
    for match in _TOKEN.finditer(text):
        token = match[0]
        if begin is None and not _is_blank(token):
            begin, first = match.start(), line
        if begin is not None:
            parts.append(token)
        line += token.count("\n")
        if token == ";":
            yield Statement("".join(parts), first)
            begin, parts = None, []
    if begin is not None:
        yield Statement("".join(parts), first)


def locate_error(statement: Statement, error: str) -> int:
    """The line of the token at which the parser stops, or of the name that the error mentions."""
    tokens = list(_TOKEN.finditer(statement.text))
    if error.startswith("unexpected token"):
        for match in tokens:
            if not _is_blank(match[0]) and _stops_at(statement.text[: match.end()]):
                return _line_at(statement, match.start())
    for name in reversed(_NAMED.findall(error)):
        wanted = name.rpartition(".")[2].strip('"')
        for match in tokens:
            if match[0].strip('"') == wanted:
                return _line_at(statement, match.start())
    return statement.line


def _stops_at(prefix: str) -> bool:
    """Whether the parser refuses a beginning of a policy for another reason than that it ends."""
    try:
        cedarpy.PolicySet.from_str(prefix)
    except ValueError as error:
        return _INCOMPLETE not in str(error)
    return False


def _line_at(statement: Statement, position: int) -> int:
    return statement.line + statement.text.count("\n", 0, position)


def _is_blank(token: str) -> bool:
    return token.isspace() or token.startswith("//")
