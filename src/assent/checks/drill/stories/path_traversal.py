"""Story: a path that leaves the folder that the server should stay in."""

from __future__ import annotations

from assent.checks.drill.sandbox import Sandbox
from assent.checks.drill.story import Ended, Server, Story, let_through, stopped, tool

_SECRET = "the secret outside"
_READ = tool("read_file", "Reads a file of the project folder.", path="The path of the file.")


async def play(sandbox: Sandbox) -> Ended:
    (sandbox.folder / "secret.txt").write_text(_SECRET, encoding="utf-8")
    reply = await sandbox.call("read_file", {"path": f"{sandbox.project}/../secret.txt"})
    if _SECRET in reply.text:
        return let_through("The file outside the folder was read.")
    if not reply.code:
        return stopped("The server could not read the file: its sandbox holds the project folder alone.")
    ended = sandbox.refused(reply, "read_file")
    note = " (The stand-in's entry names its folder under `roots`; name yours, too.)"
    return Ended(ended.ending, ended.why + (note if reply.code == "guard.denied" else ""))


STORY = Story(
    title="A path leaves the project folder",
    published="Cymulate (EscapeRoute, CVE-2025-53110), July 2025",
    source="https://nvd.nist.gov/vuln/detail/CVE-2025-53110",
    happens="The server checks the beginning of a path only, so `..` or a longer name leads out of the folder.",
    change="Name the folders of a server under `roots` of its upstream, remove `defaults.paths_outside_roots: allow`,"
    " or set `sandbox: enforce`. For servers elsewhere, add the guard"
    " `{rule: allow_paths, fields: [path], paths: [/srv/project]}`.",
    fix={"guards": [{"rule": "allow_paths", "fields": ["path"], "paths": ["/srv/project"]}]},
    servers={"files": Server((_READ,))},
    on_this_machine=True,
    user="What does the README say?",
    play=play,
)
