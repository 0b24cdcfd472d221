"""Writes the host matrix as text, JSON or HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from assent.core.render import visible
from assent.hosts.matrix import WORDS, Row, directories, hosts
from assent.lint.json_text import written

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
    return written(found)


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
