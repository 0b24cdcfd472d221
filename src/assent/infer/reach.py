"""Does a call reach beyond the account, and what flows through it?"""

from typing import Final

from assent.infer.evidence import Evidence
from assent.infer.inference import Labels
from assent.infer.lexicon import NOUNS, READING

_OUTWARD: Final = frozenset({"send", "share", "drive"})
_OUTSIDE: Final = NOUNS["web"] | NOUNS["mail"]
_POSTED: Final = NOUNS["posted"] | NOUNS["mail"]
_ONLINE: Final = frozenset({"internet", "web", "website", "websites", "webpage", "webpages", "online"})


def reaches_out(evidence: Evidence, *, executes: bool) -> bool:
    """Whether the call touches systems or people outside the account it works for."""
    words, prose = evidence.words, evidence.prose
    if evidence.kind in _OUTWARD or not words.isdisjoint(_OUTSIDE) or not prose.opening.isdisjoint(_ONLINE):
        return True
    if executes:
        return "sql" not in evidence.inputs.flags and not words & NOUNS["database"]
    if evidence.kind in READING:
        address = "url" in evidence.inputs.flags and prose.opening & NOUNS["web"]
        return bool(address or words & {"docs", "documentation"})
    return prose.kind == "send" or bool(words & {"webhook", "webhooks"})


def label(evidence: Evidence, *, read_only: bool, open_world: bool, executes: bool) -> Labels:
    """The three labels of flow control, as far as names and words give them away."""
    words, around = evidence.words, evidence.words | evidence.prose.opening
    web = not around.isdisjoint(NOUNS["web"])
    returns = read_only or executes or evidence.kind in {"drive", "session"}
    private = not around.isdisjoint(NOUNS["private"]) and words.isdisjoint(NOUNS["guide"])
    posted = not words.isdisjoint(_POSTED) or (open_world and web)
    return Labels(
        reads_private=not web and (executes or (returns and private)),
        sees_untrusted=returns and posted,
        public_sink=_lets_out(evidence, read_only=read_only, open_world=open_world, executes=executes),
    )


def _lets_out(evidence: Evidence, *, read_only: bool, open_world: bool, executes: bool) -> bool:
    """Whether what the caller knows can leave: sent, shared, or written into an address."""
    if open_world and (executes or "url" in evidence.inputs.flags):
        return True
    return not read_only and (evidence.kind in _OUTWARD or bool(evidence.words & NOUNS["outlet"]))
