"""Which contracts stand in these files?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from assent.contract.model import Contract
from assent.contract.reading import read_contract
from assent.contract.yaml_lines import Document
from assent.errors import ContractError, Fault, FaultsError

MOST_BYTES = 8 * 1024 * 1024


def load_contracts(paths: Iterable[Path]) -> dict[str, Contract]:
    """Every contract of the files, by canonical name; all faults of all files at once, or none."""
    found: dict[str, Contract] = {}
    homes: dict[str, str] = {}
    faults: list[Fault] = []
    for path in paths:
        try:
            contracts = parse_contracts(_text_of(path), str(path))
        except FaultsError as error:
            faults.extend(error.faults)
            continue
        for name, contract in contracts.items():
            if name in found:
                faults.append(
                    Fault(f"{name} already has a contract in {homes[name]}", "Keep one of them", name, str(path))
                )
            found[name], homes[name] = contract, str(path)
    if faults:
        raise ContractError(faults)
    return found


def parse_contracts(text: str, file: str = "") -> dict[str, Contract]:
    """The contracts of one YAML (or JSON) text of the form `tools: {name: {...}}`."""
    document = Document(text, file)
    tools = _tools_of(document)
    found: dict[str, Contract] = {}
    faults: list[Fault] = []
    for name, fields in tools.items():
        try:
            found[name] = _one(document, name, fields)
        except ContractError as error:
            faults.extend(error.faults)
    if faults:
        raise ContractError(faults)
    return found


def _one(document: Document, name: str, fields: Any) -> Contract:
    def locate(loc: tuple[Any, ...]) -> tuple[str, int]:
        return document.locate(("tools", name) if loc == ("name",) else ("tools", name, *loc))

    if not isinstance(fields, Mapping):
        file, line = locate(())
        raise ContractError(
            Fault("a contract is a set of fields", "Write at least side_effect: read", name, file, line)
        )
    if "name" in fields:
        file, line = locate(("name",))
        raise ContractError(Fault("the name is the key above", "Remove it", f"{name}.name", file, line))
    return read_contract(name, fields, locate)


def _tools_of(document: Document) -> Mapping[str, Any]:
    value = document.value
    if value is None:
        raise ContractError(Fault("the file is empty", "Write `tools:` and the contracts under it", file=document.file))
    if not isinstance(value, Mapping) or not isinstance(value.get("tools"), Mapping):
        raise ContractError(
            Fault(
                "there is no `tools:` at the top",
                "Put the contracts under `tools:`",
                file=document.file,
                line=1,
            )
        )
    unknown = [key for key in value if key != "tools"]
    if unknown:
        file, line = document.locate((unknown[0],))
        raise ContractError(
            Fault("there is no such key", "Only `tools:` stands at the top", str(unknown[0]), file, line)
        )
    tools: Mapping[str, Any] = value["tools"]
    return tools


def _text_of(path: Path) -> str:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ContractError(Fault(f"larger than {MOST_BYTES} bytes", "Split it into several files", file=str(path)))
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ContractError(Fault("not UTF-8 text", "Save it as UTF-8", file=str(path))) from None
    except OSError as error:
        raise ContractError(Fault(f"cannot be read: {error.strerror}", "", file=str(path))) from None
