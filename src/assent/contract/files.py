"""Which contracts stand in these files?"""

from __future__ import annotations

import difflib
import glob
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from assent.contract.model import Contract
from assent.contract.reading import read_contract
from assent.contract.yaml_lines import Document
from assent.errors import ContractError, Fault, FaultsError

MOST_BYTES = 8 * 1024 * 1024


def contract_paths(given: str | Path | Iterable[str | Path]) -> list[Path]:
    """The files that patterns name; a pattern that names none is a mistake, not an empty list."""
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
    return Fault("there is no contract file to match this pattern", remedy, file=pattern)


def load_contracts(paths: Iterable[Path]) -> dict[str, Contract]:
    """Every contract of the files, by canonical name; all faults of all files at once, or none."""
    found: dict[str, Contract] = {}
    homes: dict[str, str] = {}
    faults: list[Fault] = []
    for path in dict.fromkeys(paths):
        file = str(path)
        try:
            document = _document(_text_of(path), file)
            contracts, wrong = _read(document)
        except FaultsError as error:
            faults.extend(error.faults)
            continue
        faults.extend(wrong)
        for name in _tools_of(document):
            if name in homes:
                line = document.locate(("tools", name))[1]
                message = f"{name} already has a contract in {homes[name]}"
                faults.append(Fault(message, "Keep one of them", name, file, line))
            homes.setdefault(name, file)
        found.update(contracts)
    if faults:
        raise ContractError(faults)
    return found


def load_declared(paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    """What the files themselves say of each tool, nothing derived: to be laid over what else is known of it."""
    found: dict[str, dict[str, Any]] = {}
    for path in dict.fromkeys(paths):
        found.update({name: dict(fields) for name, fields in _tools_of(_document(_text_of(path), str(path))).items()})
    return found


def parse_contracts(text: str, file: str = "") -> dict[str, Contract]:
    """The contracts of one YAML (or JSON) text of the form `tools: {name: {...}}`."""
    found, faults = _read(_document(text, file))
    if faults:
        raise ContractError(faults)
    return found


def _document(text: str, file: str) -> Document:
    try:
        return Document(text, file, gather=True)
    except FaultsError as error:
        raise ContractError(error.faults) from None


def _read(document: Document) -> tuple[dict[str, Contract], list[Fault]]:
    """What can be read of a document, and everything that is wrong with it."""
    found: dict[str, Contract] = {}
    faults = list(document.faults)
    for name, fields in _tools_of(document).items():
        try:
            found[name] = _one(document, name, fields)
        except ContractError as error:
            faults.extend(error.faults)
    return found, faults


def _one(document: Document, name: str, fields: Any) -> Contract:
    def locate(loc: tuple[Any, ...]) -> tuple[str, int]:
        return document.locate(("tools", name) if loc == ("name",) else ("tools", name, *loc))

    if not isinstance(fields, Mapping):
        file, line = locate(())
        message = "a contract is a set of fields"
        raise ContractError(Fault(message, "Write at least side_effect: read", name[:128], file, line))
    if "name" in fields:
        file, line = document.locate(("tools", name, "name"))
        raise ContractError(Fault("the name is the key above", "Remove it", f"{name[:128]}.name", file, line))
    return read_contract(name, fields, locate)


def _tools_of(document: Document) -> Mapping[str, Any]:
    value, file = document.value, document.file
    if value is None:
        raise ContractError(Fault("the file is empty", "Write `tools:` and the contracts under it", file=file, line=1))
    unknown = [key for key in value if key != "tools"] if isinstance(value, Mapping) else []
    if unknown:
        close = difflib.get_close_matches(unknown[0][:100], ["tools"], n=1)
        remedy = "Did you mean tools?" if close else "Only `tools:` stands at the top"
        line = document.locate((unknown[0],))[1]
        raise ContractError(Fault("there is no such key", remedy, unknown[0][:128], file, line))
    if not isinstance(value, Mapping) or "tools" not in value:
        raise ContractError(
            Fault("there is no `tools:` at the top", "Put the contracts under `tools:`", file=file, line=1)
        )
    tools = value["tools"]
    if not isinstance(tools, Mapping):
        line = document.locate(("tools",))[1]
        message = "it holds a contract for each tool, by the tool's name"
        raise ContractError(Fault(message, "Write a name and the contract under it", "tools", file, line))
    return tools


def _text_of(path: Path) -> str:
    try:
        if not path.is_file() and path.exists():
            raise ContractError(Fault("not a file", "Name a file, or files by a pattern", file=str(path)))
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ContractError(Fault(f"larger than {MOST_BYTES} bytes", "Split it into several files", file=str(path)))
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ContractError(Fault("not UTF-8 text", "Save it as UTF-8", file=str(path))) from None
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise ContractError(Fault(reason, "Name a file that can be read", file=str(path))) from None
