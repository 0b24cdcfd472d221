"""Sentences of the activity feed: what happened, in words that the tool's name and its contract give."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any

from assent.core.action_template import ActionTemplate
from assent.core.approval import IN_BAND
from assent.core.question import visible

LineOutcome = str
OUTCOMES: tuple[LineOutcome, ...] = (
    "done", "asked", "waiting", "decided", "refused", "failed", "in_doubt", "replayed", "previewed", "settled",
)  # fmt: skip
"""How a line of the feed can end."""
OBSERVED = "observed"
"""The filter for calls that ran and would have been refused."""
LINE_KINDS = frozenset({"outcome", "read", "replay", "denial", "approval", "decision", "rehearsal", "failure"})
"""Entries that are a line of the feed; `operator` is one too where it settles a claim."""
_PENDING = frozenset({"confirm.approval_pending", "confirm.confirmation_required"})
_STATES = {
    "succeeded": "done",
    "failed": "failed",
    "failed_no_effect": "failed",
    "in_doubt": "in_doubt",
    "suspended": "waiting",
}
_OF_KIND = {
    "read": "done",
    "replay": "replayed",
    "approval": "asked",
    "decision": "decided",
    "rehearsal": "previewed",
    "failure": "failed",
    "intent": "begun",
    "pause": "asked",
    "settlement": "in_doubt",
}
_DATA = tomllib.loads(resources.files("assent.audit").joinpath("sentences.toml").read_text(encoding="utf-8"))
_EVENTS: dict[str, str] = _DATA["events"]
"""The sentences of entries about no call, by event or action."""
_AUTHENTICATION: dict[str, str] = _DATA["authentication"]
_IRREGULAR: dict[str, str] = _DATA["verbs"]["irregular"]
_REGULAR = frozenset(_DATA["verbs"]["regular"].split())
_DOUBLED = frozenset({"stop", "drop", "submit", "tag", "transfer"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def outcome_of(kind: str, facts: Mapping[str, Any]) -> LineOutcome:
    """What an entry says happened: one of OUTCOMES for a line of the feed, `begun` or the kind for other entries."""
    if kind == "outcome":
        return _STATES.get(str(facts.get("state")), "failed")
    if kind == "read" and facts.get("state") == "failed":
        return "failed"
    if kind == "denial":
        return "waiting" if facts.get("code") in _PENDING else "refused"
    if kind == "operator" and "claim" in facts:
        return "settled"
    return _OF_KIND.get(kind, kind)


def is_line(kind: str, facts: Mapping[str, Any]) -> bool:
    return kind in LINE_KINDS or (kind == "operator" and "claim" in facts)


def sentence(
    kind: str,
    facts: Mapping[str, Any],
    template: ActionTemplate | None,
    arguments: Mapping[str, object] | None,
    decider: str = "",
) -> str:
    """What happened. The contract's own sentence is used for what was done, and for nothing else.

    `decider` says which client answered a question, and after how long.
    """
    outcome, tool = outcome_of(kind, facts), _own_name(facts)
    if outcome == "decided":
        return f"{_decision_text(facts, decider)}: {phrases(tool)[0]}"
    if outcome == "done":
        return template.render(arguments) if template is not None else _capital(phrases(tool)[1])
    about = phrases(tool)[0] + (template.render_arguments(arguments) if template is not None else "")
    return _around(outcome, kind, facts, about)


def _decision_text(facts: Mapping[str, Any], decider: str) -> str:
    """What was decided, and for a client's answer that it is the client's."""
    said = str(facts.get("verdict"))
    verdict = {"approve": "Approved", "decline": "Declined", "reopen": "Took the decision back"}.get(said, "Decided")
    if facts.get("channel") != IN_BAND:
        return verdict
    who = decider or "the client"
    return f"Did not count the yes of {who}, too fast for a person" if said == "too_fast" else f"{verdict} by {who}"


def _own_name(facts: Mapping[str, Any]) -> str:
    """The tool's name at its server: the gateway puts the server's name before it where it has several."""
    tool = str(facts.get("tool", ""))
    return tool.removeprefix(f"{facts.get('upstream')}_") or tool


def _around(outcome: LineOutcome, kind: str, facts: Mapping[str, Any], about: str) -> str:
    code = visible(str(facts.get("code", "")))
    if outcome == "refused":
        return f"Refused to {about}: {code}" if facts.get("tool") else f"{_refused_thing(facts)}: {code}"
    if outcome == "failed":
        ending = "; nothing was done" if facts.get("state") == "failed_no_effect" else ""
        return f"Failed to {about}" + (f": {code}" if code else "") + ending
    said = {
        "begun": f"Began to {about}",
        "violation": f"Broke its contract: {about}",
        "asked": f"Asked to {about}" if kind == "approval" else f"Put the question to the client: {about}",
        "waiting": f"Waits for approval to {about}" if kind == "denial" else f"Waits for the tool's question: {about}",
        "in_doubt": f"May or may not have finished: {about}",
        "replayed": f"Answered again without a second run: {about}",
        "previewed": f"Previewed: {about}",
        "settled": f"Settled after a look: {about} ({visible(str(facts.get('state', '')))})",
    }
    return said[outcome] if outcome in said else _no_call(kind, facts)


def _authentication(facts: Mapping[str, Any]) -> str:
    event = str(facts.get("event"))
    if event == "authentication.failed":
        return f"Failed sign-ins: {facts.get('count', 1)}"
    return _AUTHENTICATION.get(event, f"Authentication: {visible(event)}")


def _no_call(kind: str, facts: Mapping[str, Any]) -> str:
    """What an entry says that is about no call."""
    words = {
        "key": "A signing key came into force",
        "event": f"Recorded by the tool: {visible(str(facts.get('event', '')))}",
        "redaction": f"Values of entry {facts.get('entry')} were erased",
        "authentication": _authentication(facts),
    }
    said = str(facts.get("event") or facts.get("action") or "")
    if said in _EVENTS and kind != "event":  # An event is named by its tool, in words of its own.
        named = {name: visible(str(facts[name])) for name in ("tool", "upstream", "key") if name in facts}
        return _EVENTS[said].format_map({"tool": "a tool", "upstream": "a server", "key": "of a caller", **named})
    if facts.get("action") == "verify":
        return f"Verified the log: {'intact' if facts.get('state') == 'succeeded' else 'not intact'}"
    if facts.get("action") == "look":
        return f"Looked at the values of entry {facts['entry']}" if "entry" in facts else "Took the values of the log"
    return words.get(kind) or (_capital(kind) + (f": {visible(said)}" if said else ""))


def _refused_thing(facts: Mapping[str, Any]) -> str:
    if facts.get("action") == "settle":
        return "Refused to settle a claim"
    if "verdict" in facts:
        return "Refused a person's decision"
    return "Refused a call"


@lru_cache(4096)
def phrases(tool: str) -> tuple[str, str]:
    """What a tool does and did, read off its name: `delete order`, `deleted order`; else `run NAME`, `ran NAME`."""
    words = [word.lower() for word in _WORD.findall(tool)]
    for place, word in enumerate(words):
        past = past_of(word)
        if past is not None:
            rest = [*words[place + 1 :], *words[:place]]
            return " ".join([word, *rest]), " ".join([past, *rest])
    shown = visible(tool) or "a tool"
    return f"run {shown}", f"ran {shown}"


def past_of(verb: str) -> str | None:
    """The past of a verb that tools are named with; None for other words."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb not in _REGULAR:
        return None
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2] not in "aeo":
        return f"{verb[:-1]}ied"
    return f"{verb}{verb[-1] if verb in _DOUBLED else ''}ed"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
