"""Does a call reach beyond the account, and what flows through it?"""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.inference import FlowLabels
from assent.infer.lexicon import NOUNS, READING

_OUTWARD: Final = frozenset({"send", "share", "drive"})
_LOOKING: Final = READING | {"make", "none", "noun"}
_OWN_BROWSER: Final = frozenset({"cookie", "cookies", "history", "session", "sessions", "storage", "tab", "tabs"})
# A browser may hold a page of one's own, and an address be one that is kept.
_ABROAD: Final = (NOUNS["web"] | NOUNS["public"] | {"gmail", "whatsapp"}) - {"browser", "stock", "url", "urls", "uri"}
# Whose letters lie with somebody else, even when they are thrown away.
_HELD_ELSEWHERE: Final = frozenset({"gmail"})
_POSTED: Final = NOUNS["posted"] | NOUNS["mail"]
_ONLINE: Final = frozenset({"internet", "web", "website", "websites", "webpage", "webpages", "online"})


def reaches_out(evidence: ToolFeatures, *, executes: bool) -> bool:
    """Whether the call touches systems or people outside the account it works for."""
    if evidence.kind == "drive" or ("browser" in evidence.words and not evidence.words & _OWN_BROWSER):
        return True
    if executes:
        return _runs_outside(evidence)
    if evidence.kind in _LOOKING:
        return _looks_outside(evidence)
    return _acts_outside(evidence)


def _runs_outside(evidence: ToolFeatures) -> bool:
    """A shell or a program on a host; not a statement in a store, nor what runs inside a product."""
    around = evidence.words | evidence.prose.opening
    return "sql" not in evidence.inputs.flags and not around & (NOUNS["inside"] | NOUNS["database"])


def _looks_outside(evidence: ToolFeatures) -> bool:
    """The web, an address, and what anybody can look up."""
    words, prose = evidence.words, evidence.prose
    address = "url" in evidence.inputs.flags and prose.opening & NOUNS["web"]
    return bool(address or words & _ABROAD or prose.opening & _ONLINE or prose.object & NOUNS["public"])


def _acts_outside(evidence: ToolFeatures) -> bool:
    """What is sent or shown to others, and what is fetched from elsewhere; not what is done to a letter one has."""
    words, prose = evidence.words, evidence.prose
    if evidence.kind in _OUTWARD or prose.kind == "send":
        return not (words | prose.object) & NOUNS["inward"]
    if evidence.kind == "destroy":
        return bool(words & _HELD_ELSEWHERE)
    posts = evidence.name.verb in {"post", "reply"} and words & NOUNS["said"]
    fetches = "url" in evidence.inputs.flags and words & {"from", "url", "urls"}
    hears = words & {"webhook", "webhooks"}
    return bool(posts or fetches or hears or words & _ABROAD or (words | prose.opening) & NOUNS["square"])


def label(evidence: ToolFeatures, *, read_only: bool, open_world: bool, executes: bool) -> FlowLabels:
    """The three labels of flow control, as far as names and words give them away."""
    words, around = evidence.words, evidence.words | evidence.prose.opening
    web = not around.isdisjoint(NOUNS["web"])
    returns = read_only or executes or evidence.kind in {"drive", "session"}
    private = not around.isdisjoint(NOUNS["private"]) and words.isdisjoint(NOUNS["guide"])
    posted = not words.isdisjoint(_POSTED) or (open_world and (web or not around.isdisjoint(NOUNS["public"])))
    return FlowLabels(
        reads_private=not web and (executes or (returns and private)),
        sees_untrusted=returns and posted,
        public_sink=_lets_out(evidence, read_only=read_only, open_world=open_world, executes=executes),
    )


def _lets_out(evidence: ToolFeatures, *, read_only: bool, open_world: bool, executes: bool) -> bool:
    """Whether what the caller knows can leave: sent, shared, or written into an address."""
    if open_world and (executes or "url" in evidence.inputs.flags):
        return True
    return not read_only and (evidence.kind in _OUTWARD or bool(evidence.words & NOUNS["outlet"]))
