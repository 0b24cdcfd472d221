"""Reads lint targets from files: tool definitions, contracts, API descriptions and configurations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import StringIO
from itertools import chain, repeat
from pathlib import Path
from typing import Any, Literal

from assent.checks.lint.file_edits import lines_of_names
from assent.checks.lint.suppressions import Suppression, in_comments
from assent.checks.lint.target import LintedTool, Target, subject_of
from assent.contract.files import contract_paths, is_pattern, load_written, parse_written
from assent.contract.infer import read_definitions
from assent.contract.model import Contract
from assent.contract.profiles import Profile, profile, profile_names
from assent.contract.yaml_document import YamlDocument
from assent.errors import ContractError, Fault, FaultsError, SettingsError

Kind = Literal["definitions", "contracts", "openapi", "configuration"]
ReadApi = Callable[[Path, Profile], Sequence[LintedTool]]
"""Converts an API description into tools; passed in, because a higher layer reads such documents."""

_CONFIGURES = {"upstreams", "auth", "store", "mcpServers", "contracts", "guards", "public_url"}
_HOMES = (("result", "tools"), ("tools",), ())
"""Where a document holds a list of tools."""


@dataclass(frozen=True, slots=True)
class LintInput:
    """A target, the suppressions in its contract files, and the server's own name."""

    target: Target
    suppressions: tuple[Suppression, ...] = ()
    server: str = ""
    unchecked: str = ""
    """Why this server's tools could not be read; empty if they were."""


def read_file(path: Path, **options: Any) -> LintInput:
    """Read the target in a file of any kind, with the options of `read_text`."""
    return read_text(_text(path), path, **options)


def read_text(
    text: str,
    path: Path,
    *,
    said_by: Profile,
    known: Sequence[str],
    overlays: Mapping[str, Contract] | None = None,
    read_api: ReadApi | None = None,
    own_profile: bool = False,
) -> LintInput:
    """Read the target in the text of a file; with `own_profile` the profile of a configuration comes first."""
    name = str(path)
    kind, value = kind_of(text, name)
    if overlays and kind in ("contracts", "configuration"):
        remedy = "Name the contract files as targets of their own"
        raise SettingsError(Fault("there are no definitions in it to lay contracts over", remedy, "--contracts", name))
    match kind:
        case "contracts":
            return _contracts(text, name, said_by, known)
        case "configuration":
            own = _profile_in(path, value)
            said_by = own if own and own_profile else said_by
            return _configuration(text, path, value, said_by, known)
        case "openapi":
            if read_api is None:
                raise SettingsError(Fault("API descriptions cannot be read here", "Lint the server's URL", file=name))
            return LintInput(Target(name, tuple(replace(one, file=name) for one in read_api(path, said_by)), said_by))
    yaml = _is_yaml(text)
    definitions = _definitions(json.dumps(value, default=str) if yaml else text, name)
    lines = _lines_in_yaml(YamlDocument(text), len(definitions)) if yaml else lines_of_names(text)
    subjects = tuple(
        _under(definition, overlays or {}, said_by, name, line)
        for definition, line in zip(definitions, chain(lines, repeat(0)), strict=False)
    )
    return LintInput(Target(name, subjects, said_by))


def _is_yaml(text: str) -> bool:
    """Whether the text is YAML and not JSON; YAML in flow style starts with a brace too."""
    return _json(text) is None


def _definitions(text: str, file: str) -> list[Mapping[str, Any]]:
    try:
        return list(read_definitions(StringIO(text)))
    except FaultsError as error:
        raise SettingsError([replace(fault, file=file) for fault in error.faults]) from None


def kind_of(text: str, file: str = "") -> tuple[Kind, Any]:
    """Return the kind of a document; lists of tools are recognised without parsing them twice."""
    value = _json(text)
    if value is None:
        value = YamlDocument(text, file).value
    if isinstance(value, list):
        return "definitions", value
    value = value if isinstance(value, dict) else {}
    if "openapi" in value or "swagger" in value:
        return "openapi", value
    if isinstance(value.get("tools"), dict) or isinstance(value.get("sections"), list):
        return "contracts", value
    if _CONFIGURES & set(value) and "tools" not in value and "inputSchema" not in value:
        return "configuration", value
    if value.get("tools") is None and not {"name", "result"} & set(value):
        raise SettingsError(
            Fault("it holds neither tools nor contracts", "See `assent lint --help` for what TARGET is", file=file)
        )
    return "definitions", value


def under_contract(
    definitions: Sequence[Mapping[str, Any]], contracts: Mapping[str, Contract], said_by: Profile, file: str = ""
) -> tuple[LintedTool, ...]:
    """Return the definitions as served: with their contracts, the others unchanged."""
    return tuple(_under(definition, contracts, said_by, file, 0) for definition in definitions)


def _under(
    definition: Mapping[str, Any], contracts: Mapping[str, Contract], said_by: Profile, file: str, line: int
) -> LintedTool:
    contract = contracts.get(str(definition.get("name")))
    return subject_of(definition, contract, said_by=said_by, file=file, line=line)


def _contracts(text: str, name: str, said_by: Profile, known: Sequence[str]) -> LintInput:
    subjects = tuple(
        subject_of({}, one.contract, said_by=said_by, file=name, line=one.line, upstream=one.upstream)
        for one in parse_written(text, name)
        if not is_pattern(one.name)  # Without the tools there is nothing to check.
    )
    return LintInput(Target(name, subjects, said_by), tuple(in_comments(YamlDocument(text, name), known)))


def suppressions_beside(files: Sequence[Path], known: Sequence[str]) -> list[Suppression]:
    """Return the suppressions in the comments of contract files."""
    texts = {str(file): _text(file) for file in files}
    return [one for name, text in texts.items() for one in in_comments(YamlDocument(text, name), known)]


def _configuration(text: str, path: Path, value: dict[str, Any], said_by: Profile, known: Sequence[str]) -> LintInput:
    """Read a configuration and its contract files; its upstreams are not contacted."""
    subjects: list[LintedTool] = []
    suppressions: list[Suppression] = []
    files = _named_files(path, value)
    load_written(files)
    for file in files:
        read = _contracts(_text(file), str(file), said_by, known)
        subjects += read.target.subjects
        suppressions += read.suppressions
    return LintInput(Target(str(path), tuple(subjects), said_by, configuration=text), tuple(suppressions))


def _named_files(path: Path, value: dict[str, Any]) -> list[Path]:
    """Return the contract files that a configuration names; those from the environment are unknown here."""
    patterns = value.get("contracts", [])
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        remedy = "Write them in brackets, or each on a line after a hyphen"
        raise SettingsError(Fault("it is a list of files or patterns", remedy, "contracts", str(path)))
    return list(dict.fromkeys(contract_paths(path.parent / pattern for pattern in patterns if "${" not in pattern)))


def _profile_in(path: Path, value: dict[str, Any]) -> Profile | None:
    """Return the profile that a configuration names; one from the environment is unknown here."""
    name = value.get("profile", "${")
    if isinstance(name, str) and "${" in name:
        return None
    if name not in profile_names():
        remedy = f"Use one of {', '.join(profile_names())}"
        raise SettingsError(Fault("there is no such profile", remedy, "profile", str(path)))
    return profile(name)


def fixable_files(path: Path) -> list[Path]:
    """Return the files in which fixes of this target are made: itself, or its contract files."""
    text = _text(path)
    kind, value = kind_of(text, str(path))
    if kind == "definitions" and _is_yaml(text):
        raise SettingsError(Fault("definitions in YAML are not fixed", "Save them as JSON", file=str(path)))
    if kind == "openapi":
        remedy = "Correct the document, or fix the contract files laid over it"
        raise SettingsError(Fault("tools made of an API description have no text to fix", remedy, file=str(path)))
    return _named_files(path, value) if kind == "configuration" else [path]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ContractError(Fault(f"cannot be read: {error.strerror}", "Correct the path", file=str(path))) from None
    except UnicodeDecodeError:
        raise ContractError(Fault("it is not UTF-8 text", "Convert it", file=str(path))) from None


def _json(text: str) -> Any:
    """Return the JSON value, the first one of JSON lines; None if the text is not JSON."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    for part in (text, text.lstrip().split("\n", 1)[0]):
        with suppress(ValueError, RecursionError):
            value = json.loads(part)
            return value if part is text or (isinstance(value, dict) and "name" in value) else [value]
    return None


def _lines_in_yaml(document: YamlDocument, count: int) -> list[int]:
    """Return the line of each tool's name."""
    return [
        next((document.nodes[path].line for home in _HOMES if (path := (*home, index, "name")) in document.nodes), 1)
        for index in range(count)
    ]
