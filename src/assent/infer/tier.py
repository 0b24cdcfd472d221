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


def choose_tier(tool: ToolFeatures, *, read_only: bool, destructive: bool) -> str:
    """Return the tier: destructive first, then read, spend, share, and the rest."""
    if destructive:
        return "destructive"
    if read_only:
        return "read"
    if _spends(tool):
        return "external_spend"
    if _shares(tool):
        return "share_export"
    works = tool.kind in {"make", "run", "look"} and not tool.prose.kinds & {"add", "change"}
    return "compute" if works else "write"


def choose_risk(tool: ToolFeatures, tier: str) -> tuple[str, str | None]:
    """Return the tier's risk, adjusted by what the tool touches, and the reason for an adjustment."""
    forbidden = _forbidden(tool, tier)
    if forbidden:
        return "forbidden", forbidden
    if tier == "read":
        lists = _names_credential(tool) or _dumps_environment(tool)
        return ("high", "may list credentials") if lists else ("low", None)
    if tier in {"destructive", "external_spend"}:
        return "critical", None
    if tool.words & NOUNS["access"] and tool.kind not in {"look", "session"}:
        return "critical", "changes who may do what"
    if tool.kind == "send" and tool.name.verb not in DEEDS["inviting"]:
        return "critical", "communicates with others"
    if _reaches_readers(tool):
        return "high", "others read what it says"
    if tier == "share_export":
        return ("critical", "exports in bulk") if tool.words & {"bulk", "all"} else ("high", None)
    return _risk_of_writing(tool)


def _risk_of_writing(tool: ToolFeatures) -> tuple[str, str | None]:
    if tool.kind in {"send", "share"}:
        return "high", "affects other people"
    if tool.kind == "change" and tool.words & NOUNS["consequential"]:
        return "high", "changes records that others rely on"
    if tool.kind == "add" and tool.words & NOUNS["small"]:
        return "low", "adds something small of one's own"
    return "medium", None


def _reaches_readers(tool: ToolFeatures) -> bool:
    """Whether other people read the text, as in `post_message`, `add_comment`, `create_review`; drafts do not count."""
    verb, words = tool.name.verb, tool.words
    if verb in _ANSWERING and tool.kind != "read":
        return words.isdisjoint(_UNSAID)
    spoken = NOUNS["spoken"] if verb in _SPEAKING else NOUNS["remark"] if verb in {"edit", "update"} else frozenset()
    return not words.isdisjoint(spoken) and words.isdisjoint(_UNSAID)


def _forbidden(tool: ToolFeatures, tier: str) -> str | None:
    words, verb = tool.words, tool.name.verb
    given = tool.kind != "make" and verb not in DEEDS["surveying"]
    if tier == "read" and given and _names_credential(tool):
        return "reads a credential"
    if tier in {"read", "compute"} and verb not in DEEDS["surveying"] and _dumps_environment(tool):
        return "reads the environment, which holds credentials"
    if tool.kind == "destroy" and "audit" in words and words & {"log", "logs", "logging", "trail"}:
        return "takes the audit log away"
    if verb in {"export", "download"} and words & _WHOLE and words & {"database", "db"}:
        return "exports a whole database"
    return None


def _names_credential(tool: ToolFeatures) -> bool:
    words = tool.words
    named = words & NOUNS["secret"] or (words & _SECRET_HEADS and any(parts <= words for parts in _SECRET_PARTS))
    if not named or words & NOUNS["about_secrets"]:
        return False
    return "hides_values" not in tool.prose.statements


def _dumps_environment(tool: ToolFeatures) -> bool:
    """Whether it returns all variables of a process, as in `get-env`, `printEnv`, `dump_environment`."""
    words, text = frozenset(tool.name.words), tool.text[:300].lower()
    if tool.kind not in {"look", "make", "none", "noun", "read"} or "hides_values" in tool.prose.statements:
        return False
    named = words & _ENVIRONMENT or (words & {"environment"} and words & {"variable", "variables", "vars"})
    told = "environment" in words and _VARIABLES.search(text) is not None
    return bool(named or told) and words.isdisjoint(NOUNS["about_secrets"])


def _spends(tool: ToolFeatures) -> bool:
    words, verb, kind = tool.words, tool.name.verb, tool.kind
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
    if orders and "amount" in tool.inputs.flags:
        return True
    return "spends" in tool.prose.statements


def _shares(tool: ToolFeatures) -> bool:
    words, verb = tool.words, tool.name.verb
    if verb in {"share", "presign", "expose", "publish", "export", "download"}:
        return True
    lets_in = tool.kind in _CREATING and words & NOUNS["pass"] and words & NOUNS["opening"]
    return bool(lets_in) and verb not in {"update", "edit", "set", "rename", "upload"}
