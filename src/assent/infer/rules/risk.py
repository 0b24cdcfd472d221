"""Rules for the risk of a tool: the default of its tier, adjusted by what the tool touches."""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import NOUNS
from assent.infer.rules.condition import Test, any_of, mentions, when
from assent.infer.rules.table import TableRule, decide, table

_SECRET_PARTS: Final = tuple(frozenset(parts.split("+")) for parts in NOUNS["secret_parts"])
_SECRET_ENDS: Final = frozenset(parts.split("+")[1] for parts in NOUNS["secret_parts"])
_UNPUBLISHED: Final = "draft drafts reaction reactions subscription template templates"
_EVERY_TIER: Final = "read compute write share_export external_spend destructive"


def choose_risk(tool: ToolFeatures, tier: str) -> tuple[str, str | None]:
    """Return the risk of the first rule that applies, and its reason; a default has no reason."""
    match = _BY_TIER[tier].first(tool)
    return (match[0].verdict, match[0].reason or None) if match else ("medium", None)


def _risk(risk: str, tiers: str, reason: str, *cases: Test) -> tuple[str, TableRule]:
    return tiers, decide(risk, reason, *cases)


def _names_secret_by_parts(tool: ToolFeatures) -> bool:
    return not tool.words.isdisjoint(_SECRET_ENDS) and any(parts <= tool.words for parts in _SECRET_PARTS)


_NAMES_CREDENTIAL: Final = when(
    any_of(when(words="@secret"), _names_secret_by_parts), no_words="@about_secrets", no_says="hides_values"
)
# It returns all variables of a process: `get-env`, `printEnv`, `dump_environment`.
_DUMPS_ENVIRONMENT: Final = when(
    any_of(
        when(words="env environ envs envvars getenv printenv"),
        when(all_words="environment", words="variable variables vars"),
        when(mentions(r"\benvironment variables?\b|\bprocess(?:'s)? environment\b", within=300), words="environment"),
    ),
    kind="look make none noun read",
    no_words="@about_secrets",
    no_says="hides_values",
)

RISKS: Final = (
    _risk("forbidden", "read", "it reads a credential", when(_NAMES_CREDENTIAL, no_kind="make", no_verb="@listing")),
    _risk(
        "forbidden",
        "read compute",
        "it reads environment variables, which contain credentials",
        when(_DUMPS_ENVIRONMENT, no_verb="@listing"),
    ),
    _risk(
        "forbidden",
        _EVERY_TIER,
        "it removes the audit log",
        when(kind="destroy", all_words="audit", words="log logs logging trail"),
    ),
    _risk(
        "forbidden",
        _EVERY_TIER,
        "it exports a whole database",
        when(when(words="database db"), verb="export download", words="full entire whole complete"),
    ),
    _risk("high", "read", "it may list credentials", any_of(_NAMES_CREDENTIAL, _DUMPS_ENVIRONMENT)),
    _risk("low", "read", ""),
    _risk("critical", "destructive external_spend", ""),
    _risk("critical", _EVERY_TIER, "it changes who may do what", when(no_kind="look session", words="@access")),
    _risk("critical", _EVERY_TIER, "it communicates with others", when(kind="send", no_verb="@inviting")),
    _risk(
        "high",
        _EVERY_TIER,
        "others read what it writes",
        any_of(
            when(no_kind="read", verb="comment reply review", no_words=_UNPUBLISHED),
            when(verb="add create leave post push submit write", words="@message_for_others", no_words=_UNPUBLISHED),
            when(verb="edit update", words="@comment", no_words=_UNPUBLISHED),
        ),
    ),
    _risk("critical", "share_export", "it exports in bulk", when(words="bulk all")),
    _risk("high", "share_export", ""),
    _risk("high", "write compute", "it affects other people", when(kind="send share")),
    _risk(
        "high", "write compute", "it changes records that others rely on", when(kind="change", words="@consequential")
    ),
    _risk("low", "write compute", "it adds a small personal item", when(kind="add", words="@small_item")),
    _risk("medium", "write compute", ""),
)
_BY_TIER: Final = {
    tier: table(*(rule for tiers, rule in RISKS if tier in tiers.split())) for tier in _EVERY_TIER.split()
}
