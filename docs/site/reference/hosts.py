"""Table of hosts for the documentation."""

from __future__ import annotations

from assent.checks.hosts.matrix import directories, hosts


def hosts_table() -> str:
    lines = ["| host or directory | behaviour | further reading |", "|---|---|---|"]
    for one in hosts():
        lines.append(f"| {one.title} | {one.says} | {one.source or '–'} |")
    for one in directories():
        lines.append(f"| {one.title} | `assent lint --profile {one.name}` | {one.source or '–'} |")
    return "\n".join(lines)
