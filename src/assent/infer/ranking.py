"""Which tier does a tool belong to, and how risky is it?"""

from assent.infer.evidence import Evidence
from assent.infer.harm import Harm
from assent.infer.lexicon import NOUNS

_CREATING = frozenset({"add", "make", "share", "change", "run", "send"})
_PASSES = frozenset({"link", "url", "token", "tokens", "key", "keys", "credential", "credentials"})
_OPENING = frozenset(
    "share shared signed presigned upload download public embed invite invitation access temporary magic login api ssh"
    " personal deploy signing secret auth export".split()
)
_LOWER_SENDS = frozenset({"invite", "reinvite", "publish", "remind"})
_WHOLE = frozenset({"full", "entire", "whole", "complete"})
_ABOUT_SECRETS = frozenset(
    "policy policies requirements status metadata rotation usage expiry list strength settings scopes permissions history count"
    " locations detected scan scanner queries names schema provider providers manager".split()
)
_PARTS_OF_SECRETS = (("private", "key"), ("secret", "key"), ("access", "token"), ("auth", "token"), ("refresh", "token"),
                     ("bearer", "token"), ("api", "key"), ("api", "keys"), ("seed", "phrase"), ("session", "token"),
                     ("raw", "token"), ("connection", "string"), ("encryption", "key"), ("signing", "key"), ("ssh", "key"))


def choose_tier(evidence: Evidence, read_only: bool, harm: Harm) -> str:
    """Destruction outranks spending, spending outranks sharing, sharing outranks the rest."""
    if read_only:
        return "read"
    if harm.destructive:
        return "destructive"
    if _spends(evidence):
        return "external_spend"
    if _shares(evidence):
        return "share_export"
    if evidence.kind in {"make", "run", "look"} and not evidence.prose.kinds & {"add", "change"}:
        return "compute"
    return "write"


def choose_risk(evidence: Evidence, tier: str, read_only: bool) -> tuple[str, str | None]:
    """The level of the tier, raised or lowered by what the tool touches, and the reason when it differs."""
    forbidden = _forbidden(evidence, read_only)
    if forbidden:
        return "forbidden", forbidden
    if read_only:
        return ("high", "may list credentials") if _credential(evidence) else ("low", None)
    if tier in {"destructive", "external_spend"}:
        return "critical", None
    if evidence.words & NOUNS["access"] and evidence.kind not in {"look", "session"}:
        return "critical", "changes who may do what"
    if evidence.kind == "send" and evidence.name.verb not in _LOWER_SENDS:
        return "critical", "communicates with others"
    if tier == "share_export":
        return ("critical", "exports in bulk") if evidence.words & {"bulk", "all"} else ("high", None)
    if evidence.kind in {"send", "share"}:
        return "high", "affects other people"
    return _risk_of_writing(evidence)


def _risk_of_writing(evidence: Evidence) -> tuple[str, str | None]:
    if evidence.kind == "change" and evidence.words & NOUNS["consequential"]:
        return "high", "changes records that others rely on"
    if evidence.kind == "add" and evidence.words & NOUNS["small"]:
        return "low", "adds something small of one's own"
    return "medium", None


def _spends(evidence: Evidence) -> bool:
    words, verb = evidence.words, evidence.name.verb
    if evidence.kind == "spend":
        return verb != "place" or bool(words & {"order", "orders", "bid", "bet", "trade"})
    if "top" in words and "up" in words:
        return True
    if evidence.kind in _CREATING and words & NOUNS["money"] and not words & {"link", "method", "methods"}:
        return True
    ordering = bool(words & {"order", "orders", "transfer", "position", "positions"})
    if verb in {"close"} and words & {"position", "positions"}:
        return True
    return ordering and evidence.kind in {"add", "run", "change"} and verb in _ORDERING and "amount" in evidence.inputs.flags


_ORDERING = frozenset({"create", "submit", "execute", "transfer", "make", "book", "new", "add"})


def _shares(evidence: Evidence) -> bool:
    words, verb = evidence.words, evidence.name.verb
    if verb in {"share", "presign", "expose", "publish"} or (verb in {"export", "download"} and evidence.kind == "make"):
        return True
    if evidence.kind in _CREATING and words & _PASSES and words & _OPENING:
        return verb not in {"update", "edit", "set", "rename", "download", "upload"}
    return False


def _credential(evidence: Evidence) -> bool:
    words = evidence.words
    if words & _ABOUT_SECRETS - {"list"} or "hides_values" in evidence.prose.statements:
        return False
    return bool(words & NOUNS["secret"]) or any(a in words and b in words for a, b in _PARTS_OF_SECRETS)


def _forbidden(evidence: Evidence, read_only: bool) -> str | None:
    words, verb = evidence.words, evidence.name.verb
    if read_only and _credential(evidence) and verb not in {"list", "search", "find", "count", "check", "validate", "verify", "test"}:
        return "reads a credential"
    if evidence.kind == "destroy" and "audit" in words and words & {"log", "logs", "logging", "trail"}:
        return "takes the audit log away"
    if verb in {"export", "download"} and words & _WHOLE and words & {"database", "db"}:
        return "exports a whole database"
    return None
