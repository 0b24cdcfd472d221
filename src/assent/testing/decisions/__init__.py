"""Decision cases as data: who calls what in which state, and how it must end."""

from assent.testing.decisions.cases import Case, load_cases, parse_cases
from assent.testing.decisions.harness import Harness, Observed, Scripted, WorldHarness, seen
from assent.testing.decisions.model import CallSpec, Expect, WorldSettings
from assent.testing.decisions.runner import CaseResult, play, run_cases

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
