"""Story: a value that becomes part of a shell command in the server."""

from __future__ import annotations

from assent.checks.drill.sandbox import Sandbox
from assent.checks.drill.story import Ended, Server, Story, let_through, stopped, tool

_LOG = tool(
    "get_git_log",
    "Shows the log of a branch.",
    hints={"readOnlyHint": True},
    branch="The branch.",
)


async def play(sandbox: Sandbox) -> Ended:
    trace = sandbox.folder / "trace.txt"
    reply = await sandbox.call("get_git_log", {"branch": f"main; echo owned > '{trace}'"})
    if trace.exists():
        return let_through("The command in the value ran, and changed a file outside the project folder.")
    if not reply.code:
        return stopped("The command in the value ran in the server's sandbox and changed nothing outside.")
    return sandbox.refused(reply, "get_git_log")


STORY = Story(
    title="The name of a branch runs a command",
    published="Imperva (Figma server, CVE-2025-53967), October 2025",
    source="https://nvd.nist.gov/vuln/detail/CVE-2025-53967",
    happens="The server puts an argument into a shell command. The tool reads only, so nobody is asked.",
    change="Set `sandbox: enforce` for servers that a command starts. Or add the guard"
    " `{rule: block_patterns, patterns: ['[;&|`$<>]']}` with the fields that name branches, files"
    " or ids, or `{rule: shell_commands, allow: [...]}` for commands.",
    fix={"guards": [{"rule": "block_patterns", "fields": ["branch"], "patterns": ["[;&|`$<>]"]}]},
    servers={"git": Server((_LOG,))},
    on_this_machine=True,
    user="What changed on main?",
    play=play,
)
