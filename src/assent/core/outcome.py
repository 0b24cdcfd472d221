"""The endings of a call: answer, pause, refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from assent.core.problems import CATALOGUE, problem_of

if TYPE_CHECKING:
    from assent.core.approval import Approval
    from assent.core.call import Resume

REPLAYED = "dev.assent/replayed"
NOTHING_RAN = {
    "type": "text",
    "text": "This is the stored result of an earlier call with the same key or arguments. Nothing ran again.",
}
"""The last content block of a replay, for the model, which does not read `_meta`."""
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
        """Its problem document; equal refusals have equal ones."""
        return problem_of(self.code, CATALOGUE[self.code], self.detail, self.facts, failure=failure)


Outcome = Answer | Pause | Refusal
