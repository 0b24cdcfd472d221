"""Checks before a call is sent: is it allowed, what does it do and cost, does a person agree."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
import orjson

from assent.client.catalogue import Intent, ServerCatalogue, dry_run_of, is_rehearsal, make_intent
from assent.client.options import ClientOptions, Journal
from assent.client.question import Answer, Asker, PriceAndPreview, Question, RememberedApprovals, as_answer
from assent.client.terminal import refuse
from assent.client.tool_policy import Budget, estimate_of
from assent.contract.tiers import Tier
from assent.core.estimates import fitting, price_in
from assent.core.outcome import Refusal

Try = Callable[[Intent], Awaitable[types.CallToolResult | None]]
_WHY = {
    Tier.EXTERNAL_SPEND: "it spends money or credits",
    Tier.DESTRUCTIVE: "it changes or deletes something for good",
    Tier.SHARE_EXPORT: "it lets something out",
}

_NOBODY_ASKED = "This call needs a person's agreement, and this client has no person to ask. Nothing was started."
_GIVE_AN_ASKER = (
    "Tell the user: the program must be given an `asker`, for example `GovernedClient(..., asker=Terminal())`."
)


class PreCallChecks:
    """Estimates, previews and asks. An intent that passes may be sent."""

    def __init__(
        self,
        client_options: ClientOptions,
        journal: Journal,
        catalogue: ServerCatalogue,
        asker: Asker,
        compute: Budget,
        attempt: Try,
    ) -> None:
        self._client_options = client_options
        self._journal = journal
        self._catalogue = catalogue
        self._asker = asker
        self._compute = compute
        self._attempt = attempt
        self.allowances = RememberedApprovals(client_options.declined_for)
        self.doubts: Counter[str] = Counter()
        self.server = ""

    async def prepare(self, intent: Intent) -> None:
        """Run all checks; raise Refusal if the call must not be made."""
        if intent.listed.standing.forbidden:
            raise Refusal("guard.denied", "This tool is forbidden for agents.", remedy="Do not call it.")
        if is_rehearsal(intent):
            return
        if self.allowances.any_declined and self.allowances.declined(intent.digest, self._client_options.now()):
            raise Refusal("confirm.declined")
        why = self._reason_to_ask(intent)
        # Only a trusted contract counts, because an untrusted server's preview may be the real action.
        if dry_run_of(intent.listed)[0] == "required":
            await self._rehearse(intent)
        if why is not None:
            await self._require_approval(intent, why)

    def _reason_to_ask(self, intent: Intent) -> str | None:
        standing, listed = intent.listed.standing, intent.listed
        if self._doubted(intent):
            return "the same call was made before and its end is unknown"
        if listed.changed:
            return "the tool is not what it was: " + "; ".join(listed.changed[:3])
        if standing.asks:
            return _WHY.get(standing.tier, f"its risk is {standing.risk.value}")
        if standing.tier is Tier.COMPUTE and not self._compute.take(self._client_options.now()):
            return "the budget for work that runs unasked is used up"
        return None

    def _doubted(self, intent: Intent) -> bool:
        return bool(self.doubts) and self.doubts[intent.digest] > 0

    async def _require_approval(self, intent: Intent, why: str) -> None:
        """Require a yes, remembered or new. The price is known before either."""
        estimate: Any = None
        warnings: tuple[str, ...] = ()
        if intent.listed.standing.tier is Tier.EXTERNAL_SPEND:
            estimate, warnings = await self._estimate(intent)
        if not self._remembered(intent):
            await self._confirm(intent, why, estimate, warnings)

    def _remembered(self, intent: Intent) -> bool:
        """Whether an earlier decision covers this call; changed or doubtful calls are asked about again."""
        if intent.listed.changed or self._doubted(intent):
            return False
        listed, now = intent.listed, self._client_options.now()
        shown = PriceAndPreview(intent.price, intent.preview)
        agreed = self.allowances.find(intent.name, listed.digest, intent.arguments, shown, now)
        if agreed is None:
            return False
        intent.agreed, intent.question_open = True, agreed.question_open
        self._journal.note("decided", intent.name, action="accept", by="a remembered decision")
        return True

    async def _rehearse(self, intent: Intent) -> None:
        _, argument = dry_run_of(intent.listed)
        result = await self._attempt(make_intent(intent.listed, {**intent.arguments, argument: True}))
        failed = result is None or bool(result.is_error)
        self._journal.note("rehearsed", intent.name, failed=failed)
        if result is None or failed:
            raise Refusal("rehearse.failed", "The dry run that must come first failed; nothing was done.")
        intent.preview = result.structured_content or _texts(result)

    async def _confirm(self, intent: Intent, why: str, estimate: Any, warnings: tuple[str, ...]) -> None:
        listed = intent.listed
        question = Question(
            self.server,
            intent.name,
            listed.title,
            listed.standing,
            orjson.loads(intent.form),  # a copy, so that the asker cannot change what is sent
            why,
            intent.price,
            estimate,
            intent.preview,
            warnings,
        )
        begun = self._client_options.now()
        answer = await self.ask(question, intent)
        if answer.action == "decline":
            self.allowances.decline(intent.digest, self._client_options.now())
            raise Refusal("confirm.declined")
        if answer.action != "accept":
            raise (
                Refusal("confirm.cancelled")
                if self._asker is not refuse
                else Refusal("confirm.cancelled", _NOBODY_ASKED, remedy=_GIVE_AN_ASKER)
            )
        intent.agreed, intent.question_open = True, max(0.0, self._client_options.now() - begun)
        self._catalogue.accept(listed)
        if answer.remember is not None:
            shown = PriceAndPreview(intent.price, intent.preview, intent.question_open)
            self.allowances.allow(intent.name, listed.digest, answer.remember, shown, self._client_options.now())

    async def _estimate(self, intent: Intent) -> tuple[Any, tuple[str, ...]]:
        """Return the estimate. Only a read tool is asked for one."""
        name = estimate_of(intent.name, intent.listed.standing, self._catalogue)
        listed = self._catalogue.get(name) if name else None
        if listed is None or listed.changed or listed.standing.asks or listed.standing.tier is not Tier.READ:
            return None, ("The cost of this call is unknown.",)
        arguments = fitting(listed.tool.input_schema, intent.arguments)
        result = await self._attempt(make_intent(listed, arguments)) if arguments is not None else None
        if result is None or result.is_error:
            self._journal.note("estimated", intent.name, by=listed.tool.name, price=None)
            return None, ("The estimate failed: the cost of this call is unknown.",)
        estimate: Any = result.structured_content or _texts(result)
        intent.price = price_in(estimate)
        self._journal.note("estimated", intent.name, by=listed.tool.name, price=intent.price)
        left_out = sorted(set(intent.arguments) - set(arguments or ()))
        return estimate, (f"The estimate was made without: {', '.join(left_out)}.",) if left_out else ()

    async def ask(self, question: Question, intent: Intent | None) -> Answer:
        """Ask the person, with a timeout. Their time does not count against the server."""
        self._journal.note("asked", question.tool, why=question.why, price=question.price, text=question.text)
        timer = intent.timer if intent else None
        if timer is not None:
            timer.reschedule(None)
        answer, by = await self._call_asker(question)
        if timer is not None:
            timer.reschedule(asyncio.get_running_loop().time() + self._client_options.timeout)
        self._journal.note("decided", question.tool, action=answer.action, by=by)
        return answer

    async def _call_asker(self, question: Question) -> tuple[Answer, str]:
        try:
            async with asyncio.timeout(self._client_options.question_patience):
                said = self._asker(question)
                return as_answer(await said if inspect.isawaitable(said) else said), "the asker"
        except TimeoutError:
            return Answer("cancel"), "no answer: the question timed out"
        except Exception as error:
            return Answer("cancel"), f"no answer: the asker failed with {type(error).__name__}"


def _texts(result: types.CallToolResult) -> Any:
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    return texts[0] if len(texts) == 1 else texts
