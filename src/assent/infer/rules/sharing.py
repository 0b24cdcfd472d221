"""Rules for tools that share data, or that reach systems and people outside the account."""

from typing import Final

from assent.infer.lexicon import NOUNS
from assent.infer.rules.condition import any_of, no, when
from assent.infer.rules.table import rule, table

_OUTWARD: Final = "send share drive"
# Excluded: a browser can show a private page, and an address can be a stored record.
_OUTSIDE: Final = (NOUNS["web"] | NOUNS["public"] | {"gmail", "whatsapp"}) - {"browser", "stock", "url", "urls", "uri"}

SHARES: Final = table(
    rule("it hands data out", when(verb="share presign expose publish export download")),
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
            when(flags="url", words="from url urls"),
            when(words="webhook webhooks"),
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
