"""Contract files: finds them, reads them, and reports every fault with its line.

A file has `tools:`. `upstream: NAME` beside it binds all of them to one upstream. `sections:` is a list of such
parts. A name with `*` is a pattern: its contract is for every tool that fits it and has no contract of its own.
"""

from __future__ import annotations

import difflib
import glob
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assent.contract.model import Contract
from assent.contract.reader import Locate, read_contract
from assent.contract.yaml_document import YamlDocument
from assent.errors import ContractError, Fault, FaultsError

MOST_BYTES = 8 * 1024 * 1024
_KEYS = ("tools", "upstream", "sections")

Place = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class WrittenContract:
    """One contract of a file: a tool's name or a pattern, the upstream it is bound to (empty if none), its place."""

    name: str
    upstream: str
    contract: Contract
    fields: Mapping[str, Any]
    file: str = ""
    line: int = 0
    pattern: str = ""
    """The pattern that this contract of one tool was made from."""

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


def is_pattern(name: str) -> bool:
    """Whether the key of a contract stands for several tools."""
    return "*" in name


def contract_paths(given: str | Path | Iterable[str | Path]) -> list[Path]:
    """The files that match the patterns; a pattern without a match is an error, not an empty list."""
    patterns = [given] if isinstance(given, str | Path) else list(given)
    found: list[Path] = []
    for pattern in patterns:
        matches = sorted(glob.glob(str(pattern), recursive=True))  # noqa: PTH207 - patterns may be absolute
        if not matches:
            raise ContractError(_unmatched(str(pattern)))
        found.extend(Path(match) for match in matches)
    return found


def _unmatched(pattern: str) -> Fault:
    if not glob.has_magic(pattern):
        return Fault("no file of this name", "Correct the path", file=pattern)
    remedy = "Write one (`assent contract init TARGET` prints it), correct the pattern, or remove it"
    return Fault("no contract file matches this pattern", remedy, file=pattern)


def load_written(paths: Iterable[Path]) -> list[WrittenContract]:
    """Every contract of the files; raises ContractError with all faults of all files at once."""
    found: list[WrittenContract] = []
    files: dict[tuple[str, str], str] = {}
    faults: list[Fault] = []
    for path in dict.fromkeys(paths):
        file = str(path)
        try:
            document = _document(_text_of(path), file)
            read, wrong = _parse_contracts(document)
        except FaultsError as error:
            faults.extend(error.faults)
            continue
        found += read
        faults += wrong
        for upstream, place, tools in _parts_of(document):
            for name in tools:
                if (upstream, name) in files:
                    message = f"{name} already has a contract in {files[upstream, name]}"
                    faults.append(Fault(message, "Keep one of them", name, *document.locate((*place, name))))
                files.setdefault((upstream, name), file)
    if faults:
        raise ContractError(faults)
    return found


def by_name(written: Iterable[WrittenContract]) -> dict[str, Contract]:
    """Contracts by the tool's own name; raises ContractError if two upstreams have contracts for one name."""
    found: dict[str, WrittenContract] = {}
    faults: list[Fault] = []
    for one in written:
        other = found.setdefault(one.name, one)
        if other is not one:
            message = f"there are contracts of this name for several upstreams, another one at {other.where}"
            faults.append(Fault(message, "Use only the file of the upstream you mean", one.name, one.file, one.line))
    if faults:
        raise ContractError(faults)
    return {name: one.contract for name, one in found.items()}


def parse_written(text: str, file: str = "") -> list[WrittenContract]:
    """The contracts of one YAML (or JSON) text, in the order of the text."""
    found, faults = _parse_contracts(_document(text, file))
    if faults:
        raise ContractError(faults)
    return found


def homes_of(document: YamlDocument) -> list[tuple[str, Place]]:
    """The positions of the tools in a contract file: the upstream (empty if none) and the path of each `tools:`."""
    return [(upstream, place) for upstream, place, _ in _parts_of(document)]


def _document(text: str, file: str) -> YamlDocument:
    try:
        return YamlDocument(text, file, gather=True)
    except FaultsError as error:
        raise ContractError(error.faults) from None


def _parse_contracts(document: YamlDocument) -> tuple[list[WrittenContract], list[Fault]]:
    """Read what can be read of a document, and collect all its faults."""
    found: list[WrittenContract] = []
    faults = list(document.faults)
    for upstream, place, tools in _parts_of(document):
        for name, fields in tools.items():
            try:
                found.append(_parse_contract(document, upstream, (*place, name), fields))
            except ContractError as error:
                faults.extend(error.faults)
    return found, faults


def _parse_contract(document: YamlDocument, upstream: str, place: Place, fields: Any) -> WrittenContract:
    name = place[-1]

    def locate(loc: Place) -> tuple[str, int]:
        return document.locate(place if loc == ("name",) else (*place, *loc))

    file, line = locate(())
    if not isinstance(fields, Mapping):
        message = "a contract must be a set of fields"
        raise ContractError(Fault(message, "Write at least side_effect: read", name[:128], file, line))
    if "name" in fields:
        file, line = locate(("name", "name"))
        raise ContractError(Fault("the name is already the key above", "Remove it", f"{name[:128]}.name", file, line))
    return WrittenContract(name, upstream, _contract(name, fields, locate), dict(fields), file, line)


def _contract(name: str, fields: Mapping[str, Any], locate: Locate) -> Contract:
    """Read a contract; one for a pattern is checked as the contract of any tool that fits."""
    if not is_pattern(name):
        return read_contract(name, fields, locate)
    return read_contract(name.replace("*", "x"), fields, locate).model_copy(update={"name": name})


def _parts_of(document: YamlDocument) -> Iterator[tuple[str, Place, Mapping[str, Any]]]:
    """The parts of a file: the upstream of each, the path of its tools, and the tools."""
    value, file = document.value, document.file
    if value is None:
        raise ContractError(Fault("the file is empty", "Write `tools:` and the contracts under it", file=file, line=1))
    _check_keys(document, (), value, _KEYS)
    if not isinstance(value, Mapping) or not {"tools", "sections"} & value.keys():
        raise ContractError(
            Fault("there is no `tools:` at the top", "Put the contracts under `tools:`", file=file, line=1)
        )
    if "tools" in value or "upstream" in value:
        yield _part(document, ())
    sections = value.get("sections", [])
    if not isinstance(sections, list):
        remedy = "Write `- upstream: NAME` and `tools:` for each"
        raise ContractError(Fault("it must be a list of parts", remedy, "sections", *document.locate(("sections",))))
    for index, section in enumerate(sections):
        place = ("sections", index)
        _check_keys(document, place, section, ("upstream", "tools"))
        if not isinstance(section, Mapping) or "upstream" not in section:
            remedy = "Write `upstream: NAME` and `tools:` in it"
            raise ContractError(Fault("a section must name its upstream", remedy, "sections", *document.locate(place)))
        yield _part(document, place)


def _check_keys(document: YamlDocument, place: Place, value: Any, known: tuple[str, ...]) -> None:
    unknown = [key for key in value if key not in known] if isinstance(value, Mapping) else []
    if unknown:
        close = difflib.get_close_matches(str(unknown[0])[:100], known, n=1)
        remedy = (
            f"Did you mean {close[0]}?" if close else f"Only {', '.join(f'`{key}:`' for key in known)} are allowed here"
        )
        line = document.locate((*place, unknown[0]))[1]
        raise ContractError(Fault("there is no such key", remedy, str(unknown[0])[:128], document.file, line))


def _part(document: YamlDocument, place: Place) -> tuple[str, Place, Mapping[str, Any]]:
    value = document.value
    for key in place:
        value = value[key]
    upstream, tools = value.get("upstream", ""), value.get("tools")
    if not isinstance(upstream, str) or ("upstream" in value and not upstream):
        where = document.locate((*place, "upstream"))
        raise ContractError(Fault("it must be the name of an upstream", "Write it as a text", "upstream", *where))
    if not isinstance(tools, Mapping):
        where = document.locate((*place, "tools"))
        message = "it must have a contract for each tool, by the tool's name"
        raise ContractError(Fault(message, "Write a name and the contract under it", "tools", *where))
    return upstream, (*place, "tools"), tools


def _text_of(path: Path) -> str:
    try:
        if not path.is_file() and path.exists():
            raise ContractError(Fault("not a file", "Use a file, or a pattern for files", file=str(path)))
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ContractError(Fault(f"larger than {MOST_BYTES} bytes", "Split it into several files", file=str(path)))
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ContractError(Fault("not UTF-8 text", "Save it as UTF-8", file=str(path))) from None
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise ContractError(Fault(reason, "Use a file that can be read", file=str(path))) from None
