"""Targets of lint rules, as the examples of a rule describe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from assent.checks.lint.target import LintedTool, Target, subject_of
from assent.contract.profiles import profile
from assent.contract.reader import read_contract


def target_of(example: Mapping[str, Any], profile_name: str = "spec") -> Target:
    """Return the target that an example of a rule describes."""
    said_by = profile(profile_name)
    if "name" in example:
        example = {"tools": [example]}
    contracts = {name: read_contract(name, fields) for name, fields in example.get("contracts", {}).items()}
    definitions = {tool["name"]: tool for tool in example.get("tools", ())}
    subjects = [
        LintedTool(tool, method=tool.get("method", ""))
        for tool in example.get("tools", ())
        if tool["name"] not in contracts
    ]
    subjects += [subject_of(definitions.get(name, {}), one, said_by=said_by) for name, one in contracts.items()]
    beside = example.get("beside", {})
    subjects = [replace(one, **beside.get(one.name, {})) for one in subjects]
    return Target("example", tuple(subjects), said_by, example.get("configuration", ""))
