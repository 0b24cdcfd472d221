"""Guard `secrets`: texts contain no keys, tokens or passwords."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from assent.rules.guards.detectors.detector import Detector, DetectorRule
from assent.rules.guards.detectors.kinds import SECRETS
from assent.rules.guards.rule import Examples


def _check_kind(kind: str) -> str:
    if kind not in SECRETS:
        raise ValueError(f"{kind[:40]!r} is not a kind of secret; use some of {', '.join(SECRETS)}")
    return kind


class Secrets(DetectorRule):
    """No text may contain a secret: private keys, API keys and tokens of known providers, signed tokens, passwords.

    Keys are found by the formats of their providers. A password or key is found behind its name (`DB_PASSWORD=...`,
    `"apiToken": "..."`, `--password ...`, `Authorization: Basic ...`), as the value of a member with such a name,
    or in a link (`https://ann:password@host`). What stands for one (`<password>`, `${TOKEN}`, `null`) is none. To allow
    passwords and keys by their name, list the other kinds under `kinds`.
    """

    changed: ClassVar[tuple[str, str]] = (
        "kinds",
        "the value of a member named password, token or the like is a secret",
    )

    all_kinds: ClassVar[dict[str, Detector]] = SECRETS
    examples: ClassVar[Examples] = Examples(
        {},
        passes=({"text": "the key is under the mat"}, {"text": "sk-1"}, {"text": "AKIA"}),
        objects=(
            {"text": "AKIAIOSFODNN7EXAMPLE"},
            {"text": "-----BEGIN PRIVATE KEY-----\nMIIE"},
            {"text": "ghp_" + "a1B2" * 9},
            {"text": "postgres://app:hunter22@db/x"},
            {"text": "DB_PASSWORD=hunter2"},
            {"env": {"DB_PASSWORD": "hunter2"}},
        ),
    )

    kinds: Annotated[
        tuple[Annotated[str, AfterValidator(_check_kind)], ...],
        Field(min_length=1, description="The kinds to find; without it, all."),
    ] = tuple(SECRETS)
