"""The recent sign-in that lasting powers need: keys, accounts, passkeys and the release of a stop.

A stolen session, or one left open, must not leave anything behind that outlives it, nor make a key that may do what
the session itself is too old for.
"""

from __future__ import annotations

from assent.contract.parts import StepUp
from assent.core.principal import Principal
from assent.people.api.problems import ApiProblem
from assent.pipeline.step_up import shortfall
from assent.ports import Ports

MOST_AGE = 300
"""Seconds. `defaults.step_up.max_age` may ask for less, never for more."""


def is_recent(person: Principal, ports: Ports) -> bool:
    """Whether a person signed in recently and strongly enough to approve a critical call.

    Keys have no sign-in. They pass unless `defaults.step_up.approvers` is `all`: then they cannot approve such a call.
    """
    default = ports.rules.default_step_up
    if not (person.in_console or person.bearer or default.approvers == "all"):
        return True
    acr = () if default.approvers == "none" else default.spec.acr
    needed = StepUp(max_age=min(default.spec.max_age or MOST_AGE, MOST_AGE), acr=acr)
    return shortfall(needed, person, ports.now()) is None


def check_recent(person: Principal, ports: Ports) -> None:
    """Raises unless the person signed in recently."""
    if not is_recent(person, ports):
        raise ApiProblem("api.sign_in_again", "This needs a sign-in of the last minutes; yours is older or weaker.")
