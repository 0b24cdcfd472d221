"""How is a value written as JSON that people can read and every file can hold?"""

from __future__ import annotations

import json
from typing import Any


def written(value: Any) -> str:
    """Indented, with letters as they are; halves of characters, which UTF-8 cannot say, stay escapes."""
    said = json.dumps(value, indent=2, ensure_ascii=False)
    return said.encode("utf-8", "backslashreplace").decode("utf-8")
