"""Report formats, one per file."""

from __future__ import annotations

from collections.abc import Callable

from assent.lint.report import github, json, junit, sarif, text
from assent.lint.run import Report

FORMATS: dict[str, Callable[[Report], str]] = {
    "text": text.render,
    "json": json.render,
    "sarif": sarif.render,
    "github": github.render,
    "junit": junit.render,
}
