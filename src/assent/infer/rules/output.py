"""Rules for tools that make something: stored output is an act, returned output is a read."""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.rules.condition import Test, any_of, no, starts, when
from assent.infer.rules.programs import PROGRAM, claims_reading
from assent.infer.rules.side_effects import CAN_KEEP, SAVES_RESULT
from assent.infer.rules.table import TableRule, decide, some, table
from assent.infer.rules.verdict import ACTS, FINAL, LOOKS, SURE, UNCLEAR, WEAK

_RETURNED: Final = "it says '{maker}', and the result is returned"
_HANDING_OUT: Final = frozenset({"export", "download", "dump"})
_PLACES: Final = "*dir *directory *file *filename *folder *path"
_DATES: Final = "*date *end *from *since *start"
_IDS: Final = "*id *ids *key *uid *uuid"
_FOLDERS: Final = "directory file files folder project"
# Media is usually stored, whatever the text says.
_MEDIA: Final = """
    audio image images music photo photos picture pictures song songs speech video videos voice
"""
# Downloads that are used on the machine of the tool.
_INSTALLED: Final = """
    dataset model models package packages phone release remote subtitle subtitles torrent update updates weights
"""


def _names_output(tool: ToolFeatures) -> bool:
    """A parameter names the stored output."""
    made = {f"{tool.maker}_title", f"{tool.maker}_name", f"{tool.maker}_id"}
    return not tool.params.isdisjoint({"output_name", "output_file_name", "report_name", "save_name", *made})


def _starts_with_maker(tool: ToolFeatures) -> bool:
    return tool.said == tool.maker


def _returned(reason: str, *cases: Test) -> TableRule:
    """A rule that finds output which is returned and not stored."""
    return decide(LOOKS, reason, *cases, overrule=_overrule_returned)


def _overrule_returned(tool: ToolFeatures) -> float:
    return WEAK if tool.maker in _HANDING_OUT else FINAL


_IS_REPORT: Final = any_of(
    when(kind="noun", words="@information", maker="produce build generate"),
    when(
        starts(
            r"reports? (?:expected \w+,|how|progress|this (?:mcp )?server|what|whether|which|why)\b(?![^.]* (?:as|to) )"
        ),
        maker="report",
        last="check report status summary",
    ),
    when(maker="print", object="info information status version"),
)
_IS_CONVERSION: Final = when(
    any_of(
        when(words="@value"),
        when(object="coordinates currencies currency temperature timezone units"),
        when(_starts_with_maker, object="@convertible", no_object="file files"),
    ),
    maker="convert transform",
    no_object="document funds wallet wallets",
    no_params=_IDS,
    no_says="makes_another",
)
# A download that takes only an id, so that no target path exists, unless the text names one.
_IS_RETURNED_DOWNLOAD: Final = when(
    when(no_params="link magnet source torrent"),
    maker="download",
    params=_IDS,
    no_params=_PLACES,
    no_flags="url address",
    no_around=f"directory folder project disk local locally {_INSTALLED}",
)
# A picture of the data that is given. One with an own name, or on a canvas, may be stored.
_IS_PICTURE: Final = when(
    any_of(
        when(about="@chart"),
        when(maker="render plot", about="graph graphs image preview"),
        when(when(about="map maps"), any_of(when(about="@mapped"), when(opening="@mapped"))),
        when(all_about="qr code"),
    ),
    when(no_params="save*"),
    no_about="@canvas",
    no_params="@canvas_id",
)

OUTPUT: Final = table(
    decide(
        LOOKS, "it reports a state", when(no(some(SAVES_RESULT)), maker="report", kind="noun", traits="no_parameters")
    ),
    decide(ACTS, "it makes something by running a program", when(no(claims_reading), said_kind="run", flags=PROGRAM)),
    decide(ACTS, "it says '{maker}', and the result is saved", some(SAVES_RESULT)),
    decide(ACTS, "it says '{maker}', and a switch keeps the result", CAN_KEEP),
    decide(ACTS, "it says '{maker}', and others can see the result", when(opens="shares_result")),
    decide(ACTS, "it says '{maker}', and the result gets an id, so it is kept", when(says="gives_id")),
    decide(
        ACTS,
        "it reports something that the caller gives",
        when(maker="report", params="feedback outcome severity status success"),
    ),
    decide(ACTS, "it says '{maker}', and the result gets a name, so it is kept", _names_output),
    decide(ACTS, "the description says '{said}'", when(said_kinds="@acting")),
    _returned("the name says '{maker}', but the description says '{said}'", when(said_kind="@reading")),
    _returned(
        "it says '{maker}', and the description says that it only reads",
        when(no_maker="download", no_flags="file", says="claims_read_only"),
        when(claims_reading, said_kind="run"),
    ),
    _returned(
        _RETURNED,
        when(no(when(maker="export", object="file files")), maker=_HANDING_OUT, says="returns"),
        _IS_RETURNED_DOWNLOAD,
        when(
            maker="export",
            no_params=_PLACES,
            opening="csv json jsonl markdown xml yaml",
            no_around=f"{_FOLDERS} disk local locally",
        ),
    ),
    _returned("it converts a value and returns it", _IS_CONVERSION),
    _returned("it reports a state", _IS_REPORT),
    _returned(
        "it says '{maker}', and the result is a text",
        when(maker="build compose generate", object="queries query"),
        when(maker="generate", words="@text_result"),
        when(maker="generate", opening="command commands locator selector regex"),
    ),
    _returned("it returns the answer of a model", when(maker="generate", about="@model_answer")),
    _returned("it says '{maker}', and the result is advice", when(maker="generate", object="@advice_result")),
    _returned(
        "it reports about a period", when(maker="generate", params=_DATES, about="report summary", no_flags="file")
    ),
    _returned(_RETURNED, when(maker="generate", no_around="@kept_result", says="returns")),
    _returned(
        "it says '{maker}', and the description says that nothing else happens",
        when(no_maker="export download", no_opening=_FOLDERS, says="only_makes"),
    ),
    _returned("it returns a picture of the data that the caller gives", _IS_PICTURE),
    decide(
        UNCLEAR, "it says '{maker}', and the definition does not say whether the result is kept", when(about=_MEDIA)
    ),
    decide(UNCLEAR, "it says '{maker}', and the definition does not say whether the result is kept", overrule=SURE),
)
