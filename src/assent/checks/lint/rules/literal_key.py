"""Rule: a configuration contains no literal keys."""

from __future__ import annotations

import re
from collections.abc import Iterator

from assent.checks.lint.rule import RawFinding, Rule
from assent.checks.lint.target import Target

_NAMED = re.compile(
    r"""["']?(?P<name>[\w-]*(?:key|token|secret|password|authorization)[\w-]*)["']?\s*:\s*["']?(?P<value>[^"'\s,}{\]]\S*[^"',}\]]*)""",
    re.IGNORECASE,
)
_SHAPED = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|xox[baprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}"
    r"|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.)"
)
_IN_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/:@]+:(?!\$\{)[^\s/@]+@")


def check(target: Target) -> Iterator[tuple[str, RawFinding]]:
    for number, line in enumerate(target.configuration.splitlines(), start=1):
        code = line if '"' in line or "'" in line else line.partition(" #")[0]
        if code.lstrip().startswith("#"):
            continue
        named = next((one for one in _NAMED.finditer(code) if _literal(one["value"])), None)
        if named or _SHAPED.search(code) or _IN_ADDRESS.search(code):
            what = named["name"] if named else "a credential"
            yield "", RawFinding(f"{what} is written into the file", f"line {number}")


def _literal(value: str) -> bool:
    """Whether a value is a key itself: long enough, no path, no number, and nothing taken from the environment."""
    plain = value.removeprefix("Bearer ").removeprefix("Basic ").strip()
    return (
        "${" not in value
        and len(plain) >= 8
        and not plain.startswith(("/", "./", "http", "[", "{"))
        and (any(c.isdigit() for c in plain) or len(plain) >= 16)
    )


RULE = Rule(
    name="literal-key",
    severity="warning",
    summary="A configuration holds a key, token or password as it is.",
    why="Configurations are committed, copied and shown.",
    fix="Write ${NAME} and put the value into the environment.",
    whole=check,
    flags=(
        {"configuration": "auth:\n  api_keys:\n    - {name: ci, key: hunter2-hunter2}\n"},
        {"configuration": 'upstreams:\n  a: {url: "http://a", headers: {Authorization: "Bearer abcdef123456"}}\n'},
        {"configuration": "store: postgresql://user:pass@host/db\n"},
    ),
    passes=(
        {"configuration": 'auth:\n  api_keys:\n    - {name: ci, key: "${CI_KEY}"}\n'},
        {"configuration": "store: sqlite:///assent.db\nsecrets: {directory: .assent}\n"},
    ),
)
