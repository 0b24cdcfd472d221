"""The reference page of profiles."""

from __future__ import annotations

from assent.contract.profiles import GENERAL, WIRE_NAMES, Cell, Profile, profile, profile_names

_WORDS = {True: "true", False: "false", None: "–"}


def profiles_page() -> str:
    """Each profile with its table from tier to hints."""
    head = (
        "# Profiles\n\n"
        "A profile is a table from tier to hints, with the names and `_meta` keys that it writes. It decides what is "
        "listed, never what is enforced. Choose one with `profile:`. `–` means that the hint is not sent. *declared* "
        "means that the contract decides; the value after it applies if the contract does not say.\n\n"
        "Most people need `spec`, or the profile of the directory that they submit to (`openai`, `anthropic`). The "
        "others are those of the systems that they are named after, and examples of a profile for your own.\n"
    )
    others = [name for name in profile_names() if name not in GENERAL]
    return head + "".join(_section(profile(name)) for name in (*GENERAL, *others))


def _section(one: Profile) -> str:
    columns = " | ".join(f"`{wire}`" for wire in WIRE_NAMES.values())
    lines = ["", f"## {one.name}", "", one.summary.strip(), "", f"| tier | {columns} |", "|---|---|---|---|---|"]
    for tier, cells in one.rows.items():
        name = "`write` with `overwrites`" if tier == "overwrites" else f"`{tier}`"
        lines.append(f"| {name} | {' | '.join(map(_cell, cells))} |")
    return "\n".join([*lines, ""])


def _cell(cell: Cell) -> str:
    word = _WORDS[cell.value]
    return f"declared, else {word}" if cell.declared else word
