"""Stories in which a call does harm: it is too wide, repeated, swapped, or leads to the wrong place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assent.checks.drill.sandbox import AGENT, Sandbox
from assent.checks.drill.standin import LostAnswerError
from assent.checks.drill.story import AgentCall, Ended, Server, Story, asked, let_through, stopped, tool

_DELETE = tool(
    "delete_records", "Deletes the records that match a filter.", table="The table.", filter="Which records."
)

BULK_DELETE = Story(
    title="An agent deletes a production database",
    published="The Register (Replit), 21 July 2025",
    source="https://www.theregister.com/2025/07/21/replit_saastr_vibe_coding_incident/",
    happens="During a code freeze an agent deletes all records, and says later that it panicked.",
    change="Keep the confirmation of destructive tools (`mode: enforce`), or forbid them to agents by a policy.",
    fix={"mode": "enforce"},
    servers={"database": Server((_DELETE,))},
    user="Tidy the test data up.",
    calls=(AgentCall("delete_records", {"table": "companies", "filter": "*"}),),
    harm="All records were deleted.",
)


_DNS_REBINDING_CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "list_invoices", "arguments": {"year": "2026"}},
}


async def _play_dns_rebinding(sandbox: Sandbox) -> Ended:
    headers = {"Authorization": f"Bearer {AGENT}", "Accept": "application/json, text/event-stream"}
    await sandbox.http.post("/mcp", json=_DNS_REBINDING_CALL, headers=headers)
    own = len(sandbox.reached)
    foreign = {"Host": "evil.example:8420", "Origin": "http://evil.example:8420"}
    answer = await sandbox.http.post("/mcp", json=_DNS_REBINDING_CALL, headers=headers | foreign)
    if len(sandbox.reached) > own:
        return let_through("A request of a foreign web page was answered.")
    return stopped(f"A request with a foreign host and origin got status {answer.status_code}.")


DNS_REBINDING = Story(
    title="A web page calls the gateway on the visitor's machine",
    published="Oligo (MCP Inspector, CVE-2025-49596), June 2025",
    source="https://nvd.nist.gov/vuln/detail/CVE-2025-49596",
    happens="A name of the attacker leads to 127.0.0.1, so that the browser sends requests to a local server.",
    change="Remove the foreign origin from `origins:`.",
    servers={"billing": Server((tool("list_invoices", "Lists invoices.", year="The year."),))},
    user="Which invoices are open?",
    play=_play_dns_rebinding,
)


_CHARGE = tool("charge_card", "Charges a customer's card.", customer="The customer.", amount="The amount.")
_DOUBLE_CHARGE_PAYMENT = {"customer": "c-1", "amount": "100"}


def _lose_answer(_: Mapping[str, Any]) -> str:
    raise LostAnswerError


async def _play_double_charge(sandbox: Sandbox) -> Ended:
    reply = await sandbox.call("charge_card", _DOUBLE_CHARGE_PAYMENT, key="order-1")
    if reply.approval:
        await sandbox.decide(reply.approval)
        await sandbox.call("charge_card", _DOUBLE_CHARGE_PAYMENT, key="order-1")
    reply = await sandbox.call("charge_card", _DOUBLE_CHARGE_PAYMENT, key="order-1")
    if len(sandbox.reached) > 1:
        return let_through("The retry charged the card a second time.")
    return sandbox.refused(reply, "charge_card")


DOUBLE_CHARGE = Story(
    title="A retry after a lost answer charges twice",
    published="Stripe, idempotency keys, 2017",
    source="https://stripe.com/blog/idempotency",
    happens="The server charges the card and the connection breaks. The client sees an error and calls again.",
    change="Set `mode: enforce`. A call whose outcome is not known is then never repeated under its key.",
    fix={"mode": "enforce"},
    servers={"payments": Server((_CHARGE,), {"charge_card": _lose_answer})},
    user="Charge customer c-1 with 100 EUR.",
    play=_play_double_charge,
)


_CONVERT = tool(
    "convert_to_markdown", "Fetches a web page and converts it to Markdown.", uri="The address of the page."
)

METADATA_ADDRESS = Story(
    title="A tool that fetches pages reads the cloud's credentials",
    published="BlueRock (MCP fURI), January 2026",
    source="https://www.bluerock.io/post/mcp-furi-microsoft-markitdown-vulnerabilities",
    happens="The tool fetches any address. 169.254.169.254 answers with the credentials of the machine's role.",
    change="Add the guard `{rule: block_private_hosts}`.",
    fix={"guards": [{"rule": "block_private_hosts"}]},
    servers={"markitdown": Server((_CONVERT,), {"convert_to_markdown": "AccessKeyId: ..."})},
    user="Convert the page http://169.254.169.254/latest/meta-data/iam/security-credentials/ to Markdown.",
    calls=(
        AgentCall("convert_to_markdown", {"uri": "http://169.254.169.254/latest/meta-data/iam/security-credentials/"}),
    ),
    harm="The address of the metadata service was fetched.",
)


_SECRET = "the secret outside"
_READ = tool("read_file", "Reads a file of the project folder.", path="The path of the file.")


async def _play_path_traversal(sandbox: Sandbox) -> Ended:
    (sandbox.folder / "secret.txt").write_text(_SECRET, encoding="utf-8")
    reply = await sandbox.call("read_file", {"path": f"{sandbox.project}/../secret.txt"})
    if _SECRET in reply.text:
        return let_through("The file outside the folder was read.")
    if not reply.code:
        return stopped("The server could not read the file: its sandbox holds the project folder alone.")
    ended = sandbox.refused(reply, "read_file")
    note = " (The stand-in's entry names its folder under `roots`; name yours, too.)"
    return Ended(ended.ending, ended.why + (note if reply.code == "guard.denied" else ""))


PATH_TRAVERSAL = Story(
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
    play=_play_path_traversal,
)


_SEND_MONEY = tool("send_money", "Sends money to an account.", recipient="The account.", amount="The amount.")
_PAYMENT = {"recipient": "AT00 0000 0000", "amount": "10"}


async def _play_replayed_approval(sandbox: Sandbox) -> Ended:
    reply = await sandbox.call("send_money", _PAYMENT, key="first")
    if reply.approval:
        await sandbox.decide(reply.approval)
        await sandbox.call("send_money", _PAYMENT, key="first")
    reply = await sandbox.call("send_money", _PAYMENT, key="second")
    if len(sandbox.reached) > 1:
        return let_through("Two payments were made, and a person said yes to at most one.")
    return sandbox.refused(reply, "send_money")


REPLAYED_APPROVAL = Story(
    title="One yes is used twice",
    published="CWE-294, authentication bypass by capture-replay",
    source="https://cwe.mitre.org/data/definitions/294.html",
    happens="The agent repeats an approved call under another idempotency key.",
    change="Set `mode: enforce`. A yes is used up by the call that it lets through.",
    fix={"mode": "enforce"},
    servers={"bank": Server((_SEND_MONEY,))},
    user="Pay ten euros to AT00 0000 0000.",
    play=_play_replayed_approval,
)


_VERSION = "2025-11-25"
_HEADERS = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": _VERSION}
_OPEN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": {"name": "drill", "version": "1"}},
}
_SESSION_CALL = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "billing_list_invoices", "arguments": {"year": "2026"}},
}


async def _play_session_id_as_credential(sandbox: Sandbox) -> Ended:
    # With two servers the session is the gateway's own, not one of the server behind it.
    opened = await sandbox.http.post("/mcp", json=_OPEN, headers=_HEADERS | {"Authorization": f"Bearer {AGENT}"})
    headers = _HEADERS | {"Mcp-Session-Id": opened.headers.get("mcp-session-id", "none")}
    await sandbox.http.post("/mcp", json=_SESSION_CALL, headers=headers | {"Authorization": f"Bearer {AGENT}"})
    owners = len(sandbox.reached)
    stolen = await sandbox.http.post("/mcp", json=_SESSION_CALL, headers=headers)
    if len(sandbox.reached) > owners:
        return let_through("A request with a session's id and no credential was answered.")
    return stopped(f"A session's id is no credential: without a key, the request got status {stolen.status_code}.")


SESSION_ID_AS_CREDENTIAL = Story(
    title="A session's id is used as a credential",
    published="JFrog (oatpp-mcp, CVE-2025-6515), October 2025",
    source="https://nvd.nist.gov/vuln/detail/CVE-2025-6515",
    happens="Somebody guesses or steals the id of a session and sends requests in it without a credential.",
    change="Nothing in the configuration allows this. Please report it.",
    servers={
        "billing": Server((tool("list_invoices", "Lists invoices.", year="The year."),)),
        "notes": Server((tool("read_note", "Reads a note.", title="The title."),)),
    },
    user="Which invoices are open?",
    play=_play_session_id_as_credential,
)


_LOG = tool(
    "get_git_log",
    "Shows the log of a branch.",
    hints={"readOnlyHint": True},
    branch="The branch.",
)


async def _play_shell_injection(sandbox: Sandbox) -> Ended:
    trace = sandbox.folder / "trace.txt"
    reply = await sandbox.call("get_git_log", {"branch": f"main; echo owned > '{trace}'"})
    if trace.exists():
        return let_through("The command in the value ran, and changed a file outside the project folder.")
    if not reply.code:
        return stopped("The command in the value ran in the server's sandbox and changed nothing outside.")
    return sandbox.refused(reply, "get_git_log")


SHELL_INJECTION = Story(
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
    play=_play_shell_injection,
)


_BUY = tool(
    "buy_credits", "Buys credits and charges the account.", amount="The amount in EUR.", order="The order's number."
)
_TIMES = 5


async def _play_spending_loop(sandbox: Sandbox) -> Ended:
    reply = await sandbox.call("buy_credits", {"amount": "100", "order": "1"})
    for number in range(2, _TIMES + 1):
        reply = await sandbox.call("buy_credits", {"amount": "100", "order": str(number)})
    if len(sandbox.reached) > 1:
        return let_through(f"{len(sandbox.reached)} of {_TIMES} purchases were made, and nobody was asked.")
    return sandbox.refused(reply, "buy_credits")


SPENDING_LOOP = Story(
    title="An agent buys in a loop",
    published="OWASP LLM10:2025, unbounded consumption",
    source="https://genai.owasp.org/llmrisk/llm102025-unbounded-consumption/",
    happens="An agent believes that a purchase failed and repeats it with another number.",
    change="Set `mode: enforce`, so that spending is confirmed. Add `budgets:` and `limits:` that no yes can exceed.",
    fix={"mode": "enforce"},
    servers={"shop": Server((_BUY,))},
    user="Buy credits for 100 EUR.",
    play=_play_spending_loop,
)


_QUERY = tool("query", "Runs a read-only SQL query.", hints={"readOnlyHint": True}, sql="The query.")

SQL_WRITE_IN_QUERY = Story(
    title="A read-only query tool drops a schema",
    published="Datadog Security Labs, August 2025",
    source="https://securitylabs.datadoghq.com/articles/mcp-vulnerability-case-study-SQL-injection-in-the-postgresql-mcp-server/",
    happens="The server opens a read-only transaction. `COMMIT;` in the query ends it, and what follows may write.",
    change="Add the guard `{rule: sql_read_only, fields: [sql], dialect: postgres}` for tools that take SQL.",
    fix={"guards": [{"rule": "sql_read_only", "fields": ["sql"], "dialect": "postgres"}]},
    servers={"postgres": Server((_QUERY,))},
    user="How many customers do we have?",
    calls=(AgentCall("query", {"sql": "COMMIT; DROP SCHEMA public CASCADE;"}),),
    harm="The statement that drops the schema reached the database.",
)


_SEND_MONEY = tool("send_money", "Sends money to an account.", recipient="The account.", amount="The amount.")
_SHOWN = {"recipient": "AT00 0000 0000", "amount": "10"}
_SWAPPED = AgentCall("send_money", {"recipient": "XX99 9999 9999", "amount": "9000"})


async def _play_swapped_arguments(sandbox: Sandbox) -> Ended:
    reply = await sandbox.call("send_money", _SHOWN)
    if reply.approval:
        await sandbox.decide(reply.approval)
    return sandbox.judge(_SWAPPED, await sandbox.call(_SWAPPED.tool, _SWAPPED.arguments))


SWAPPED_ARGUMENTS = Story(
    title="The arguments are swapped after the yes",
    published="Check Point (MCPoison, CVE-2025-54136), August 2025",
    source="https://nvd.nist.gov/vuln/detail/CVE-2025-54136",
    happens="A yes is bound to a name. The agent gets it for a small payment and uses it for a large one.",
    change="Set `mode: enforce`. A yes counts for exactly the arguments that were shown.",
    fix={"mode": "enforce"},
    servers={"bank": Server((_SEND_MONEY,))},
    user="Pay ten euros to AT00 0000 0000.",
    play=_play_swapped_arguments,
    harm="The payment that no person saw was made.",
)


_WRITE = tool("write_file", "Writes a file and replaces what is there.", path="The path.", content="The content.")


async def _play_symlinked_target(sandbox: Sandbox) -> Ended:
    target, link = sandbox.project / "authorized_keys", sandbox.project / "notes.txt"
    target.write_text("the old keys", encoding="utf-8")
    link.symlink_to(target)
    reply = await sandbox.call("write_file", {"path": str(link), "content": "ssh-ed25519 AAAA attacker"})
    if target.read_text(encoding="utf-8") != "the old keys":
        return let_through("The file behind the link was replaced, and nobody was asked.")
    if not reply.approval:
        return sandbox.refused(reply, "write_file")
    if str(target.resolve()) not in await sandbox.question(reply.approval):
        return let_through("A person is asked, but reads only the name of the link.")
    return asked("A person is asked first, and reads where the link really leads.")


SYMLINKED_TARGET = Story(
    title="An approved path is a link that leads to another file",
    published="Cymulate (EscapeRoute, CVE-2025-53109), July 2025",
    source="https://nvd.nist.gov/vuln/detail/CVE-2025-53109",
    happens="A link in the project folder leads to the keys of the user. The question shows the link's harmless name.",
    change="Add the guard `{rule: allow_paths, fields: [path], paths: [/srv/project]}`, or write a contract for the"
    " tool with `confirmation: {by: user}`. The question names the real path of servers that a command starts here.",
    fix={"guards": [{"rule": "allow_paths", "fields": ["path"], "paths": ["/srv/project"]}]},
    servers={"files": Server((_WRITE,))},
    on_this_machine=True,
    user="Note that the meeting moved to Friday.",
    play=_play_symlinked_target,
)


async def _play_token_passthrough(sandbox: Sandbox) -> Ended:
    await sandbox.call("list_invoices", {"year": "2026"})
    if any(AGENT in value for one in sandbox.reached for value in one.headers.values()):
        return let_through("The server received the credential that the caller sent to the gateway.")
    return stopped("The caller's credential stays at the gateway. Upstreams get the credentials of the configuration.")


TOKEN_PASSTHROUGH = Story(
    title="The caller's token is passed on to a server",
    published="MCP specification, security best practices (token passthrough), June 2025",
    source="https://modelcontextprotocol.io/specification/2025-06-18/basic/security_best_practices",
    happens="A proxy forwards the caller's token. The server behind it can now act as the caller elsewhere.",
    change="Nothing in the configuration allows this. Please report it.",
    servers={"billing": Server((tool("list_invoices", "Lists invoices.", year="The year."),))},
    user="Which invoices are open?",
    play=_play_token_passthrough,
)
