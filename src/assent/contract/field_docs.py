"""The docstrings under the fields of models.

Pydantic can read them too, but whenever the models are imported, and that takes as long as the models themselves.
"""

from __future__ import annotations

import ast
import inspect
from types import ModuleType


def field_docs(module: ModuleType) -> dict[str, dict[str, str]]:
    """The docstring under each field, by class and field."""
    classes = [node for node in ast.parse(inspect.getsource(module)).body if isinstance(node, ast.ClassDef)]
    return {node.name: _docs_of(node) for node in classes}


def _docs_of(node: ast.ClassDef) -> dict[str, str]:
    found: dict[str, str] = {}
    for field, said in zip(node.body, node.body[1:], strict=False):
        name = field.target if isinstance(field, ast.AnnAssign) else None
        text = said.value.value if isinstance(said, ast.Expr) and isinstance(said.value, ast.Constant) else None
        if isinstance(name, ast.Name) and isinstance(text, str):
            found[name.id] = inspect.cleandoc(text)
    return found
