"""Rules for presses, keys and input on a live screen, where any press may do anything."""

from typing import Final

from assent.infer.features.tool import ToolFeatures
from assent.infer.lexicon import OTHER_CLASS
from assent.infer.rules.condition import any_of, no, when
from assent.infer.rules.table import rule, table

_KEYING: Final = "send add change none run noun"
_KEYS: Final = "keys keystrokes keyboard key"


def _drives_by_words(tool: ToolFeatures) -> bool:
    """Words next to the verb show a press: `simulate_tap`."""
    kind, words = OTHER_CLASS.get(tool.verb, ("", tool.words))
    return kind == "drive" and not tool.words.isdisjoint(words)


def _is_tame(tool: ToolFeatures) -> bool:
    """Words next to the verb show that nothing is pressed: `fill_rectangle`."""
    kind, words = OTHER_CLASS.get(tool.verb, ("drive", tool.words))
    return kind != "drive" and not tool.about.isdisjoint(words)


# An alert of a monitor, which is dismissed by its number. An alert on a screen has a button.
_MONITOR_ALERT: Final = when(
    verb="dismiss",
    words="alert alerts",
    no_around="box browser device dialog emulator page phone popup screen simulator tab",
    params="alert_id alert_ids alert_number alert_uuid id ids uuid",
)

PRESSES: Final = table(
    rule(
        "an answer to a dialog may do anything",
        when(no(_MONITOR_ALERT), verb="@answering_dialogs", words="dialog dialogs alert prompt popup"),
    ),
    rule(
        "a press on a live screen may do anything",
        when(no(_is_tame), kind="drive"),
        _drives_by_words,
        when(kind="@vague", beside_kinds="drive"),
        when(no(when(said="fill", no_opening="@field form forms")), kind="@vague", said_kind="drive"),
        when(verb="control operate use", words="computer keyboard"),
        when(kind="@vague", opens="presses"),
        when(verb="submit", words="form", around="@screen"),
        when(said_kind="run", about="gesture gestures"),
        when(kind="@vague", flags="url", params="actions", no_traits="reading_choices view"),
        when(flags="pressing", params="@pointer_input"),
    ),
    rule(
        "keys that go to a live screen may do anything",
        when(kind="send", verb="send", words=_KEYS, no_words="@key_kind", params="keys"),
        when(kind="none send", object="keypresses keystrokes"),
        when(kind=_KEYING, words="hotkey hotkeys", params="hotkey hotkey_id hotkey_name"),
        when(kind="send add change none", words=_KEYS, no_words="@key_kind", opening="@key_target"),
        when(
            when(around="keyboard key keys"),
            kind=_KEYING,
            around="combination combinations combo hotkey hotkeys shortcut shortcuts",
            params="combination combo hotkey key keys modifiers shortcut",
        ),
    ),
    rule(
        "what is entered on a live screen may do anything",
        when(
            any_of(when(verb="@entering_input"), when(said="enter select")),
            any_of(when(params="@pointer_input"), when(around="@live_screen")),
            no_words="camera view viewport zoom",
            around="@field coordinates",
        ),
    ),
)
