"""Decision cases as data: who calls what in which state, and how it must end (ADR 0082)."""

from support.decisions.cases import Case, load_cases, parse_cases
from support.decisions.harness import Harness, Observed, Scripted, WorldHarness, seen
from support.decisions.model import CallSpec, Expect, WorldSettings
from support.decisions.runner import CaseResult, play, run_cases

__all__ = [
    "CallSpec",
    "Case",
    "CaseResult",
    "Expect",
    "Harness",
    "Observed",
    "Scripted",
    "WorldHarness",
    "WorldSettings",
    "load_cases",
    "parse_cases",
    "play",
    "run_cases",
    "seen",
]
