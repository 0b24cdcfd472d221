"""Problem documents (RFC 9457) of refusals and failures, also as tool results (ADR 0055).

`refusals.json` lists the refusals. A code is `<stage>.<reason>`: the stage names the file that raises it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import orjson

if TYPE_CHECKING:
    from assent.contract.model import Contract

PROBLEM = "dev.assent/problem"
"""The `_meta` key of a problem whose tool advertises an output schema."""
_PROBLEM_MEMBERS = frozenset({"type", "title", "status", "detail"})

Wire = Literal["result", "challenge", "protocol", "question", "api"]
Audience = Literal["model", "person", "operator"]


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """One kind of refusal: its message, its remedy, and its form on the wire."""

    status: int
    title: str
    remedy: str
    audience: Audience = "model"
    wire: Wire = "result"
    retryable: bool = False
    alias: str | None = None


_KEY_PLACE = "in `_meta` as `dev.assent/idempotencyKey` or over HTTP as the header `Idempotency-Key`"

CATALOGUE: dict[str, ProblemKind] = {
    f"{stage}.{reason}": ProblemKind(**fields)
    for stage, kinds in orjson.loads(Path(__file__).with_name("refusals.json").read_bytes()).items()
    for reason, fields in kinds.items()
}


def key_remedy(place: str) -> str:
    """What to do without a key, where this tool takes it from."""
    return CATALOGUE["recall.key_required"].remedy.replace(_KEY_PLACE, place)


def problem_of(
    code: str, kind: ProblemKind, detail: str = "", facts: Mapping[str, Any] | None = None, *, failure: bool = False
) -> dict[str, Any]:
    """The problem document of a refusal. `facts` are members of their own, or replace the status and the remedy."""
    more = dict(facts or {})
    problem = {
        "type": f"https://assent.dev/refusals#{code}",
        "title": kind.title,
        "status": int(more.pop("status", kind.status)),
        "detail": detail or kind.title,
        "code": code,
        "remedy": more.pop("remedy", kind.remedy),
        "retryable": kind.retryable,
    }
    if failure and kind.alias:
        problem["failure"] = kind.alias
    return problem | more


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure mode that the contract declares, under the tool's own code."""

    code: str
    status: int
    title: str
    detail: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def problem(self) -> dict[str, Any]:
        problem = {
            "type": f"https://assent.dev/failures#{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail or self.title,
            "code": self.code,
            "remedy": "The tool itself refused. Change what it rejects, or tell the user.",
            "retryable": False,
        }
        return problem | {key: value for key, value in self.facts.items() if key not in problem}


def declared_failure(contract: Contract, code: str, detail: str, facts: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a declared failure, under its declared code; None if the contract does not declare it."""
    mode = contract.failure_modes.get(code)
    if mode is None:
        return None
    title = mode.title or code.replace("_", " ").capitalize() + "."
    return error_result(Failure(code, mode.status, title, detail, facts).problem())


def error_result(problem: dict[str, Any]) -> dict[str, Any]:
    """A problem as a tool result: the message as text, the whole problem as structured content."""
    return {
        "content": [{"type": "text", "text": text_of_problem(problem)}],
        "structuredContent": problem,
        "isError": True,
    }


def text_of_problem(problem: Mapping[str, Any]) -> str:
    """The sentence of a problem, then the remedy. A tool's own sentence may have no full stop."""
    sentence, remedy = problem["detail"], problem.get("remedy")
    ended = sentence.rstrip().rstrip("\"'”)").endswith((".", "!", "?", "…"))
    return f"{sentence}{'' if ended else '.'} {remedy}" if remedy else str(sentence)


def fit_to_listing(result: dict[str, Any], definition: Mapping[str, Any]) -> dict[str, Any]:
    """Move the problem of an error result to `_meta` and into the text if the tool advertises an output schema.

    Clients check the structured content of errors against that schema too, and drop what does not match.
    """
    problem = result.get("structuredContent")
    if "outputSchema" not in definition or not result.get("isError") or not _is_problem(problem):
        return result
    kept = {key: value for key, value in result.items() if key != "structuredContent"}
    whole = {"type": "text", "text": orjson.dumps(problem).decode()}
    return {
        **kept,
        "content": [*result.get("content", []), whole],
        "_meta": {**result.get("_meta", {}), PROBLEM: problem},
    }


def problem_in(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The problem of an error result from either place; empty if there is none."""
    if not result.get("isError"):
        return {}
    meta = result.get("_meta")
    for found in (result.get("structuredContent"), meta.get(PROBLEM) if isinstance(meta, Mapping) else None):
        if isinstance(found, Mapping):
            return found
    return {}


def _is_problem(value: Any) -> bool:
    return isinstance(value, Mapping) and value.keys() >= _PROBLEM_MEMBERS
