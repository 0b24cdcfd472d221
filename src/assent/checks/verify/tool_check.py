"""Checks one tool: calls, dry runs, repeats, retries and declines it, and compares with its promises."""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assent.checks.verify.observe import Seen, StateSnapshot, ToolSession
from assent.checks.verify.promises import Promises
from assent.contract.documents import schema_validator
from assent.contract.pointers import places
from assent.core.one_time_secrets import ALREADY_DELIVERED
from assent.core.problems import CATALOGUE, problem_in
from assent.errors import EndedError, SilentError, UnansweredError

Result = dict[str, Any]
Arguments = dict[str, Any]

_READS = "it reads only"
_SHOWN_ONCE = "a secret is shown once"
_ASKED = "its user is asked before it acts"
FAILS = "it fails only as declared"
_FITS = "its output fits its schema"
# A retry may report that its secret is gone, which is correct.
_GONE = "recall.secret_already_delivered"
# Codes of a call that was made without a better-known end.
_MADE = ("execute.failed", "execute.in_doubt", "execute.undeclared_failure", "execute.output_invalid")
_LEAST_SECRET = 4
_MOST_GIVEN = 5


@dataclass(frozen=True, slots=True)
class Broken:
    """One promise that a call disproved."""

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


class ToolCheck:
    """Check of one tool. Each promise is reported once, with the first arguments that broke it."""

    def __init__(self, session: ToolSession, promises: Promises, state_snapshot: StateSnapshot) -> None:
        self._session, self._promises, self._state_snapshot = session, promises, state_snapshot
        self._acted = False
        self._pointers = promises.secrets
        """Places of its secrets; a server under contract names them only in an answer without them."""
        self._asked_before = session.questions_asked
        self._held_secrets = False
        self.calls = 0
        self.answered = 0
        """Number of calls without a failure."""
        self.unheld: tuple[str, ...] = ()
        """Places of secrets in its contract, if no answer contained one."""
        self.skipped = ""
        self.silent = False
        self.ended = False
        self.broken: list[Broken] = []
        self._fits = self._output_check()
        self._unchanged(state_snapshot.changed_by.get(promises.tool, []), _READS, "a read changed", {})

    async def run(self, arguments: Arguments) -> None:
        """Check every promise that these arguments can disprove."""
        promises = self._promises
        if promises.reads:
            await self._check_read(arguments)
            return
        plain = {name: value for name, value in arguments.items() if name not in (promises.dry_run, promises.key)}
        if promises.dry_run:
            await self._rehearse({**plain, promises.dry_run: True})
        await self._act({**plain, **promises.in_earnest})

    async def decline(self, arguments: Arguments) -> None:
        """Make one more call that the user declines; last, because a no may last for a while."""
        if not self._promises.asks or not self._acted:
            return
        if self._session.questions_asked == self._asked_before:
            if not self._promises.alone:
                self._report(_ASKED, "no one was asked", arguments)
            return
        plain = {name: value for name, value in arguments.items() if name != self._promises.dry_run}
        before = self._session.questions_asked
        work = self._call({**plain, **self._promises.in_earnest}, new_key(), agree=False)
        result, changed = await self._state_snapshot.around(work, self._promises.tool)
        if self._session.questions_asked > before:
            self._unchanged(changed, _ASKED, "a call that its user declined changed", arguments)
            if result is not None and not result.get("isError"):
                self._report(_ASKED, "a call that its user declined was answered", arguments)

    def _output_check(self) -> Callable[[Any], bool] | None:
        if not self._promises.output:
            return None
        try:
            check: Callable[[Any], bool] = schema_validator(dict(self._promises.output)).is_valid
        except ValueError as error:
            self._report(_FITS, f"its output schema is not valid: {error}", {})
            return None
        return check

    async def _check_read(self, arguments: Arguments) -> None:
        first, changed = await self._state_snapshot.around(self._call(arguments), self._promises.tool)
        self._unchanged(changed, _READS, "a read changed", arguments)
        if first is not None and self._promises.secrets:
            self._shown_once(first, await self._call(arguments), arguments)

    async def _rehearse(self, arguments: Arguments) -> None:
        work = self._call(arguments, new_key(), rehearsal=True)
        _, changed = await self._state_snapshot.around(work, self._promises.tool)
        self._unchanged(changed, "a dry run changes nothing", "a dry run changed", arguments)

    async def _act(self, arguments: Arguments) -> None:
        key = new_key()
        first = await self._call(arguments, key)
        if first is None or first.get("isError"):
            return
        self._acted = True
        if self._pointers:
            self._hidden(first, await self._state_snapshot.look(), arguments)
            self._hidden(first, await self._state_snapshot.look_up(self._reusable_values(first)), arguments)
        if self._promises.key is not None:
            promise = "a retry with the same key has no further effect"
            await self._repeat(promise, first, arguments, key)
        if self._promises.idempotent:
            await self._repeat("a repeated call has no further effect", first, arguments, new_key())
        elif self._pointers:
            self._shown_once(first, await self._call(arguments, new_key()), arguments)

    async def _repeat(self, promise: str, first: Result, arguments: Arguments, key: str) -> None:
        """Repeat the call: nothing may change, and the answer must be the same except for secrets."""
        second, changed = await self._state_snapshot.around(self._call(arguments, key), self._promises.tool)
        self._unchanged(changed, promise, "a second call changed", arguments)
        emptied = _emptied_places(second or {})
        self._pointers = self._pointers or emptied
        self._shown_once(first, second, arguments)
        if second is None or (second.get("isError") and _code(second) != _GONE):
            self._report(promise, "the second call failed", arguments)
        elif emptied and "structuredContent" not in first:
            return  # a text with a secret is withheld as a whole
        elif not second.get("isError") and self._comparable_answer(second) != self._comparable_answer(first):
            self._report(promise, "the second call answered something else", arguments)

    async def _call(
        self, arguments: Arguments, key: str | None = None, *, rehearsal: bool = False, agree: bool = True
    ) -> Result | None:
        """Make one call, and check its answer against the output schema and the declared failures."""
        given, beside = arguments, None
        if self._promises.key:
            given = {**arguments, self._promises.key: key}
        elif self._promises.key is not None:
            beside = key
        try:
            result = await self._session.call(self._promises.tool, given, key=beside, agree=agree)
        except SilentError as error:
            self.silent = True
            self._report(FAILS, f"it did not answer: {error}", arguments)
            return None
        except EndedError as error:
            self.ended = True
            self._report(FAILS, f"{error} when it was called", arguments)
            return None
        except UnansweredError as error:
            self._report(FAILS, f"it was answered by an error: {error}", arguments)
            return None
        refused = result.get("isError") and _code(result) in CATALOGUE and _code(result) not in _MADE
        self.calls += not refused
        self.answered += not result.get("isError")
        if not result.get("isError") and not rehearsal:
            self._held_secrets = self._held_secrets or bool(self._secrets(result))
            self.unheld = () if self._held_secrets else self._promises.secrets
        if refused:
            self.skipped = f"calls were refused ({_code(result)})" if agree and _code(result) != _GONE else self.skipped
        elif result.get("isError"):
            self._failure(_code(result), arguments)
        elif self._fits is not None and not rehearsal and not self._fits(result.get("structuredContent")):
            self._report(_FITS, _misfit(result), arguments)
        return result

    def _failure(self, code: Any, arguments: Arguments) -> None:
        if code == "execute.output_invalid":
            self._report(_FITS, "the answer does not fit the output schema", arguments)
        elif code == "execute.undeclared_failure":
            self._report(FAILS, "it failed in a way that it does not declare", arguments)
        elif code not in _MADE and self._promises.failures is not None and code not in self._promises.failures:
            happened = f"it failed with {code}" if code else "it failed without a code"
            self._report(FAILS, happened, arguments)

    def _hidden(self, result: Result, seen: Seen, arguments: Arguments) -> None:
        for secret in self._secrets(result):
            place = next((name for name, text in seen.items() if _contains_secret(secret, text)), None)
            if place:
                self._report(_SHOWN_ONCE, f"the secret can be read again in {place}", arguments)

    def _reusable_values(self, result: Result) -> list[Any]:
        """Return values of the answer, besides secrets, that can be looked up: ids, names, numbers."""
        document, secrets = result.get("structuredContent"), self._secrets(result)
        return [one for one in _leaves(document) if str(one) not in secrets][:_MOST_GIVEN]

    def _shown_once(self, first: Result, second: Result | None, arguments: Arguments) -> None:
        happened = json.dumps([(second or {}).get(part) for part in ("structuredContent", "content")])
        if any(_contains_secret(secret, happened) for secret in self._secrets(first)):
            self._report(_SHOWN_ONCE, "a second call returned the same secret", arguments)

    def _secrets(self, result: Result) -> list[str]:
        document = result.get("structuredContent")
        found = [str(holder[key]) for pointer in self._pointers for holder, key in places(document, pointer)]
        return [secret for secret in found if len(secret) >= _LEAST_SECRET]

    def _comparable_answer(self, result: Result) -> Any:
        """Return the answer without parts that a repetition may leave out."""
        document = copy.deepcopy(result.get("structuredContent", result.get("content")))
        for pointer in self._pointers:
            for holder, key in places(document, pointer):
                if isinstance(holder, dict):
                    del holder[key]
                else:
                    holder[key] = None
        return document

    def _unchanged(self, changed: list[str], promise: str, happened: str, arguments: Arguments) -> None:
        # A change seen after the server ended is caused by its end, not by the call.
        if changed and not (self.ended or self._state_snapshot.ended_by):
            self._report(promise, f"{happened} {', '.join(changed[:3])}", arguments)

    def _report(self, promise: str, happened: str, arguments: Arguments) -> None:
        if promise not in {one.promise for one in self.broken}:
            self.broken.append(Broken(self._promises.tool, promise, happened, arguments))


def new_key() -> str:
    """Return an unused key, because the server may remember earlier ones."""
    return str(uuid.uuid4())


def _misfit(result: Mapping[str, Any]) -> str:
    missing = "structuredContent" not in result
    return "the answer has no structured content" if missing else "the answer does not fit the output schema"


def _emptied_places(result: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the places of secrets that an answer no longer contains."""
    meta = result.get("_meta")
    told = meta.get(ALREADY_DELIVERED) if isinstance(meta, Mapping) else None
    return tuple(one for one in told if isinstance(one, str)) if isinstance(told, list) else ()


def _contains_secret(secret: str, text: str) -> bool:
    """Whether the text contains the secret, plain or as JSON or Python writes it, also nested."""
    once = _encodings(secret)
    return any(one in text for one in (secret, *once, *(twice for one in once for twice in _encodings(one))))


def _encodings(text: str) -> set[str]:
    return {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1]}


def _leaves(document: Any) -> list[str | int]:
    """Return the texts and whole numbers of a document, top level first."""
    found: list[str | int] = []
    here = [document]
    while here:
        found += [one for one in here if isinstance(one, str | int) and not isinstance(one, bool)]
        here = [
            inner
            for one in here
            if isinstance(one, Mapping | list)
            for inner in (one.values() if isinstance(one, Mapping) else one)
        ]
    return found


def _code(result: Mapping[str, Any]) -> Any:
    return problem_in(result).get("code")
