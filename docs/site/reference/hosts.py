"""Table of hosts for the documentation."""

from __future__ import annotations

from assent.checks.hosts.matrix import directories, hosts
from assent.pipeline.client_answer import KNOWN_CLIENTS


def hosts_table() -> str:
    lines = ["| host or directory | behaviour | further reading |", "|---|---|---|"]
    for one in hosts():
        lines.append(f"| {one.title} | {one.says} | {one.source or '–'} |")
    for one in directories():
        lines.append(f"| {one.title} | `assent lint --profile {one.name}` | {one.source or '–'} |")
    return "\n".join(lines)


def answering_table() -> str:
    """Clients that answer questions by themselves, as the gateway knows them."""
    lines = ["| client | its name in `clientInfo` | what it does | seen in |", "|---|---|---|---|"]
    for name, one in KNOWN_CLIENTS.items():
        lines.append(f"| {one.title} | `{name}` | {one.does} | {', '.join(one.sources)} |")
    return "\n".join(lines)
