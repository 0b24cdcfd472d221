"""The JSON Schema with which editors check `assent.yaml`."""

from __future__ import annotations

import inspect
from functools import cache
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from assent.config import callers, model, notify, sandbox
from assent.config.model import Settings
from assent.contract import parts
from assent.contract.schema import DIALECT, clean_schema, field_docs
from assent.core import match, quotas
from assent.rules.guards import rule_names

_MODULES: tuple[ModuleType, ...] = (model, callers, notify, sandbox, quotas, match, parts)


def settings_schema() -> dict[str, Any]:
    """The schema of `assent.yaml`: every key with its type, its default and one sentence.

    The loader checks more: what contradicts, and what a `${NAME}` stands for. Where a number is expected, an editor
    reports such a reference, and the loader accepts it.
    """
    raw = Settings.model_json_schema(by_alias=True)
    shared = {name: _described(name, schema) for name, schema in raw.pop("$defs").items()}
    settings = _described("Settings", raw)
    settings["properties"]["guards"]["items"] = {
        "type": "object",
        "required": ["rule"],
        "properties": {"rule": {"description": "The name of the guard.", "enum": sorted(rule_names())}},
    }
    head = {"$schema": DIALECT, "title": "Assent configuration"}
    return {**head, **settings, "$defs": dict(sorted(shared.items()))}


def _described(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A model's schema with the docstrings of its attributes as descriptions."""
    found, docs = clean_schema(schema), _docs_by_class().get(name, {})
    for key, field in found.get("properties", {}).items():
        if key in docs:
            field["description"] = " ".join(docs[key].split())
    return found


@cache
def _docs_by_class() -> dict[str, dict[str, str]]:
    """The docstrings of the attributes of each model, inherited ones included."""
    own = {name: docs for module in _MODULES for name, docs in field_docs(module).items()}
    models = {name: one for module in _MODULES for name, one in vars(module).items() if inspect.isclass(one)}
    found = {}
    for name, one in models.items():
        if issubclass(one, BaseModel):
            inherited = [own.get(base.__name__, {}) for base in reversed(one.__mro__)]
            found[name] = {key: text for docs in inherited for key, text in docs.items()}
    return found
