"""Writes values as readable JSON."""

from __future__ import annotations

import json
from typing import Any


def written(value: Any) -> str:
    """Return indented JSON with unescaped letters; lone surrogates stay escaped, because UTF-8 cannot encode them."""
    said = json.dumps(value, indent=2, ensure_ascii=False)
    return said.encode("utf-8", "backslashreplace").decode("utf-8")
