"""The lists of statements beside the examples: every statement names a test that exists, or a reason."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from support.clients.transports import ROOT

_TEST = re.compile(r"`(?:(tests/[\w/]+\.py)::)?(test_\w+)`")


def check_statements(example: str) -> list[str]:
    """What is wrong with `examples/NAME/STATEMENTS.md`: a statement without test and reason, or an unknown test."""
    lines = (ROOT / "examples" / example / "STATEMENTS.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if re.match(r"\| [A-Z]+\d", line)]
    faults = [f"{row[0]} has no test and no reason" for row in rows if not _TEST.search(row[2]) and not row[3]]
    for row in rows:
        for file, name in _TEST.findall(row[2]):
            if name not in _tests_in(ROOT / (file or f"tests/examples/test_{example}.py")):
                faults.append(f"{row[0]} names {name}, which does not exist")
    ids = [row[0] for row in rows]
    return faults + ([] if rows and len(ids) == len(set(ids)) else ["no statements, or one of them twice"])


@cache
def _tests_in(file: Path) -> frozenset[str]:
    if not file.exists():
        return frozenset()
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    return frozenset(node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
