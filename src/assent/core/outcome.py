"""The endings of a call (answer, pause, refusal), and the form of a problem as a tool result (ADR 0055)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from assent.core.refusals import CATALOGUE

if TYPE_CHECKING:
    from assent.contract.model import Contract
    from assent.core.approval import Approval
    from assent.core.call import Resume

REPLAYED = "dev.assent/replayed"
NOTHING_RAN = {
    "type": "text",
    "text": "This is the stored result of an earlier call with the same key or arguments. Nothing ran again.",
}
"""The last content block of a replay, for the model, which does not read `_meta`."""
PROBLEM = "dev.assent/problem"
"""The `_meta` key of a problem whose tool advertises an output schema."""
_PROBLEM_MEMBERS = frozenset({"type", "title", "status", "detail"})
INPUT_REQUIRED = "input_required"
"""The `resultType` of a result that is the tool's own question."""


class Answer(NamedTuple):
    """The tool's own result in wire form."""

    result: dict[str, Any]
    replayed: bool = False
    resume: Resume | None = None
    """The claim that waits for the answer, if the result is the tool's own question."""
    text: bytes | None = None
    """The result as JSON, if that was written already."""

    def on_wire(self) -> dict[str, Any]:
        if not self.replayed:
            return self.result
        meta, content = self.result.get("_meta", {}), self.result.get("content", [])
        return {**self.result, "content": [*content, NOTHING_RAN], "_meta": {**meta, REPLAYED: True}}


class Ending(Exception):
    """A pause or a refusal: raised by a stage, caught only by `record`."""


class Pause(Ending):
    """A question for the person at the client. The same call with the answer continues."""

    def __init__(self, approval: Approval, size: int = 0, *, keyed: bool = False) -> None:
        """`size` is how many bytes of arguments wait with the question, `keyed` whether equal calls are one action."""
        super().__init__(approval.id)
        self.approval, self.size, self.keyed = approval, size, keyed
        self.code = "confirm.confirmation_required"


class Refusal(Ending):
    """A call that is not run, with a code that names the stage and a remedy for the caller."""

    def __init__(self, code: str, detail: str = "", **facts: Any) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail
        self.facts = facts
        self.approval: Approval | None = None
        """What a person must decide first, if that is why."""

    @property
    def status(self) -> int:
        return int(self.facts.get("status", CATALOGUE[self.code].status))

    def problem(self, *, failure: bool = False) -> dict[str, Any]:
        """RFC 9457 problem details; equal refusals have equal problems."""
        entry = CATALOGUE[self.code]
        problem: dict[str, Any] = {
            "type": f"https://assent.dev/refusals#{self.code}",
            "title": entry.title,
            "status": self.status,
            "detail": self.detail or entry.title,
            "code": self.code,
            "remedy": self.facts.get("remedy", entry.remedy),
            "retryable": entry.retryable,
        }
        if failure and entry.alias:
            problem["failure"] = entry.alias
        problem.update({key: value for key, value in self.facts.items() if key not in ("status", "remedy")})
        return problem


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


Outcome = Answer | Pause | Refusal


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
