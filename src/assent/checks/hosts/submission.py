"""Writes the file that a directory asks for: every hint of every tool with its justification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any

from assent.checks.hosts.matrix import WORDS, Row, directories, hints_of, hosts, objections
from assent.checks.lint.rule import indented_json
from assent.checks.lint.target import LintedTool, Target
from assent.contract.tiers import Risk, Tier
from assent.core.question import visible
from assent.errors import Fault, SettingsError

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:2rem;color:#1b1b1b}table{border-collapse:collapse}"
    "th,td{border:1px solid #ccc;padding:.3rem .6rem;text-align:left;vertical-align:top}"
    "thead th{background:#f3f3f3;position:sticky;top:0}.runs{background:#fdecc8}.asks{background:#d9efdc}"
    ".may_run{background:#fff7e0}.ignores{color:#666}.no{background:#f9d7d4}ul{margin:0;padding-left:1.1rem}"
)


def as_text(name: str, rows: Sequence[Row]) -> str:
    """Return a block of lines per tool."""
    lines: list[str] = []
    for row in rows:
        lines.append(_name(row))
        for host in hosts():
            step = row.hosts[host.name]
            lines.append(f"  {host.title:<26} {WORDS[step.does]:<13} {step.because}")
        for directory in directories():
            found = row.directories[directory.name]
            lines.append(f"  {directory.title:<32} {'no objection' if not found else 'objects:'}")
            lines += [f"    {one.rule}: {visible(one.message)}" for one in found]
        lines += [f"  note: {visible(note)}" for note in row.notes]
        lines.append("")
    accepted = ", ".join(
        f"{directory.title} accepts {sum(1 for row in rows if not row.directories[directory.name])} of {len(rows)}"
        for directory in directories()
    )
    return "\n".join([*lines, f"{visible(name)}: {accepted}. Behaviour of hosts as of {hosts()[0].checked}."])


def as_json(name: str, rows: Sequence[Row]) -> str:
    sources = [
        {"name": one.name, "title": one.title, "says": one.says, "source": one.source, "checked": one.checked}
        for one in (*hosts(), *directories())
    ]
    found = {"target": name, "sources": sources, "tools": [row.as_json() for row in rows]}
    return indented_json(found)


def as_html(name: str, rows: Sequence[Row]) -> str:
    """Return a self-contained page: one row per tool, one column per host and directory."""
    columns = [one.title for one in (*hosts(), *directories())]
    head = "".join(f"<th scope=col>{escape(title)}</th>" for title in ("Tool", *columns, "Notes"))
    body = "\n".join(_row(row) for row in rows)
    sources = "".join(
        f"<li>{escape(one.title)}: {escape(one.says)} {_link(one.source)}</li>" for one in (*hosts(), *directories())
    )
    title = f"Hosts and directories: {escape(visible(name))}"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title>'
        f"<style>{_STYLE}</style></head>\n<body><h1>{title}</h1>\n<table><thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table>\n<h2>Sources, as of {hosts()[0].checked}</h2>"
        f"<ul>{sources}</ul></body></html>"
    )


def _link(source: str) -> str:
    return f'<a href="{escape(source)}">{escape(source)}</a>' if source else "(our own survey)"


def _name(row: Row) -> str:
    return visible(row.tool) if row.tool.strip() else "(a tool without a name)"


def _row(row: Row) -> str:
    cells = [f"<th scope=row>{escape(_name(row))}</th>"]
    for host in hosts():
        step = row.hosts[host.name]
        cells.append(f'<td class="{step.does}" title="{escape(step.because)}">{WORDS[step.does]}</td>')
    for directory in directories():
        found = row.directories[directory.name]
        said = "".join(f"<li>{escape(one.rule)}: {escape(visible(one.message))}</li>" for one in found)
        cells.append(f'<td class="no"><ul>{said}</ul></td>' if found else "<td>no objection</td>")
    notes = "".join(f"<li>{escape(visible(note))}</li>" for note in row.notes)
    return f"<tr>{''.join(cells)}<td><ul>{notes}</ul></td></tr>"


FORMATS = {"text": as_text, "json": as_json, "html": as_html}


_OPENAI = "https://developers.openai.com/apps-sdk/schemas/chatgpt-app-submission.v1.json"
_DOES = {
    Tier.READ: "Returns data and changes nothing",
    Tier.COMPUTE: "Runs work in the account and charges nothing outside it",
    Tier.WRITE: "Adds records to the account",
    Tier.SHARE_EXPORT: "Issues a link, an export or a credential",
    Tier.EXTERNAL_SPEND: "Moves money or credits",
    Tier.DESTRUCTIVE: "Deletes, revokes, cancels or loses what was there",
}


def submission(target: Target, directory: str) -> dict[str, Any]:
    """Return the submission for a directory, with the tools that its reviewer sees.

    Raise SettingsError if a required hint is missing or the directory objects to a tool.
    """
    makers = {"openai": _openai, "anthropic": _anthropic}
    seen = tuple(tool for tool in target.subjects if not is_unseen(tool))
    if not seen:
        raise SettingsError(
            Fault("its contracts hide or forbid every tool", "Submit a server with at least one tool for agents")
        )
    return makers[directory](replace(target, subjects=seen))


def is_unseen(tool: LintedTool) -> bool:
    """Whether the contract forbids or hides the tool."""
    contract = tool.contract
    return contract is not None and (contract.risk is Risk.FORBIDDEN or contract.visibility == "hidden")


def _openai(target: Target) -> dict[str, Any]:
    """Return the tools part of OpenAI's submission file."""
    wanted = ("read_only", "open_world", "destructive")
    _require_complete(target, wanted, "openai")
    return {
        "$schema": _OPENAI,
        "schema_version": 1,
        "tools": {tool.name: _for_openai(tool) for tool in target.subjects},
    }


def _for_openai(tool: LintedTool) -> dict[str, Any]:
    hints, value = hints_of(tool), justify(tool)
    return {
        "annotations": {
            "readOnlyHint": hints["read_only"],
            "openWorldHint": hints["open_world"],
            "destructiveHint": hints["destructive"],
        },
        "justifications": {
            "read_only_justification": value["read_only"],
            "open_world_justification": value["open_world"],
            "destructive_justification": value["destructive"],
        },
    }


def _anthropic(target: Target) -> dict[str, Any]:
    """Return a sheet for Anthropic's form: titles, hints and reasons per tool."""
    _require_complete(target, (), "anthropic")
    tools = []
    for tool in target.subjects:
        hints, value = hints_of(tool), justify(tool)
        tools.append(
            {
                "name": tool.name,
                "title": tool.title or tool.annotations.get("title"),
                "description": tool.description,
                "annotations": {wire: hints[name] for name, wire in _WIRE.items() if hints[name] is not None},
                "justifications": {wire: value[name] for name, wire in _WIRE.items() if hints[name] is not None},
            }
        )
    return {"directory": "anthropic", "server": target.name, "tools": tools}


_WIRE = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}


def _require_complete(target: Target, wanted: tuple[str, ...], directory: str) -> None:
    """Raise for objections of the directory and for missing hints; nothing is made up."""
    found = {(one.tool, one.at): one for one in objections(target, directory)}
    faults = [Fault(one.message, one.fix, one.tool) for one in found.values()]
    faults += [
        Fault(f"{_WIRE[name]} is not set", "Set it; a directory does not accept a tool without it", tool.name)
        for tool in target.subjects
        for name in wanted
        if hints_of(tool)[name] is None and (tool.name, f"/annotations/{_WIRE[name]}") not in found
    ]
    if faults:
        raise SettingsError(faults)


def justify(tool: LintedTool) -> dict[str, str]:
    """Return a sentence for each hint, from the contract or else from the definition."""
    hints = hints_of(tool)
    does = _describe_effect(tool)
    return {
        "read_only": f"{does}." if not hints["read_only"] else f"{_DOES[Tier.READ]}.",
        "destructive": _destructive(tool, hints["destructive"], does),
        "idempotent": "Repeating a call has no further effect."
        if hints["idempotent"]
        else "Repeating a call may have a further effect.",
        "open_world": _open_world(tool, hints["open_world"]),
    } | _justify_from_contract(tool)


def _open_world(tool: LintedTool, value: bool | None) -> str:
    """Justify openWorldHint; nothing is claimed that the contract does not say."""
    if tool.contract is not None and tool.contract.open_world is None:
        return "It may reach others: nothing excludes it." if value else "It declares nothing that reaches outside."
    if value:
        return "It can reach systems or people outside the account."
    return "It works only on the caller's own account and reaches no one outside it."


def _justify_from_contract(tool: LintedTool) -> dict[str, str]:
    """Return the contract's statements about the hints that it sets explicitly."""
    value = tool.contract.hints if tool.contract else None
    if value is None or not value.because:
        return {}
    because = value.because.rstrip(".") + "."
    return {name: because for name in ("destructive", "idempotent", "open_world") if getattr(value, name) is not None}


def _describe_effect(tool: LintedTool) -> str:
    if tool.contract is not None and tool.contract.side_effects:
        return tool.contract.side_effects[0].rstrip(".")
    if tool.tier is Tier.WRITE and (tool.contract.overwrites if tool.contract else tool.inference.overwrites):
        return "Changes existing records"
    if tool.tier is Tier.WRITE and tool.contract is None and tool.inference.labels.public_sink:
        return "Sends something to others"
    return _DOES[tool.tier]


def _always_asked(tool: LintedTool) -> bool:
    """Whether a person sees every call, and not only unclear or first ones."""
    contract = tool.contract
    return contract is not None and contract.asked_by(ambiguous=False) != "none" and contract.confirmation.uses == 1


def _destructive(tool: LintedTool, value: bool | None, does: str) -> str:
    if value:
        added = does == _DOES[Tier.WRITE]
        told = f"{does}; every change is taken for one that cannot be undone." if added else f"{does}."
        return told + (" A person is asked before every call." if _always_asked(tool) else "")
    overwrites = tool.contract.overwrites if tool.contract else tool.inference.overwrites
    return f"{does}; it deletes and revokes nothing." if overwrites else "It deletes, overwrites and revokes nothing."
