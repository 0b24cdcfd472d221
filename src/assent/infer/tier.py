"""Chooses the tier of a tool and its risk."""

import re
from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DEEDS, NOUNS, SPENDING

_CREATING: Final = frozenset({"add", "make", "share", "change", "run", "send"})
_SECRET_PARTS: Final = tuple(frozenset(parts.split("+")) for parts in sorted(NOUNS["secret_parts"]))
_SECRET_HEADS: Final = frozenset(parts.split("+")[1] for parts in NOUNS["secret_parts"])
_ANSWERING: Final = frozenset({"comment", "reply", "review"})
_SPEAKING: Final = frozenset({"add", "create", "leave", "post", "push", "submit", "write"})
_UNSAID: Final = frozenset({"draft", "drafts", "reaction", "reactions", "subscription", "template", "templates"})
_ENVIRONMENT: Final = frozenset({"env", "environ", "envs", "envvars", "getenv", "printenv"})
_VARIABLES = re.compile(r"\benvironment variables?\b|\bprocess(?:'s)? environment\b")
_WHOLE: Final = frozenset({"full", "entire", "whole", "complete"})


def choose_tier(evidence: ToolFeatures, *, read_only: bool, destructive: bool) -> str:
    """Destruction outranks reading, spending outranks sharing, sharing outranks the rest."""
    if destructive:
        return "destructive"
    if read_only:
        return "read"
    if _spends(evidence):
        return "external_spend"
    if _shares(evidence):
        return "share_export"
    works = evidence.kind in {"make", "run", "look"} and not evidence.prose.kinds & {"add", "change"}
    return "compute" if works else "write"


def choose_risk(evidence: ToolFeatures, tier: str) -> tuple[str, str | None]:
    """The level of the tier, moved by what the tool touches, and the reason where it was moved."""
    forbidden = _forbidden(evidence, tier)
    if forbidden:
        return "forbidden", forbidden
    if tier == "read":
        lists = _names_credential(evidence) or _dumps_environment(evidence)
        return ("high", "may list credentials") if lists else ("low", None)
    if tier in {"destructive", "external_spend"}:
        return "critical", None
    if evidence.words & NOUNS["access"] and evidence.kind not in {"look", "session"}:
        return "critical", "changes who may do what"
    if evidence.kind == "send" and evidence.name.verb not in DEEDS["inviting"]:
        return "critical", "communicates with others"
    if _speaks(evidence):
        return "high", "others read what it says"
    if tier == "share_export":
        return ("critical", "exports in bulk") if evidence.words & {"bulk", "all"} else ("high", None)
    return _risk_of_writing(evidence)


def _risk_of_writing(evidence: ToolFeatures) -> tuple[str, str | None]:
    if evidence.kind in {"send", "share"}:
        return "high", "affects other people"
    if evidence.kind == "change" and evidence.words & NOUNS["consequential"]:
        return "high", "changes records that others rely on"
    if evidence.kind == "add" and evidence.words & NOUNS["small"]:
        return "low", "adds something small of one's own"
    return "medium", None


def _speaks(evidence: ToolFeatures) -> bool:
    """`post_message`, `add_comment`, `create_review`: the words reach other people; those of a draft do not yet."""
    verb, words = evidence.name.verb, evidence.words
    if verb in _ANSWERING and evidence.kind != "read":
        return words.isdisjoint(_UNSAID)
    spoken = NOUNS["spoken"] if verb in _SPEAKING else NOUNS["remark"] if verb in {"edit", "update"} else frozenset()
    return not words.isdisjoint(spoken) and words.isdisjoint(_UNSAID)


def _forbidden(evidence: ToolFeatures, tier: str) -> str | None:
    words, verb = evidence.words, evidence.name.verb
    given = evidence.kind != "make" and verb not in DEEDS["surveying"]
    if tier == "read" and given and _names_credential(evidence):
        return "reads a credential"
    if tier in {"read", "compute"} and verb not in DEEDS["surveying"] and _dumps_environment(evidence):
        return "reads the environment, which holds credentials"
    if evidence.kind == "destroy" and "audit" in words and words & {"log", "logs", "logging", "trail"}:
        return "takes the audit log away"
    if verb in {"export", "download"} and words & _WHOLE and words & {"database", "db"}:
        return "exports a whole database"
    return None


def _names_credential(evidence: ToolFeatures) -> bool:
    words = evidence.words
    named = words & NOUNS["secret"] or (words & _SECRET_HEADS and any(parts <= words for parts in _SECRET_PARTS))
    if not named or words & NOUNS["about_secrets"]:
        return False
    return "hides_values" not in evidence.prose.statements


def _dumps_environment(evidence: ToolFeatures) -> bool:
    """`get-env`, `printEnv`, `dump_environment`: all variables of a process; not one of the places called so."""
    words, text = frozenset(evidence.name.words), evidence.text[:300].lower()
    if evidence.kind not in {"look", "make", "none", "noun", "read"} or "hides_values" in evidence.prose.statements:
        return False
    named = words & _ENVIRONMENT or (words & {"environment"} and words & {"variable", "variables", "vars"})
    told = "environment" in words and _VARIABLES.search(text) is not None
    return bool(named or told) and words.isdisjoint(NOUNS["about_secrets"])


def _spends(evidence: ToolFeatures) -> bool:
    words, verb, kind = evidence.words, evidence.name.verb, evidence.kind
    if kind == "spend":
        return verb != "place" or bool(words & {"order", "orders", "bid", "bet", "trade"})
    if any(words & beside for spender, beside in SPENDING.items() if spender in words):
        return True
    if kind in _CREATING and words & NOUNS["money"] and not words & {"link", "method", "methods"}:
        return True
    if {"top", "up"} <= words or (verb == "close" and words & {"position", "positions"}):
        return True
    if words & {"billing", "payroll"} and verb in {"run", "execute", "process"}:
        return True
    orders = verb in DEEDS["ordering"] and words & {"order", "orders", "transfer"}
    if orders and "amount" in evidence.inputs.flags:
        return True
    return "spends" in evidence.prose.statements


def _shares(evidence: ToolFeatures) -> bool:
    words, verb = evidence.words, evidence.name.verb
    if verb in {"share", "presign", "expose", "publish", "export", "download"}:
        return True
    lets_in = evidence.kind in _CREATING and words & NOUNS["pass"] and words & NOUNS["opening"]
    return bool(lets_in) and verb not in {"update", "edit", "set", "rename", "upload"}
