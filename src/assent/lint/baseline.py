"""Baseline: known findings, so that only new ones count."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from assent.errors import Fault, SettingsError
from assent.lint.json_text import written
from assent.lint.rule import Finding
from assent.lint.run import Report


@dataclass(frozen=True, slots=True)
class Baseline:
    """Known findings by fingerprint and file; a row without a file covers any file."""

    home: Path
    rows: tuple[tuple[str, str | None], ...]


def read_baseline(path: Path) -> Baseline:
    """Read a baseline file; raise SettingsError if it is not one."""
    if not path.exists():
        raise SettingsError(Fault("there is no baseline", "Write it with --write-baseline", file=str(path)))
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        rows = [(str(one["fingerprint"]), str(one["file"]) if "file" in one else None) for one in found["findings"]]
        return Baseline(path.parent, tuple(rows))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        remedy = "Name another file, or remove this one and write it with --write-baseline"
        raise SettingsError(Fault(f"not a baseline: {error}", remedy, file=str(path))) from None


def baseline_text(findings: Iterable[Finding], home: Path) -> str:
    """Return a baseline file for this folder, in an order that gives small diffs."""
    rows = [
        {
            "fingerprint": one.fingerprint,
            "file": _seen_from(home, one.file),
            "rule": one.rule,
            "tool": one.tool,
            "at": one.at,
            "message": one.message,
        }
        for one in findings
    ]
    rows.sort(key=lambda row: (row["file"], row["tool"], row["rule"], row["at"]))
    return written({"version": 1, "findings": rows}) + "\n"


def less(report: Report, baseline: Baseline) -> Report:
    """Return the report with only new findings; one row covers one finding."""
    allowed = Counter(baseline.rows)
    new: list[Finding] = []
    known: list[Finding] = []
    for finding in report.findings:
        named = (finding.fingerprint, _seen_from(baseline.home, finding.file))
        row = next((row for row in (named, (finding.fingerprint, None)) if allowed[row] > 0), None)
        if row is None:
            new.append(finding)
        else:
            allowed[row] -= 1
            known.append(finding)
    return replace(report, findings=tuple(new), known=tuple(known))


def _seen_from(home: Path, file: str) -> str:
    """Return the file name relative to the baseline's folder."""
    if not file or not Path(file).exists():
        return file
    return Path(os.path.relpath(Path(file).resolve(), home.resolve())).as_posix()
