"""Rules for spending and sharing, for what reaches others, and for the risk of a tool."""

from typing import Final

from assent.contract.infer.features.tool import ToolFeatures
from assent.contract.infer.lexicon import NOUNS, SPENDING
from assent.contract.infer.rules.tables import TableRule, Test, any_of, decide, mentions, no, rule, table, when

_OUTWARD: Final = "send share drive"
_MESSAGES: Final = "email emails fax mail mails message messages mms sms text texts whatsapp"
_COINS: Final = "bitcoin btc coins crypto eth ether lamports lightning sats satoshis sol usdc usdt wallet wei"
# Excluded: a browser can show a private page, and an address can be a stored record.
_OUTSIDE: Final = (NOUNS["web"] | NOUNS["public"] | {"gmail", "whatsapp"}) - {"browser", "stock", "url", "urls", "uri"}

SHARES: Final = table(
    rule("it hands data out", when(verb="share presign expose publish export download")),
    rule(
        "everyone can see what it shares",
        when(verb="broadcast tweet retweet repost reblog"),
        when(kind="send run", words="broadcast newsletter webhook"),
        when(kind="add change make share send", words="public", no_words="key keys ip"),
        when(kind="add make send", words="gist pastebin tweet"),
    ),
    rule(
        "it sends a message to others",
        when(kind="send", about=_MESSAGES, no_around="agent agents bus kafka queue topic"),
    ),
    rule(
        "others can see what it writes",
        when(kind="add make", words="post posts story thread tweet", around="@social_network"),
        when(kind="add change", all_words="status page", words="incident incidents post posts update updates"),
        when(mentions(r"\b(?:share|sharing) links?\b|\bsecurely shar(?:e|ing)\b", within=200), kind="add make"),
        when(kind="add change", words="collaborator collaborators sharing"),
    ),
    rule(
        "it creates a link or a key that grants access",
        when(
            when(words="@access_credential_kind"),
            kind="add make share change run send",
            words="@access_credential",
            no_verb="update edit set rename upload",
        ),
    ),
)

# The browser is the open web, except for its own data.
BROWSES: Final = any_of(
    when(kind="drive"), when(words="browser", no_words="cookie cookies history session sessions storage tab tabs")
)
# It runs a shell or a program on a host; a database statement does not count.
RUNS_OUTSIDE: Final = when(no_flags="sql", no_around="@contained @database")
# It reads the web, a URL or public data.
LOOKS_OUTSIDE: Final = any_of(
    when(flags="url", opening="@web"),
    when(words=_OUTSIDE),
    when(opening="internet web website websites webpage webpages online"),
    when(object="@public"),
)
_SENDS: Final = any_of(when(kind=_OUTWARD), when(said_kind="send"))
# It sends or shows something to others, or fetches from elsewhere. Sorting an existing message does not count.
ACTS_OUTSIDE: Final = any_of(
    when(_SENDS, no_about="@internal_target"),
    when(no(_SENDS), kind="destroy", words="gmail"),
    when(
        no(_SENDS),
        any_of(
            when(verb="post reply", words="@post"),
            when(words="webhook webhooks"),
            when(flags="url", words="from url urls"),
            when(words=_OUTSIDE),
            when(around="@social_network"),
        ),
        no_kind="destroy",
    ),
)

# Data-flow labels.
WEB: Final = when(around="@web")
PRIVATE: Final = when(around="@private", no_words="@guide")
POSTED: Final = when(words="@written_by_others @mail @open_to_others")
PUBLIC: Final = any_of(WEB, when(around="@public"))
OUTLET: Final = any_of(when(kind=_OUTWARD), when(words="@public_outlet @lets_others_in", no_kind="destroy"))


def _spends_by_words(tool: ToolFeatures) -> bool:
    """Two words of the name spend together: `book_flight`."""
    return any(tool.words & beside for spender, beside in SPENDING.items() if spender in tool.words)


SPENDS: Final = table(
    rule(
        "the name says that something is paid",
        when(kind="spend", no_verb="place"),
        when(verb="place", words="order orders bid bet trade"),
        _spends_by_words,
    ),
    rule(
        "it creates or sends a payment",
        when(kind="add make share change run send", words="@money", no_words="link method methods"),
    ),
    rule(
        "it orders, trades or moves money",
        when(kind="add change drive run", words="order orders position positions", params="leverage side symbol"),
        when(verb="open", words="position positions", params="leverage side symbol"),
        when(kind="add run", words="order orders", params="card_id payment payment_method payment_method_id"),
        when(kind="add", words="transfer transfers", params="amount"),
        when(kind="add change", words="funds", params="amount"),
        when(kind="add", words="subscription subscriptions", params="plan plan_id price price_id prices"),
        when(kind="send", around=_COINS),
        when(words="checkout", around="basket cart purchase", no_around="branch branches commit git"),
    ),
    # An advertisement with a budget spends it.
    rule(
        "it sets a budget that is spent", when(kind="add change run", words="ad ads adset campaign", params="*budget")
    ),
    rule("the description says that it spends", when(says="spends")),
)


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
    _risk("high", "write compute", "others rely on the decision", when(verb="approve unapprove")),
    _risk("high", "write compute", "it installs what others wrote", when(verb="install")),
    _risk("low", "write compute", "it adds a small personal item", when(kind="add", words="@small_item")),
    _risk("medium", "write compute", ""),
)
_BY_TIER: Final = {
    tier: table(*(rule for tiers, rule in RISKS if tier in tiers.split())) for tier in _EVERY_TIER.split()
}
