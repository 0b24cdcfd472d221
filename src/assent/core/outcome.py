"""The endings of a call: an answer, a pause or a refusal, and how a problem looks as a tool result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from assent.contract.model import Contract
from assent.core.refusals import CATALOGUE

if TYPE_CHECKING:
    from assent.core.approval import Approval
    from assent.core.call import Resume

REPLAYED = "dev.assent/replayed"
PROBLEM = "dev.assent/problem"
"""The `_meta` key of a problem whose tool advertises an output schema."""
_PROBLEM_MEMBERS = frozenset({"type", "title", "status", "detail"})
INPUT_REQUIRED = "input_required"
"""The `resultType` of a result that is a question of the tool's own."""


class Answer(NamedTuple):
    """The tool's own result, as it goes on the wire."""

    result: dict[str, Any]
    replayed: bool = False
    resume: Resume | None = None
    """Set where the result is a question of the tool's own: the claim that waits for its answer."""

    def on_wire(self) -> dict[str, Any]:
        if not self.replayed:
            return self.result
        return {**self.result, "_meta": {**self.result.get("_meta", {}), REPLAYED: True}}


class Ending(Exception):
    """A pause or a refusal: raised by a stage, caught by `record` alone."""


class Pause(Ending):
    """A question for the person at the client; the same call again, with the answer, goes on."""

    def __init__(self, approval: Approval) -> None:
        super().__init__(approval.id)
        self.approval = approval
        self.code = "confirm.confirmation_required"


class Refusal(Ending):
    """A no, with a code that names the stage, and what the caller can do about it."""

    def __init__(self, code: str, detail: str = "", **facts: Any) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail
        self.facts = facts

    @property
    def status(self) -> int:
        return int(self.facts.get("status", CATALOGUE[self.code].status))

    def problem(self, *, failure: bool = False) -> dict[str, Any]:
        """RFC 9457 problem details; nothing in it differs between two equal refusals."""
        entry = CATALOGUE[self.code]
        said: dict[str, Any] = {
            "type": f"https://assent.dev/refusals#{self.code}",
            "title": entry.title,
            "status": self.status,
            "detail": self.detail or entry.title,
            "code": self.code,
            "remedy": self.facts.get("remedy", entry.remedy),
            "retryable": entry.retryable,
        }
        if failure and entry.alias:
            said["failure"] = entry.alias
        said.update({key: value for key, value in self.facts.items() if key not in ("status", "remedy")})
        return said


@dataclass(frozen=True, slots=True)
class Failure:
    """A declared failure mode of the tool, under the tool's own code."""

    code: str
    status: int
    title: str
    detail: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def problem(self) -> dict[str, Any]:
        said = {
            "type": f"https://assent.dev/failures#{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail or self.title,
            "code": self.code,
            "remedy": "The tool itself refused; change what it objects to, or tell the user.",
            "retryable": False,
        }
        return said | {key: value for key, value in self.facts.items() if key not in said}


def declared_failure(contract: Contract, code: str, detail: str, facts: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a failure that the contract declares, under its declared code; None for one it does not."""
    mode = contract.failure_modes.get(code)
    if mode is None:
        return None
    title = mode.title or code.replace("_", " ").capitalize() + "."
    return error_result(Failure(code, mode.status, title, detail, facts).problem())


Outcome = Answer | Pause | Refusal


def error_result(problem: dict[str, Any]) -> dict[str, Any]:
    """A problem as a tool result: the sentence as text, the whole of it as structured content."""
    sentence = problem["detail"]
    remedy = problem.get("remedy")
    return {
        "content": [{"type": "text", "text": f"{sentence} {remedy}" if remedy else sentence}],
        "structuredContent": problem,
        "isError": True,
    }


def fit_to_listing(result: dict[str, Any], definition: Mapping[str, Any]) -> dict[str, Any]:
    """The result with its problem in `_meta` and in the text, where the tool advertises an output schema.

    Clients check the structured content of errors against that schema too, and drop what does not fit.
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
    """The problem of an error result, wherever it is; empty where there is none."""
    if not result.get("isError"):
        return {}
    meta = result.get("_meta")
    for said in (result.get("structuredContent"), meta.get(PROBLEM) if isinstance(meta, Mapping) else None):
        if isinstance(said, Mapping):
            return said
    return {}


def _is_problem(said: Any) -> bool:
    return isinstance(said, Mapping) and said.keys() >= _PROBLEM_MEMBERS
