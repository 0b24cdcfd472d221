"""Does the tool press, type or choose on a live screen, where any press may do anything?"""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DEEDS, NOUNS, OTHERWISE, VAGUE, VERBS

_PRESS: Final = "a press on a live screen may do anything"
_DIALOG: Final = frozenset({"dialog", "dialogs", "alert", "prompt", "popup"})
# What an alert is found by that waits for nobody.
_ALERT_INPUT: Final = frozenset({"alert_id", "alert_ids", "alert_number", "alert_uuid", "id", "ids", "uuid"})
_SHOWN_ON: Final = frozenset(
    {"box", "browser", "device", "dialog", "emulator", "page", "phone", "popup", "screen", "simulator", "tab"}
)
_KEYS: Final = frozenset({"keys", "keystrokes", "keyboard", "key"})
_CHORD: Final = frozenset({"combination", "combinations", "combo", "hotkey", "hotkeys", "shortcut", "shortcuts"})
_CHORD_INPUT: Final = frozenset({"combination", "combo", "hotkey", "key", "keys", "modifiers", "shortcut"})
_KEYING: Final = frozenset({"send", "add", "change", "none", "run", "noun"})


def judge_press(evidence: ToolFeatures) -> str | None:
    """The sentence that says why the screen may do anything, or nothing."""
    verb, words = evidence.name.verb, evidence.words
    if verb in DEEDS["answering"] and words & _DIALOG and not _waits_for_nobody(evidence):
        return "an answer to a dialog may do anything"
    if _pressed(evidence) or _keyed(evidence):
        return _PRESS
    return "what is entered on a live screen may do anything" if _entered(evidence) else None


def _waits_for_nobody(evidence: ToolFeatures) -> bool:
    """An alert of a monitor, which is dismissed by its number; one on a screen has a button."""
    said = evidence.words | evidence.prose.opening
    dismissed = evidence.name.verb == "dismiss" and not evidence.words.isdisjoint({"alert", "alerts"})
    return dismissed and said.isdisjoint(_SHOWN_ON) and not evidence.inputs.names.isdisjoint(_ALERT_INPUT)


def _pressed(evidence: ToolFeatures) -> bool:
    verb, words, prose = evidence.name.verb, evidence.words, evidence.prose
    otherwise = verb in OTHERWISE and OTHERWISE[verb][0] == "drive" and words & OTHERWISE[verb][1]
    beside = evidence.kind in VAGUE and any(VERBS[joined] == "drive" for joined in evidence.name.beside)
    tame = verb in OTHERWISE and OTHERWISE[verb][0] != "drive" and (words | prose.object) & OTHERWISE[verb][1]
    filled = prose.verbs[:1] == ("fill",) and not prose.opening & (NOUNS["field"] | {"form", "forms"})
    driven = prose.kind == "drive" and evidence.kind in VAGUE and not filled
    if otherwise or beside or driven or (evidence.kind == "drive" and not tame):
        return True
    steered = words & {"computer", "keyboard"} and verb in {"control", "operate", "use"}
    hidden = evidence.kind in VAGUE and "presses" in evidence.outset
    submitted = verb == "submit" and "form" in words and (words | prose.opening) & NOUNS["screen"]
    moved = prose.kind == "run" and (words | prose.object) & {"gesture", "gestures"}
    names = evidence.inputs.names
    acted = evidence.kind in VAGUE and "url" in evidence.inputs.flags and "actions" in names
    acted = acted and not evidence.inputs.only_reads and not evidence.is_view
    switched = "pressing" in evidence.inputs.flags and names & NOUNS["pointer_input"]
    return bool(acted or steered or hidden or submitted or moved or switched)


def _keyed(evidence: ToolFeatures) -> bool:
    """Keys that are sent to what has the focus, and shortcuts of the keyboard."""
    words, prose = evidence.words, evidence.prose
    if evidence.kind not in _KEYING:
        return False
    keys = words & _KEYS and not words & NOUNS["locked"]
    if keys and evidence.name.verb == "send" and "keys" in evidence.inputs.names:
        return True
    if evidence.kind in {"none", "send"} and prose.object & {"keypresses", "keystrokes"}:
        return True
    typed = keys and evidence.kind not in {"run", "noun"} and prose.opening & NOUNS["keyed"]
    if words & {"hotkey", "hotkeys"} and evidence.inputs.names & {"hotkey", "hotkey_id", "hotkey_name"}:
        return True
    chord = (words | prose.opening) & _CHORD and (words | prose.opening) & {"keyboard", "key", "keys"}
    return bool(typed or (chord and evidence.inputs.names & _CHORD_INPUT))


def _entered(evidence: ToolFeatures) -> bool:
    """A text, a tick or a choice put into a field that is pointed at on a screen."""
    prose, around = evidence.prose, evidence.words | evidence.prose.opening
    entering = evidence.name.verb in DEEDS["entering"] or (prose.verbs and prose.verbs[0] in {"enter", "select"})
    if not entering or evidence.words & {"camera", "view", "viewport", "zoom"}:
        return False
    if not around & (NOUNS["field"] | {"coordinates"}):
        return False
    return bool(evidence.inputs.names & NOUNS["pointer_input"] or around & NOUNS["glass"])
