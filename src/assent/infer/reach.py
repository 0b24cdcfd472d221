"""Does a call reach beyond the account, and what flows through it?"""

from assent.infer.evidence import READING, Evidence
from assent.infer.inference import Labels
from assent.infer.lexicon import NOUNS

_OUTWARD = frozenset({"send", "share", "drive"})


def reaches_out(evidence: Evidence, executes: bool) -> bool:
    """Whether the call touches systems or people outside the account it works for."""
    if evidence.kind in _OUTWARD or (executes and not evidence.words & NOUNS["database"] and "sql" not in evidence.inputs.flags):
        return True
    if evidence.words & (NOUNS["web"] | NOUNS["mail"]):
        return True
    if evidence.kind in READING and evidence.inputs.flags & {"url"} and evidence.prose.opening & NOUNS["web"]:
        return True
    if evidence.prose.kind in {"send"} and evidence.kind not in READING:
        return True
    return bool(evidence.prose.opening & {"internet", "web", "website", "websites", "webpage", "webpages", "online"})


def label(evidence: Evidence, read_only: bool, open_world: bool, executes: bool) -> Labels:
    """The three labels of flow control, as far as names and words give them away."""
    words = evidence.words | evidence.prose.opening
    web = bool(words & NOUNS["web"])
    returns = read_only or executes or evidence.kind in {"drive", "session"}
    private = bool(words & NOUNS["private"]) and not evidence.words & NOUNS["guide"]
    posted = bool(evidence.words & NOUNS["posted"]) or (open_world and web) or bool(evidence.words & NOUNS["mail"])
    return Labels(
        reads_private=(returns and private and not web) or (executes and not web),
        sees_untrusted=returns and posted,
        public_sink=_lets_out(evidence, read_only, open_world, executes),
    )


def _lets_out(evidence: Evidence, read_only: bool, open_world: bool, executes: bool) -> bool:
    if executes and open_world:
        return True
    if evidence.inputs.flags & {"url"} and open_world:
        return True
    if read_only:
        return False
    return evidence.kind in {"send", "share", "drive"} or bool(evidence.words & NOUNS["outlet"])
