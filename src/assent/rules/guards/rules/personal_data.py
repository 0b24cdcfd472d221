"""Guard `personal_data`: texts contain no personal data."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from assent.rules.guards.detectors.detector import Detector, DetectorRule
from assent.rules.guards.detectors.kinds import PERSONAL
from assent.rules.guards.rule import Examples


def _check_kind(kind: str) -> str:
    if kind not in PERSONAL:
        raise ValueError(f"{kind[:40]!r} is not a kind of personal data; use some of {', '.join(PERSONAL)}")
    return kind


class PersonalData(DetectorRule):
    """No text may contain personal data: mail addresses, phone numbers, national identity numbers.

    Identity numbers count if their check digit is right (US numbers have none). Digits of other scripts and invisible
    characters in between are read. Masking replaces what is found and leaves the rest of the text.
    """

    all_kinds: ClassVar[dict[str, Detector]] = PERSONAL
    examples: ClassVar[Examples] = Examples(
        {"kinds": ["email", "phone", "us_ssn", "nl_bsn"]},
        passes=({"text": "Order 123-45, room 12"}, {"text": "version 1.2.3 @ noon"}, {"text": "1112 22 334"}),
        objects=(
            {"text": "Ask ann@example.com"},
            {"text": "+49 30 1234567"},
            {"text": "078-05-1120"},
            {"text": "1112 22 333"},
        ),
    )

    kinds: Annotated[
        tuple[Annotated[str, AfterValidator(_check_kind)], ...],
        Field(min_length=1, description="The kinds to find; without it, all."),
    ] = tuple(PERSONAL)
