"""Rules for presses, keys and input on a live screen, where any press may do anything."""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import DEEDS, NOUNS, OTHERWISE, VAGUE, VERBS

_PRESS: Final = "a press on a live screen may do anything"
_DIALOG: Final = frozenset({"dialog", "dialogs", "alert", "prompt", "popup"})
# Parameters that identify an alert of a monitor, which is not a dialog on a screen.
_ALERT_INPUT: Final = frozenset({"alert_id", "alert_ids", "alert_number", "alert_uuid", "id", "ids", "uuid"})
_SHOWN_ON: Final = frozenset(
    {"box", "browser", "device", "dialog", "emulator", "page", "phone", "popup", "screen", "simulator", "tab"}
)
_KEYS: Final = frozenset({"keys", "keystrokes", "keyboard", "key"})
_CHORD: Final = frozenset({"combination", "combinations", "combo", "hotkey", "hotkeys", "shortcut", "shortcuts"})
_CHORD_INPUT: Final = frozenset({"combination", "combo", "hotkey", "key", "keys", "modifiers", "shortcut"})
_KEYING: Final = frozenset({"send", "add", "change", "none", "run", "noun"})


def find_screen_input(tool: ToolFeatures) -> str | None:
    """Return the reason why the screen may do anything, or None."""
    verb, words = tool.name.verb, tool.words
    if verb in DEEDS["answering"] and words & _DIALOG and not _is_monitor_alert(tool):
        return "an answer to a dialog may do anything"
    if _presses(tool) or _sends_keys(tool):
        return _PRESS
    return "what is entered on a live screen may do anything" if _fills_field(tool) else None


def _is_monitor_alert(tool: ToolFeatures) -> bool:
    """Whether an alert of a monitor is dismissed by its number; an alert on a screen has a button."""
    said = tool.words | tool.prose.opening
    dismissed = tool.name.verb == "dismiss" and not tool.words.isdisjoint({"alert", "alerts"})
    return dismissed and said.isdisjoint(_SHOWN_ON) and not tool.inputs.names.isdisjoint(_ALERT_INPUT)


def _presses(tool: ToolFeatures) -> bool:
    verb, words, prose = tool.name.verb, tool.words, tool.prose
    otherwise = verb in OTHERWISE and OTHERWISE[verb][0] == "drive" and words & OTHERWISE[verb][1]
    beside = tool.kind in VAGUE and any(VERBS[joined] == "drive" for joined in tool.name.beside)
    tame = verb in OTHERWISE and OTHERWISE[verb][0] != "drive" and (words | prose.object) & OTHERWISE[verb][1]
    filled = prose.verbs[:1] == ("fill",) and not prose.opening & (NOUNS["field"] | {"form", "forms"})
    driven = prose.kind == "drive" and tool.kind in VAGUE and not filled
    if otherwise or beside or driven or (tool.kind == "drive" and not tame):
        return True
    steered = words & {"computer", "keyboard"} and verb in {"control", "operate", "use"}
    hidden = tool.kind in VAGUE and "presses" in tool.outset
    submitted = verb == "submit" and "form" in words and (words | prose.opening) & NOUNS["screen"]
    moved = prose.kind == "run" and (words | prose.object) & {"gesture", "gestures"}
    names = tool.inputs.names
    acted = tool.kind in VAGUE and "url" in tool.inputs.flags and "actions" in names
    acted = acted and not tool.inputs.only_reads and not tool.is_view
    switched = "pressing" in tool.inputs.flags and names & NOUNS["pointer_input"]
    return bool(acted or steered or hidden or submitted or moved or switched)


def _sends_keys(tool: ToolFeatures) -> bool:
    """It sends keys or keyboard shortcuts to whatever has the focus."""
    words, prose = tool.words, tool.prose
    if tool.kind not in _KEYING:
        return False
    keys = words & _KEYS and not words & NOUNS["locked"]
    if keys and tool.name.verb == "send" and "keys" in tool.inputs.names:
        return True
    if tool.kind in {"none", "send"} and prose.object & {"keypresses", "keystrokes"}:
        return True
    typed = keys and tool.kind not in {"run", "noun"} and prose.opening & NOUNS["keyed"]
    if words & {"hotkey", "hotkeys"} and tool.inputs.names & {"hotkey", "hotkey_id", "hotkey_name"}:
        return True
    chord = (words | prose.opening) & _CHORD and (words | prose.opening) & {"keyboard", "key", "keys"}
    return bool(typed or (chord and tool.inputs.names & _CHORD_INPUT))


def _fills_field(tool: ToolFeatures) -> bool:
    """It puts a text, a tick or a choice into a field on a screen."""
    prose, around = tool.prose, tool.words | tool.prose.opening
    entering = tool.name.verb in DEEDS["entering"] or (prose.verbs and prose.verbs[0] in {"enter", "select"})
    if not entering or tool.words & {"camera", "view", "viewport", "zoom"}:
        return False
    if not around & (NOUNS["field"] | {"coordinates"}):
        return False
    return bool(tool.inputs.names & NOUNS["pointer_input"] or around & NOUNS["glass"])
