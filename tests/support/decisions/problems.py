"""The problem of a refused call, wherever the result has it."""

from typing import Any

import mcp_types as types

from assent.core.problems import problem_in


def problem(result: types.CallToolResult | dict[str, Any]) -> dict[str, Any]:
    """The problem details of an error result; fails for any other."""
    raw = result if isinstance(result, dict) else result.model_dump(mode="json", by_alias=True, exclude_none=True)
    found = problem_in(raw)
    assert found, raw
    return dict(found)
