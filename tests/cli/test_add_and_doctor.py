"""`assent add` and `assent doctor`: a configuration that grows by commands, and the fix for what is wrong."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from cli.test_client_files import ASSENT, assent, place
from support.documents.page_walk import free_port
from support.stores.earlier_versions import make_store_of_0_2_0

STORE = "store: sqlite:///assent.db\n"
SERVER = """
from mcp.server import MCPServer

server = MCPServer("notes")


@server.tool()
def delete_note(note: str) -> str:
    \"\"\"Deletes a note.\"\"\"
    return note


@server.tool()
def list_notes() -> list[str]:
    \"\"\"Lists the notes.\"\"\"
    return []


server.run()
"""


def notes(home: Path) -> list[str]:
    (home / "notes.py").write_text(SERVER)
    return [sys.executable, str(home / "notes.py")]


def test_a_command_is_added_and_its_tools_are_counted(tmp_path: Path) -> None:
    (tmp_path / "assent.yaml").write_text("# ours\nmode: enforce  # always\n")
    result = assent(tmp_path, "add", "notes", "--env", "A=1", "-c", "assent.yaml", "--", *notes(tmp_path))
    assert result.returncode == 0, result.stderr
    assert "It has 2 tools: 1 read, 1 destructive." in result.stderr
    text = (tmp_path / "assent.yaml").read_text()
    assert text.startswith("# ours\nmode: enforce  # always\n")
    assert YAML(typ="safe").load(text)["upstreams"]["notes"] == {"command": notes(tmp_path), "env": {"A": "1"}}


def test_the_next_steps_after_adding_are_those_that_are_needed(tmp_path: Path) -> None:
    last = "Next: assent serve -c 'our own.yaml' starts the gateway; one that already runs uses it within seconds.\n"
    added = assent(tmp_path, "add", "notes", "-c", "our own.yaml", "--", *notes(tmp_path))
    assert added.stderr.endswith(f"1 destructive.\n{last}"), added.stderr
    assert assent(tmp_path, "pin", "--write", "--yes", "-c", "our own.yaml").returncode == 0
    added = assent(tmp_path, "add", "more", "-c", "our own.yaml", "--offline", "--", *notes(tmp_path))
    accept = "withheld until you accept them: assent pin --write -c 'our own.yaml'\n"
    assert added.stderr.endswith(f"assent.lock exists, so its tools are {accept}{last}"), added.stderr
    (tmp_path / "our own.yaml").write_text("pins: off\n")
    added = assent(tmp_path, "add", "notes", "-c", "our own.yaml", "--offline", "--", *notes(tmp_path))
    assert added.stderr.endswith(f"notes is added to our own.yaml.\n{last}"), added.stderr


def test_without_a_configuration_the_users_own_is_made_and_doctor_accepts_it(tmp_path: Path) -> None:
    added = assent(tmp_path, "add", "notes", "--", *notes(tmp_path))
    assert added.returncode == 0, added.stderr
    with (tmp_path / ".config/assent/assent.yaml").open("a", encoding="utf-8") as file:
        file.write("public_url: http://127.0.0.1:9\n")  # port 8420 of this machine may be in use
    report = assent(tmp_path, "doctor")
    assert report.returncode == 0, report.stdout
    assert "upstream notes: 2 tools" in report.stdout
    assert "no gateway runs on this store" in report.stdout


def test_doctor_misses_nothing_where_servers_are_only_wrapped(tmp_path: Path) -> None:
    place(tmp_path, "cursor").write_text(json.dumps({"mcpServers": {"notes": {"command": "true"}}}))
    assert assent(tmp_path, "init", "--client", "cursor", "--write").returncode == 0
    for _ in range(2):
        report = assent(tmp_path, "doctor")
        assert report.returncode == 0 and "warning" not in report.stdout, report.stdout
        assert "wrapped servers and hooks need none" in report.stdout
        assert "gateway" not in report.stdout and "since 0.3" not in report.stdout
        (tmp_path / ".config/assent/assent.yaml").unlink(missing_ok=True)


def test_a_server_that_does_not_answer_is_not_added(tmp_path: Path) -> None:
    result = assent(tmp_path, "add", "gone", "http://127.0.0.1:9/mcp")
    assert result.returncode == 2
    assert "Nothing was added" in result.stderr
    assert not (tmp_path / ".config/assent/assent.yaml").exists()
    assert assent(tmp_path, "add", "gone", "http://127.0.0.1:9/mcp", "--offline").returncode == 0


def test_a_taken_name_and_wrong_words_are_refused(tmp_path: Path) -> None:
    assent(tmp_path, "add", "a", "http://127.0.0.1:9/mcp", "--offline")
    taken = assent(tmp_path, "add", "a", "http://127.0.0.1:10/mcp", "--offline")
    assert "another upstream has this name" in taken.stderr
    assert "Give a URL, an OpenAPI document, or a command" in assent(tmp_path, "add", "b").stderr
    assert assent(tmp_path, "add", "b c", "http://x.example").returncode == 2
    assert "not NAME:VALUE" in assent(tmp_path, "add", "b", "http://x.example", "--header", "X").stderr


def test_doctor_names_each_problem_with_its_fix_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "assent.yaml").write_text(
        "upstreams:\n  a: {command: [no-such-program-here]}\n  b: {url: 'http://127.0.0.1:9/mcp'}\n"
        "secrets: {directory: keys}\n"
    )
    (tmp_path / "keys").mkdir(mode=0o755)
    (tmp_path / "keys").chmod(0o755)
    place(tmp_path, "cursor")
    before = sorted(tmp_path.rglob("*"))
    report = assent(tmp_path, "doctor", "-c", "assent.yaml")
    assert report.returncode == 1
    assert "upstream a: the program no-such-program-here is not installed" in report.stdout
    assert "others can read the keys" in report.stdout
    assert "chmod -R go=" in report.stdout
    assert "upstream b: " in report.stdout
    assert "Cursor: not governed: near" in report.stdout
    assert "Fix: `assent init --client cursor --write`" in report.stdout
    assert sorted(tmp_path.rglob("*")) == before


def test_doctor_reports_a_broken_configuration_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "assent.yaml").write_text("mode: enforce\nupstream: {}\n")
    report = assent(tmp_path, "doctor", "-c", "assent.yaml")
    assert report.returncode == 1
    assert "assent.yaml:2: upstream:" in report.stdout


def test_doctor_says_of_a_file_that_is_not_there_what_to_do_once(tmp_path: Path) -> None:
    report = assent(tmp_path, "doctor", "-c", "gone.yaml").stdout
    missing = "gone.yaml: the configuration cannot be read: No such file or directory"
    assert f"problem  {missing}\n         Fix: name another file with -c\n" in report, report


def test_commands_without_a_configuration_say_how_to_make_one(tmp_path: Path) -> None:
    said = assent(tmp_path, "serve").stderr
    assert "`assent add` writes " in said and "and `assent init --team` assent.yaml" in said
    assert "There is no file gone.yaml" in assent(tmp_path, "engine", "stop", "-c", "gone.yaml").stderr
    assert "Clients: claude-desktop, " in assent(tmp_path, "init").stderr
    place(tmp_path, "cursor")
    assert "Clients of this machine: cursor." in assent(tmp_path, "init").stderr


def test_doctor_names_hidden_characters_and_orders_in_the_texts_of_tools(tmp_path: Path) -> None:
    server = str(Path(__file__).parents[1] / "support" / "servers" / "poisoned_server.py")
    assert assent(tmp_path, "add", "notes", "--offline", "--", sys.executable, server).returncode == 0
    report = assent(tmp_path, "doctor").stdout
    assert "warning  upstream notes: find_notes has hidden characters: /description: \\u{e0073}" in report
    assert "upstream notes: choose_note is withheld: it has hidden characters in a name or value" in report
    assert "upstream notes: list_\\u{200b}notes is withheld" in report
    assert "upstream notes: sort_notes: description-orders: this looks like an attack" in report
    assert "\u200b" not in report and "\U000e0073" not in report


def test_doctor_reads_the_contracts_and_policies_that_the_configuration_names(tmp_path: Path) -> None:
    (tmp_path / "assent.yaml").write_text("upstreams: {}\ncontracts: [c.yaml]\npolicies: [p.cedar]\n")
    (tmp_path / "c.yaml").write_text("tools:\n  a: {side_efect: read}\n")
    (tmp_path / "p.cedar").write_text("forbid (principal, action, resource) when { resource.tire == 1 };\n")
    report = assent(tmp_path, "doctor", "--offline", "-c", "assent.yaml")
    assert report.returncode == 1
    assert "is valid" not in report.stdout
    assert "c.yaml:2: a.side_efect: there is no such field. Did you mean side_effect?" in report.stdout
    assert "p.cedar:1: a tool has no attribute `tire`. Did you mean `tier`?" in report.stdout


def test_doctor_accepts_the_folder_of_keys_that_a_command_made(tmp_path: Path) -> None:
    (tmp_path / "assent.yaml").write_text("upstreams: {notes: {command: [python, notes.py]}}\n")
    assert assent(tmp_path, "keys", "create", "ci", "--kind", "agent", "-c", "assent.yaml").returncode == 0
    assert ": 1 entry, " in assent(tmp_path, "audit", "verify", "-c", "assent.yaml").stdout
    report = assent(tmp_path, "doctor", "--offline", "-c", "assent.yaml")
    assert "only you can read them" in report.stdout, report.stdout


def test_doctor_calls_governed_only_what_it_looked_at(tmp_path: Path) -> None:
    servers = {
        "wrapped": {"command": str(ASSENT), "args": ["wrap", "--", "true"]},
        "gateway": {"url": f"http://127.0.0.1:{free_port()}/mcp"},
        "elsewhere": {"url": "https://mcp.example.com/mcp"},
        "odd": {"transport": "pigeon"},
    }
    place(tmp_path, "cursor").write_text(json.dumps({"mcpServers": servers}))
    unknown = assent(tmp_path, "doctor").stdout
    assert "Cursor: not governed: gateway, elsewhere\n" in unknown
    assert "a gateway of yours is known by its configuration: `assent doctor -c FILE`\n" in unknown
    configure(tmp_path, servers["gateway"]["url"])
    report = assent(tmp_path, "doctor").stdout
    assert "Cursor: not governed: elsewhere\n" in report
    assert "Cursor: odd may not be governed: Assent finds neither a command nor a URL in it\n" in report
    del servers["elsewhere"], servers["odd"]
    place(tmp_path, "cursor").write_text(json.dumps({"mcpServers": servers}))
    assert f"Cursor: no gateway answers at {servers['gateway']['url']}\n" in assent(tmp_path, "doctor").stdout


def configure(home: Path, endpoint: str) -> None:
    """The user's own configuration, served at this endpoint."""
    own = home / ".config/assent/assent.yaml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(
        f"public_url: {endpoint.removesuffix('/mcp')}\nupstreams: {{notes: {{url: http://127.0.0.1:9/mcp}}}}\n"
    )


@pytest.mark.parametrize("name", ["ours", "assent"])
def test_init_leaves_an_entry_that_is_the_users_gateway_and_moves_every_other_one(tmp_path: Path, name: str) -> None:
    ours, path = f"http://localhost:{free_port()}/mcp", place(tmp_path, "cursor")
    entries = {name: {"url": ours}, "far": {"url": "http://127.0.0.1:8420/mcp"}}
    path.write_text(json.dumps({"mcpServers": entries}))
    before = path.read_bytes()
    configure(tmp_path, ours.replace("localhost", "127.0.0.1"))
    assert "Cursor: not governed: far\n" in assent(tmp_path, "doctor").stdout
    done = assent(tmp_path, "init", "--client", "cursor", "--write")
    assert f"{name} is not changed: {ours} is a gateway of yours.\n" in done.stderr
    assert "Moved behind the gateway: far " in done.stderr
    moved = json.loads(path.read_text())["mcpServers"]
    assert moved.pop(name) == {"url": ours}
    [new] = moved.values()
    assert new["url"] not in (ours, "http://127.0.0.1:8420/mcp"), "the new gateway has an address of its own"
    again = assent(tmp_path, "init", "--client", "cursor", "--write")
    assert "No change is needed: every server is already governed." in again.stderr
    assert "not governed" not in assent(tmp_path, "doctor").stdout
    assert "is restored" in assent(tmp_path, "init", "--client", "cursor", "--undo").stderr
    assert path.read_bytes() == before


def test_another_server_at_the_address_of_the_users_gateway_is_not_taken_for_it(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        url = f"http://127.0.0.1:{other.getsockname()[1]}/mcp"
        place(tmp_path, "cursor").write_text(json.dumps({"mcpServers": {"other": {"url": url}}}))
        configure(tmp_path, url)
        assert "Cursor: not governed: other\n" in assent(tmp_path, "doctor").stdout
        done = assent(tmp_path, "init", "--client", "cursor", "--write")
    assert "Moved behind the gateway: other " in done.stderr


def test_an_openapi_document_is_added_with_the_address_that_calls_go_to(tmp_path: Path) -> None:
    document = {"openapi": "3.1.0", "info": {"title": "o", "version": "1"}, "servers": [{"url": "https://x.example"}]}
    operation = {"operationId": "list_orders", "responses": {"200": {"description": "ok"}}}
    (tmp_path / "orders.json").write_text(json.dumps({**document, "paths": {"/orders": {"get": operation}}}))
    refused = assent(tmp_path, "add", "orders", "orders.json")
    assert refused.returncode == 2 and "--base-url" in refused.stderr
    added = assent(tmp_path, "add", "orders", "orders.json", "--base-url", "http://127.0.0.1:9", "-c", "assent.yaml")
    assert added.returncode == 0 and "It has 1 tool: 1 read." in added.stderr, added.stderr
    held = YAML(typ="safe").load((tmp_path / "assent.yaml").read_text())["upstreams"]["orders"]
    assert held == {"openapi": "orders.json", "base_url": "http://127.0.0.1:9"}


def test_what_is_neither_an_address_nor_a_document_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("print('hello')")
    for given, said in {"server.py": "-- COMMAND", "nothing": "neither a file", "ftp://x/y": "neither a file"}.items():
        refused = assent(tmp_path, "add", "a", given)
        assert refused.returncode == 2 and said in refused.stderr and "Traceback" not in refused.stderr


def test_doctor_names_guards_that_are_stricter_now(tmp_path: Path) -> None:
    tables = "- {rule: sql_tables, dialect: postgres, block: [x]}\n"
    repositories = "- {rule: allow_repositories, repositories: [a/b], hosts: [h]}\n"
    (tmp_path / "assent.yaml").write_text(f"{STORE}mode: enforce\nguards:\n{tables}{repositories}")
    assert "since 0.3" not in assent(tmp_path, "doctor", "-c", "assent.yaml", "--offline").stdout
    make_store_of_0_2_0(tmp_path / "assent.db")
    report = assent(tmp_path, "doctor", "-c", str(tmp_path / "assent.yaml"), "--offline")
    assert "guard sql_tables: since 0.3, functions that are not known to only read are refused" in report.stdout
    assert "guard allow_repositories" not in report.stdout


def test_doctor_says_what_is_stricter_since_the_version_before(tmp_path: Path) -> None:
    contract = "{side_effect: write, dry_run: {mode: required}}"
    (tmp_path / "c.yaml").write_text(f"tools:\n  send: {contract}\n")
    (tmp_path / "api.json").write_text(
        json.dumps({"openapi": "3.1.0", "info": {"title": "a", "version": "1"}, "paths": {}})
    )
    upstreams = "upstreams: {a: {openapi: api.json, base_url: 'http://127.0.0.1:9'}}\n"
    keys = "auth: {api_keys: [{name: bot, key: assent_bot00000_secret-of-bot, kind: agent}]}\n"
    guards = "guards: [{rule: payload_size, most: 1000}]\n"
    given = f"{upstreams}{keys}{guards}contracts: [c.yaml]\nconsole: {{accounts: true}}\n"
    expected = (
        "contract that leaves category",
        "operations whose path or tag says admin or cron get no tool",
        "each serves one real call",
        "one acts on a call with more than it reads",
        "a client's yes that comes faster than reading",
        "need a sign-in of the last five minutes",
    )
    make_store_of_0_2_0(tmp_path / "assent.db")
    (tmp_path / "assent.yaml").write_text(STORE + given + "profile: mcp-first\n")
    report = assent(tmp_path, "doctor", "-c", "assent.yaml", "--offline")
    assert [one for one in expected if one not in report.stdout] == []
    (tmp_path / "assent.yaml").write_text(STORE + "console: {accounts: false}\n")
    report = assent(tmp_path, "doctor", "-c", "assent.yaml", "--offline")
    assert [one for one in expected if one in report.stdout] == []
