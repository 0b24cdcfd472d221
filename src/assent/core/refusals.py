"""The catalogue of refusals, which `refusals.json` lists.

A code is `<stage>.<reason>`: the stage names the file that raises it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import orjson

Wire = Literal["result", "challenge", "protocol", "question", "api"]
Audience = Literal["model", "person", "operator"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of refusal: its message, its remedy, and its form on the wire."""

    status: int
    title: str
    remedy: str
    audience: Audience = "model"
    wire: Wire = "result"
    retryable: bool = False
    alias: str | None = None


_KEY_PLACE = "in `_meta` as `dev.assent/idempotencyKey` or over HTTP as the header `Idempotency-Key`"

CATALOGUE: dict[str, Kind] = {
    f"{stage}.{reason}": Kind(**fields)
    for stage, kinds in orjson.loads(Path(__file__).with_suffix(".json").read_bytes()).items()
    for reason, fields in kinds.items()
}


def key_remedy(place: str) -> str:
    """What to do without a key, where this tool takes it from."""
    return CATALOGUE["recall.key_required"].remedy.replace(_KEY_PLACE, place)
