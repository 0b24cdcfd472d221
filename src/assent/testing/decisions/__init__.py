"""Do the contracts decide as written down? Decisions as data: who calls what after what, and how it must end."""

from assent.decisions.cases import Case, load_cases, parse_cases
from assent.decisions.forms import Act, Expect, Scene
from assent.decisions.playing import Played, play, run_cases
from assent.decisions.scripts import Scripted
from assent.decisions.table import Seen, Table, WorldTable, seen

__all__ = [
    "Act",
    "Case",
    "Expect",
    "Played",
    "Scene",
    "Scripted",
    "Seen",
    "Table",
    "WorldTable",
    "load_cases",
    "parse_cases",
    "play",
    "run_cases",
    "seen",
]
