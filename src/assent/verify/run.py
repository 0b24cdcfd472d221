"""What happened when the tools of a server were called, and was it what they had promised?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import jsonschema_rs

from assent.contract.pointers import places
from assent.core.refusals import CATALOGUE
from assent.errors import UnansweredError
from assent.verify.inputs import NoExampleError, examples_of
from assent.verify.observe import Eyes, Observer, Seen, Session
from assent.verify.promises import Promises

Calls = Literal["reads", "all"]
_MOST_READS = 20


@dataclass(frozen=True, slots=True)
class Broken:
    """One promise that a call showed to be false."""

    tool: str
    promise: str
    happened: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "tool": self.tool,
            "promise": self.promise,
            "happened": self.happened,
            "arguments": dict(self.arguments),
        }


@dataclass(frozen=True, slots=True)
class Checked:
    """What was done with one tool: how many calls were answered, or why there were none."""

    tool: str
    calls: int = 0
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Everything that was found out."""

    checked: tuple[Checked, ...]
    broken: tuple[Broken, ...]
    notes: tuple[str, ...] = ()


async def verify(
    session: Session,
    tools: Sequence[Promises],
    *,
    observers: Sequence[Observer] = (),
    calls: Calls = "reads",
    examples: int = 5,
    only: Sequence[str] = (),
) -> Verdict:
    """Call tools with made-up arguments and compare. Without `calls="all"` only reads are called."""
    plain = [one.tool for one in tools if one.reads and not one.doubtful and not one.input.get("required")]
    eyes = Eyes(session, plain[:_MOST_READS], observers)
    await eyes.settle()
    checked: list[Checked] = []
    broken: list[Broken] = []
    for promises in tools:
        if only and promises.tool not in only:
            continue
        reason = _left_alone(promises, calls)
        if reason:
            checked.append(Checked(promises.tool, skipped=reason))
            continue
        try:
            given = examples_of(promises.input, examples)
        except NoExampleError as error:
            checked.append(Checked(promises.tool, skipped=str(error)))
            continue
        trial = _Trial(session, promises, eyes)
        for arguments in given:
            await trial.run(arguments)
        checked.append(Checked(promises.tool, trial.calls, trial.skipped))
        broken += trial.broken
    notes = tuple(f"{name} differs by itself and proves nothing" for name in sorted(eyes.unsteady))
    return Verdict(tuple(checked), tuple(broken), notes)


def _left_alone(promises: Promises, calls: Calls) -> str:
    if calls == "all":
        return ""
    if not promises.reads:
        return "it may have an effect; --calls all calls it"
    return "it claims to read, and its definition says otherwise; --calls all calls it" if promises.doubtful else ""


class _Trial:
    """One tool under trial. Each promise is reported once, with the first arguments that broke it."""

    def __init__(self, session: Session, promises: Promises, eyes: Eyes) -> None:
        self._session, self._promises, self._eyes = session, promises, eyes
        self._check = jsonschema_rs.validator_for(dict(promises.output)).is_valid if promises.output else None
        self.calls = 0
        self.skipped = ""
        self.broken: list[Broken] = []

    async def run(self, arguments: dict[str, Any]) -> None:
        if self._promises.reads:
            await self._read(arguments)
            return
        if self._promises.dry_run:
            await self._rehearse({**arguments, self._promises.dry_run: True})
        await self._act({name: value for name, value in arguments.items() if name != self._promises.dry_run})

    async def _read(self, arguments: dict[str, Any]) -> None:
        _, changed = await self._eyes.around(self._call(arguments), self._promises.tool)
        self._unchanged(changed, "it reads only", "a read changed", arguments)

    async def _rehearse(self, arguments: dict[str, Any]) -> None:
        _, changed = await self._eyes.around(self._call(arguments, rehearsal=True), self._promises.tool)
        self._unchanged(changed, "a dry run changes nothing", "a dry run changed", arguments)

    async def _act(self, arguments: dict[str, Any]) -> None:
        first = await self._call(arguments)
        if first is None or first.get("isError"):
            return
        self._hidden(first, await self._eyes.look() if self._promises.secrets else {}, arguments)
        if not self._promises.idempotent and not self._promises.secrets:
            return
        second, changed = await self._eyes.around(self._call(arguments), self._promises.tool)
        if self._promises.idempotent:
            self._repeated(first, second, changed, arguments)
        if set(_secrets(first, self._promises)) & set(_secrets(second or {}, self._promises)):
            self._report("a secret is shown once", "a second call returned the same secret", arguments)

    def _repeated(
        self, first: dict[str, Any], second: dict[str, Any] | None, changed: list[str], arguments: dict[str, Any]
    ) -> None:
        promise = "a repeated call has no further effect"
        self._unchanged(changed, promise, "a second call changed", arguments)
        if second is None or second.get("isError"):
            self._report(promise, "the second call failed", arguments)
        elif "structuredContent" in first and second.get("structuredContent") != first["structuredContent"]:
            self._report(promise, "the second call answered something else", arguments)

    async def _call(self, arguments: dict[str, Any], *, rehearsal: bool = False) -> dict[str, Any] | None:
        """One call whose answer is held against the output schema and the declared failures."""
        try:
            result = await self._session.call(self._promises.tool, arguments)
        except UnansweredError as error:
            self._report("it fails only as declared", f"it was answered by an error: {error}", arguments)
            return None
        self.calls += 1
        structured = result.get("structuredContent")
        if result.get("isError"):
            self._failure(structured, arguments)
        elif self._check is not None and not rehearsal and not self._check(structured):
            self._report("its output fits its schema", "the answer does not fit the output schema", arguments)
        return result

    def _failure(self, structured: Any, arguments: dict[str, Any]) -> None:
        code = structured.get("code") if isinstance(structured, Mapping) else None
        if code in CATALOGUE:
            self.skipped = f"calls were refused ({code})"
        elif self._promises.failures is not None and code not in self._promises.failures:
            said = f"it failed with {code}" if code else "it failed without a code"
            self._report("it fails only as declared", said, arguments)

    def _hidden(self, result: dict[str, Any], seen: Seen, arguments: dict[str, Any]) -> None:
        for secret in _secrets(result, self._promises):
            place = next((name for name, text in seen.items() if secret in text), None)
            if place:
                self._report("a secret is shown once", f"the secret can be read again in {place}", arguments)

    def _unchanged(self, changed: list[str], promise: str, said: str, arguments: dict[str, Any]) -> None:
        if changed:
            self._report(promise, f"{said} {', '.join(changed[:3])}", arguments)

    def _report(self, promise: str, happened: str, arguments: dict[str, Any]) -> None:
        if promise not in {one.promise for one in self.broken}:
            self.broken.append(Broken(self._promises.tool, promise, happened, arguments))


def _secrets(result: Mapping[str, Any], promises: Promises) -> list[str]:
    document = result.get("structuredContent")
    found = [str(holder[key]) for pointer in promises.secrets for holder, key in places(document, pointer)]
    return [secret for secret in found if len(secret) >= 4]
