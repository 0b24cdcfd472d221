"""Calls of built-in tools through the one pipeline: decided, recorded, approved, and settled by the client's word."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from assent.contract.binding import CODING_AGENTS, Offered, bind
from assent.contract.files import load_written
from assent.hooks.answers import CLIENTS
from assent.hooks.calls import HookSource
from assent.hooks.process import answer_here
from support.agents.hook_events import Agent, event, write_settings

REMOVE = {"command": "rm -rf build"}


async def test_while_observing_nothing_is_asked_and_the_log_says_what_would_have_been() -> None:
    agent = Agent("store: memory://")
    assert await agent.run("Bash", REMOVE) == "none"
    entries = [one.entry for one in await agent.log()]
    assert [one.kind for one in entries] == ["intent", "outcome"]
    assert entries[0].facts["would"] == ["confirm.confirmation_required"]


async def test_where_nothing_objects_there_is_no_decision_so_the_clients_own_question_still_comes() -> None:
    agent = Agent()
    assert await agent.before("Bash", {"command": "ls"}) == ("none", "")
    assert await agent.before("Write", {"file_path": "/home/ann/project/a", "content": "x"}) == ("none", "")


async def test_allow_is_answered_only_where_the_operator_says_so_and_nothing_objects() -> None:
    agent = Agent("mode: enforce\nhooks: {allow: true}")
    assert (await agent.before("Bash", {"command": "ls"}))[0] == "allow"
    assert (await agent.before("Bash", REMOVE))[0] == "deny"
    watched = Agent("hooks: {allow: true}")
    assert (await watched.before("Bash", REMOVE))[0] == "none"


async def test_a_critical_call_is_denied_with_its_approval_and_a_yes_is_used_by_the_next_identical_call() -> None:
    agent = Agent()
    decision, reason = await agent.before("Bash", REMOVE)
    assert decision == "deny"
    assert "assent approvals approve" in reason
    assert "rm deletes" in reason
    await agent.approve(reason)
    assert (await agent.before("Bash", {"command": "rm -rf other"}))[0] == "deny"
    assert (await agent.before("Bash", REMOVE))[0] == "allow"
    await agent.after("Bash", REMOVE)
    assert (await agent.before("Bash", REMOVE))[0] == "deny"  # One yes is for one call.
    assert "outcome claude-code.Bash" in await agent.kinds()


async def test_the_clients_dialog_asks_about_a_high_call_and_its_yes_is_recorded_as_the_clients() -> None:
    agent = Agent()
    decision, reason = await agent.before("Bash", {"command": "echo $HOME"})
    assert decision == "ask"
    assert "echo $HOME" in reason
    await agent.after("Bash", {"command": "echo $HOME"}, "/home/ann")
    kinds = [kind.split()[0] for kind in await agent.kinds()]
    assert kinds == ["approval", "pause", "decision", "intent", "outcome"]
    said = next(one.entry for one in await agent.log() if one.entry.kind == "decision")
    assert said.values["client"] == "claude-code"


@pytest.mark.parametrize("mode", ["bypassPermissions", "dontAsk"])
async def test_a_mode_that_asks_no_person_gets_a_denial_instead_of_a_question(mode: str) -> None:
    agent = Agent()
    assert (await agent.before("Bash", {"command": "echo $HOME"}, permission_mode=mode))[0] == "deny"


async def test_without_a_person_at_the_client_a_question_becomes_a_denial() -> None:
    agent = Agent()
    agent.source = HookSource(headless=True)
    assert (await agent.before("Bash", {"command": "echo $HOME"}))[0] == "deny"


async def test_a_critical_call_uses_the_dialog_only_where_the_operator_says_that_a_person_answers() -> None:
    agent = Agent("mode: enforce\nauth: {stdio: {kind: agent, scopes: ['*'], asks: person}}")
    assert (await agent.before("Bash", REMOVE))[0] == "ask"
    assert (await agent.before("Bash", REMOVE, permission_mode="bypassPermissions"))[0] == "deny"
    assert (await agent.before("Bash", REMOVE, permission_mode=""))[0] == "deny"


async def test_codex_ignores_ask_so_it_gets_a_denial_with_the_approval() -> None:
    agent = Agent(client="codex")
    decision, reason = await agent.before("Bash", {"command": "echo $HOME"})
    assert (decision, "Approval: " in reason) == ("deny", True)


async def test_a_call_without_an_event_after_it_is_unknown_when_its_session_ends() -> None:
    agent = Agent()
    given = {"file_path": "/home/ann/project/a", "content": "x"}
    await agent.before("Write", given)
    await agent.send(event("SessionEnd", session_id="another"))
    assert [one.state.value for one in await agent.store.claims()] == ["started"]
    await agent.send(event("SessionEnd", reason="other"))
    assert [one.state.value for one in await agent.store.claims()] == ["in_doubt"]
    assert (await agent.log())[-1].entry.facts["state"] == "in_doubt"


async def test_a_failed_tool_is_recorded_as_failed() -> None:
    agent = Agent()
    given = {"command": "npm test"}
    await agent.before("Bash", given)
    told = {"tool_use_id": "toolu_1", "error": "Exit code 1"}
    await agent.send(event("PostToolUseFailure", "Bash", given, **told))
    assert (await agent.log())[-1].entry.facts["state"] == "failed"


async def test_a_denied_call_that_ran_anyway_is_a_violation() -> None:
    agent = Agent()
    await agent.before("Bash", REMOVE)
    await agent.after("Bash", REMOVE)
    assert (await agent.kinds())[-1] == "violation claude-code.Bash"


async def test_a_denied_read_that_ran_anyway_is_a_violation_and_one_with_a_yes_is_recorded() -> None:
    secret = {"file_path": "/home/ann/.ssh/id_rsa"}
    agent = Agent()
    assert (await agent.before("Read", secret))[0] == "deny"
    await agent.after("Read", secret)
    assert (await agent.kinds())[-1] == "violation claude-code.Read"
    answered = Agent("mode: enforce\nauth: {stdio: {kind: agent, scopes: ['*'], asks: person}}")
    assert await answered.run("Read", secret) == "ask"
    kinds = [kind.split()[0] for kind in await answered.kinds()]
    assert kinds == ["approval", "pause", "decision", "intent", "outcome"]


async def test_equal_calls_of_a_client_without_ids_are_each_recorded() -> None:
    agent = Agent("mode: enforce", "gemini")
    given = {"file_path": "a", "content": "x"}
    for _ in range(6):
        assert await agent.send(_gemini("BeforeTool", given)) == {}
        assert await agent.send(_gemini("AfterTool", given)) == {}
    assert [kind.split()[0] for kind in await agent.kinds()] == ["intent", "outcome"] * 6


async def test_two_equal_calls_at_once_without_ids_both_get_an_outcome() -> None:
    agent = Agent("mode: enforce", "gemini")
    given = {"file_path": "a", "content": "x"}
    for name in ("BeforeTool", "BeforeTool", "AfterTool", "AfterTool"):
        await agent.send(_gemini(name, given))
    assert sorted(kind.split()[0] for kind in await agent.kinds()) == ["intent", "intent", "outcome", "outcome"]


def _gemini(name: str, given: dict[str, str]) -> bytes:
    told = {"session_id": "g", "cwd": "/p", "hook_event_name": name, "tool_name": "write_file", "tool_input": given}
    return json.dumps(told | ({"tool_response": {"llmContent": "ok"}} if name == "AfterTool" else {})).encode()


async def test_the_same_event_twice_is_one_call() -> None:
    agent = Agent()
    given = {"file_path": "/home/ann/project/a", "content": "x"}
    assert (await agent.before("Write", given, tool_use_id="toolu_9"))[0] == "none"
    assert (await agent.before("Write", given, tool_use_id="toolu_9"))[0] == "none"
    assert await agent.kinds() == ["intent claude-code.Write"]


async def test_two_sessions_with_one_id_do_not_settle_each_others_calls() -> None:
    agent = Agent()
    one, two = ({"file_path": f"/home/ann/project/{name}", "content": "x"} for name in "ab")
    await agent.before("Write", one, tool_use_id="toolu_7")
    await agent.before("Write", two, tool_use_id="toolu_7")
    await agent.send(event("PostToolUse", "Write", two, tool_use_id="toolu_7", tool_response="ok"))
    states = {claim.state.value for claim in await agent.store.claims()}
    assert states == {"started", "succeeded"}


@pytest.mark.parametrize(
    ("path", "decision"),
    [
        ("/home/ann/project/src/a.py", "none"),
        ("src/a.py", "none"),
        ("/home/ann/project/../other/a.py", "ask"),
        ("/home/ann/other", "ask"),
        ("/home/ann/project/.claude/settings.json", "deny"),
        ("/home/ann/.claude/settings.local.json", "deny"),
        (".git/hooks/pre-commit", "deny"),
        ("/home/ann/.config/assent/assent.yaml", "deny"),
        (".mcp.json", "deny"),
        ("/etc/passwd", "deny"),
        ("/home/ann/.bashrc", "deny"),
    ],
)
async def test_a_write_is_judged_by_where_it_goes(path: str, decision: str) -> None:
    agent = Agent()
    for tool, name in [("Write", "file_path"), ("Edit", "file_path"), ("NotebookEdit", "notebook_path")]:
        assert (await agent.before(tool, {name: path}))[0] == decision
    assert (await agent.before("Bash", {"command": f"cp a {path}"}))[0] == decision
    assert (await agent.before("Bash", {"command": f"echo x > {path}"}))[0] == decision


async def test_the_project_stays_where_the_session_began() -> None:
    agent = Agent()
    await agent.send(event("SessionStart", source="startup"))
    assert (await agent.before("Write", {"file_path": "/srv/a"}, cwd="/srv"))[0] == "ask"


async def test_a_link_out_of_the_project_is_followed(tmp_path: Path) -> None:
    agent, project = Agent(), tmp_path / "project"
    project.mkdir()
    (project / "link").symlink_to(tmp_path)
    assert (await agent.before("Write", {"file_path": "link/a"}, cwd=str(project)))[0] == "ask"


@pytest.mark.parametrize("path", ["~/.ssh/id_ed25519", "/home/ann/.aws/credentials", ".env", "/proc/self/environ"])
async def test_reading_credentials_needs_a_person(path: str) -> None:
    agent = Agent()
    assert (await agent.before("Read", {"file_path": path}))[0] == "deny"
    assert (await agent.before("Bash", {"command": f"cat {path}"}))[0] == "deny"
    assert (await agent.before("Read", {"file_path": "README.md"}))[0] == "none"


async def test_a_contract_of_the_operator_replaces_the_shipped_one(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "tools:\n  claude-code.Bash: {side_effect: read}\n"
        "  claude-code.WebFetch: {side_effect: read, risk: forbidden}\n"
    )
    agent = Agent(f"mode: enforce\ncontracts: [{tmp_path}/own.yaml]")
    assert (await agent.before("Bash", REMOVE))[0] == "none"
    assert (await agent.before("WebFetch", {"url": "https://x.example"}))[0] == "deny"


async def test_a_contract_for_a_built_in_tool_is_no_fault_where_a_gateway_reads_it(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "tools: {claude-code.Bash: {side_effect: read}}\n"
        "sections:\n- {upstream: codex, tools: {Bash: {side_effect: destructive}}}\n"
    )
    binding = bind(load_written([tmp_path / "own.yaml"]), {"shop": Offered({"order": "order"})})
    assert (binding.faults, binding.governs) == ((), {})
    assert frozenset(CLIENTS) == CODING_AGENTS
    agent = Agent(f"mode: enforce\ncontracts: [{tmp_path}/own.yaml]", "codex")
    assert (await agent.before("Bash", {"command": "ls"}))[0] == "deny"


async def test_guards_limits_and_stop_switches_apply_to_built_in_tools() -> None:
    guarded = Agent(
        "mode: enforce\nguards: [{match: {tool: claude-code.WebFetch}, rule: allow_hosts, fields: [url],"
        " hosts: [docs.example.com]}]"
    )
    decision, reason = await guarded.before("WebFetch", {"url": "https://evil.example/x"})
    assert (decision, "allow_hosts" in reason) == ("deny", True)
    assert (await guarded.before("WebFetch", {"url": "https://docs.example.com/x"}))[0] == "none"
    limited = Agent("mode: enforce\nlimits: [{match: {tool: claude-code.Bash}, calls: 2, per: 1h}]")
    assert [await limited.run("Bash", {"command": "ls"}) for _ in range(3)] == ["none", "none", "deny"]


async def test_a_tool_that_nobody_knows_is_judged_by_its_name() -> None:
    agent = Agent()
    assert (await agent.before("mcp__shop__delete_everything", {"id": "1"}))[0] == "deny"
    assert (await agent.before("Frobnicate", {"x": 1}))[0] == "ask"
    strict = Agent("mode: enforce\nwithout_contract: withhold")
    decision, reason = await strict.before("Frobnicate", {"x": 1})
    assert (decision, "no contract" in reason) == ("deny", True)


async def test_an_error_in_assent_denies_the_call_and_says_so() -> None:
    agent = Agent()
    agent.door.ports = lambda: 1 / 0  # type: ignore[assignment, return-value]
    decision, reason = await agent.before("Bash", {"command": "ls"})
    assert (decision, "ZeroDivisionError" in reason) == ("deny", True)


def test_a_hook_that_finds_no_store_denies_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "assent.yaml"
    file.write_text("store: sqlite:////nonexistent/folder/assent.db\nmode: observe\n")
    raw = event("PreToolUse", "Bash", {"command": "ls"})
    said = json.loads(answer_here(file, "claude-code", raw))["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert "hook failed" in said["permissionDecisionReason"]
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("mode: perhaps\n")
    assert "mode" in answer_here(wrong, "claude-code", raw)
    wrong.write_text("mod: enforce\n")
    assert "Did you mean mode? The call was not judged" in answer_here(wrong, "claude-code", raw)
    assert "deny" in answer_here(tmp_path / "absent.yaml", "gemini", raw)


def test_processes_that_share_a_store_settle_each_others_calls(tmp_path: Path) -> None:
    file, given = write_settings(tmp_path), {"command": "echo $HOME"}
    before = json.loads(answer_here(file, "claude-code", event("PreToolUse", "Bash", given)))
    assert before["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert answer_here(file, "claude-code", event("PostToolUse", "Bash", given, tool_response="x")) == "{}"
    from assent.stores.sqlite import SqliteStore

    async def states() -> list[str]:
        store = SqliteStore(tmp_path / "assent.db")
        try:
            return [one.state.value for one in await store.claims()]
        finally:
            await store.close()

    assert asyncio.run(states()) == ["succeeded"]


@pytest.mark.parametrize("mode", ["offered", "required, simulated: accepted"])
async def test_a_dry_run_that_the_client_runs_is_recorded_as_the_call_that_it_was(tmp_path: Path, mode: str) -> None:
    (tmp_path / "contracts.yaml").write_text(
        f"tools:\n  claude-code.Bash: {{side_effect: write, dry_run: {{mode: {mode}}}}}\n"
    )
    observing, enforcing = (
        Agent(f"mode: {one}\ncontracts: [{tmp_path}/contracts.yaml]") for one in ("observe", "enforce")
    )
    assert await observing.run("Bash", REMOVE | {"dryRun": True}) == "none"
    assert [kind.split()[0] for kind in await observing.kinds()] == ["intent", "outcome"]
    await enforcing.after("Bash", REMOVE | {"dryRun": True})
    assert "rehearsal claude-code.Bash" not in await enforcing.kinds()


@pytest.mark.parametrize(
    ("field", "more", "code", "why"),
    [
        ("dry_run: {mode: offered}", {"dryRun": True}, "rehearse.failed", "Call it without the dry run"),
        (
            "dry_run: {mode: offered}, input: {type: object, properties: {dryRun: {type: boolean}}}",
            {"dryRun": True},
            "rehearse.failed",
            "Call it without the dry run",
        ),
        (
            "dry_run: {mode: offered}, visibility: locked, permissions: [shell]",
            {"dryRun": True},
            "rehearse.failed",
            "Call it without the dry run",
        ),
        (
            "dry_run: {mode: required, simulated: accepted}",
            {"dryRun": True},
            "rehearse.failed",
            "has no dry run here: the client would run it. Nothing has run. Do not repeat it.",
        ),
        ("dry_run: {mode: required}", {}, "rehearse.dry_run_required", "can remove `dry_run` from its contract"),
        (
            "estimate: {tool: price, amount: /price}",
            {},
            "rehearse.estimate_failed",
            "can remove `estimate` from the contract",
        ),
    ],
)
async def test_a_call_that_only_the_tool_could_answer_beforehand_is_denied_and_recorded_so(
    tmp_path: Path, field: str, more: dict[str, bool], code: str, why: str
) -> None:
    (tmp_path / "contracts.yaml").write_text(f"tools:\n  claude-code.Bash: {{side_effect: destructive, {field}}}\n")
    caller = "auth: {stdio: {kind: agent, scopes: []}}"
    agent = Agent(f"mode: enforce\ncontracts: [{tmp_path}/contracts.yaml]\n{caller}")
    decision, reason = await agent.before("Bash", REMOVE | more)
    assert (decision, why in reason) == ("deny", True), reason
    (entry,) = [one.entry for one in await agent.log()]
    assert (entry.kind, entry.facts["code"], entry.facts.get("dry_run", False)) == ("denial", code, bool(more))


async def test_a_denied_dry_run_is_not_the_dry_run_that_a_contract_requires(tmp_path: Path) -> None:
    rule = "dry_run: {mode: required, simulated: accepted}"
    (tmp_path / "contracts.yaml").write_text(f"tools:\n  claude-code.Bash: {{side_effect: destructive, {rule}}}\n")
    agent = Agent(f"mode: enforce\ncontracts: [{tmp_path}/contracts.yaml]")
    assert (await agent.before("Bash", REMOVE | {"dryRun": True}))[0] == "deny"
    assert (await agent.before("Bash", REMOVE))[0] == "deny"
    assert [one.entry.facts["code"] for one in await agent.log()] == ["rehearse.failed", "rehearse.dry_run_required"]


async def test_a_call_of_a_tool_without_a_contract_is_recorded_as_denied() -> None:
    agent = Agent("mode: enforce\nwithout_contract: withhold")
    assert (await agent.before("mcp__shop__order", {"item": "chair"}))[0] == "deny"
    (entry,) = [one.entry for one in await agent.log()]
    assert (entry.kind, entry.facts["code"]) == ("denial", "discover.unknown_tool")
    assert entry.values["tool"] == "claude-code.mcp__shop__order"


async def test_a_denied_call_of_a_tool_without_a_contract_that_ran_anyway_is_a_violation() -> None:
    agent = Agent("mode: enforce\nwithout_contract: withhold")
    assert (await agent.before("Nightly", {"a": 1}))[0] == "deny"
    await agent.after("Nightly", {"a": 1})
    entry = (await agent.log())[-1].entry
    assert (entry.kind, entry.facts["code"]) == ("violation", "discover.unknown_tool")
    assert entry.values == {"tool": "claude-code.Nightly", "failure": "it ran without a yes"}
