"""Reads OpenAPI documents for commands."""

from __future__ import annotations

import re
from pathlib import Path

from assent.contract.infer import classify
from assent.contract.model import Contract
from assent.contract.reader import read_contract
from assent.upstreams.openapi.api import ApiDescription, read_api
from assent.upstreams.openapi.references import library_of, read_file

_VERSION = re.compile(r"""^\s*["']?(openapi|swagger)["']?\s*:|"(openapi|swagger)"\s*:\s*"[0-9]""", re.MULTILINE)


def api_of(path: Path) -> ApiDescription | None:
    """The API that a file describes, or None if it is not an OpenAPI document. Raises DocumentError for a bad one."""
    if not path.is_file():
        return None
    text = read_file(path)
    if not _VERSION.search(text):
        return None
    return read_api(library_of(text, str(path)), infer=classify)


def api_contracts(api: ApiDescription) -> dict[str, Contract]:
    """The contracts of an API's operations, by tool name."""
    return {name: read_contract(name, tool.fields) for name, tool in api.tools.items()}
