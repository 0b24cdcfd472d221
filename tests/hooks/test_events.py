"""Events of coding agents are read into one form, in the shapes that the clients' own programs sent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assent.hooks.answers import CLIENTS, after_tool, before_tool, failure
from assent.hooks.events import MOST_EVENT, HookEvent, UnreadableEvent, read_event

_CLAUDE = {"session_id": "b4b9399a", "transcript_path": "/t.jsonl", "cwd": "/p", "permission_mode": "default"}
_COPILOT = {"sessionId": "efe82183", "timestamp": 1795006855503, "cwd": "/p"}
_OPENCODE = {"version": 1, "session": "ses_1", "cwd": "/p"}
_CURSOR = {"conversation_id": "c1", "generation_id": "g1", "workspace_roots": ["/p"], "cursor_version": "3.0.1"}

RECORDED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "claude-code",
        {**_CLAUDE, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"},
         "tool_use_id": "toolu_1", "effort": {"level": "high"}},
        {"kind": "before", "session": "b4b9399a", "tool": "Bash", "input": {"command": "ls"}, "call": "toolu_1",
         "mode": "default", "cwd": "/p"},
    ),
    (
        "claude-code",
        {**_CLAUDE, "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"},
         "tool_response": {"stdout": "a.txt", "stderr": "", "interrupted": False}, "tool_use_id": "toolu_1"},
        {"kind": "after", "result": {"content": [{"type": "text", "text": "a.txt\n"}]}},
    ),
    (
        "claude-code",
        {**_CLAUDE, "hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "false"},
         "error": "Exit code 1", "is_interrupt": False, "tool_use_id": "toolu_3"},
        {"kind": "after", "result": {"content": [{"type": "text", "text": "Exit code 1"}], "isError": True}},
    ),
    ("claude-code", {**_CLAUDE, "hook_event_name": "UserPromptSubmit", "prompt": "do it"},
     {"kind": "prompt", "prompt": "do it"}),
    ("claude-code", {**_CLAUDE, "hook_event_name": "SessionStart", "source": "startup"}, {"kind": "start"}),
    ("claude-code", {**_CLAUDE, "hook_event_name": "SessionEnd", "reason": "other"}, {"kind": "end"}),
    ("claude-code", {**_CLAUDE, "hook_event_name": "Notification"}, {"kind": "other"}),
    (
        "codex",
        {**_CLAUDE, "turn_id": "t", "permission_mode": "bypassPermissions", "hook_event_name": "PreToolUse",
         "tool_name": "mcp__files__read_text_file", "tool_input": {"path": "/p/a"}, "tool_use_id": "call_4"},
        {"kind": "before", "server": "files", "tool": "mcp__files__read_text_file", "mode": "bypassPermissions"},
    ),
    (
        "codex",
        {**_CLAUDE, "hook_event_name": "PostToolUse", "tool_name": "mcp__files__read_text_file", "tool_input": {},
         "tool_response": {"content": [{"type": "text", "text": "hi"}], "structuredContent": {"content": "hi"}}},
        {"kind": "after",
         "result": {"content": [{"type": "text", "text": "hi"}], "structuredContent": {"content": "hi"}}},
    ),
    (
        "gemini",
        {"session_id": "d2", "cwd": "/p", "hook_event_name": "BeforeTool", "timestamp": "2026-11-18T13:00:15Z",
         "tool_name": "mcp_files_read", "tool_input": {"path": "/p/a"},
         "mcp_context": {"server_name": "files", "tool_name": "read", "command": "/b/assent", "args": ["wrap", "--"]}},
        {"kind": "before", "server": "files", "command": ("/b/assent", "wrap", "--")},
    ),
    ("gemini", {"session_id": "d2", "cwd": "/p", "hook_event_name": "BeforeAgent", "prompt": "do it"},
     {"kind": "prompt", "prompt": "do it"}),
    (
        "gemini",
        {"session_id": "d2", "cwd": "/p", "hook_event_name": "AfterTool", "tool_name": "read_file", "tool_input": {},
         "tool_response": {"llmContent": "hello", "returnDisplay": "", "error": {"message": "no"}}},
        {"kind": "after", "result": {"content": [{"type": "text", "text": "hello\n\nno"}], "isError": True}},
    ),
    ("copilot", {**_COPILOT, "toolName": "bash", "toolArgs": {"command": "ls"}},
     {"kind": "before", "tool": "bash", "input": {"command": "ls"}}),
    ("copilot", {**_COPILOT, "toolName": "bash", "toolArgs": '{"command": "ls"}'}, {"input": {"command": "ls"}}),
    (
        "copilot",
        {**_COPILOT, "toolName": "files-read", "toolArgs": {},
         "toolResult": {"resultType": "failure", "textResultForLlm": "no"}},
        {"kind": "after", "server": "files",
         "result": {"content": [{"type": "text", "text": "failure\nno"}], "isError": True}},
    ),
    ("copilot", {**_COPILOT, "source": "new", "initialPrompt": "do it"}, {"kind": "start"}),
    ("copilot", {**_COPILOT, "prompt": "do it"}, {"kind": "prompt", "prompt": "do it"}),
    ("copilot", {**_COPILOT, "reason": "complete"}, {"kind": "end"}),
    ("copilot", {**_COPILOT, "hookName": "permissionRequest", "toolName": "bash", "toolInput": {},
                 "permissionSuggestions": []}, {"kind": "other"}),
    ("opencode", {**_OPENCODE, "event": "before", "tool": "bash", "call": "c", "input": {"command": "ls"}},
     {"kind": "before", "tool": "bash", "call": "c", "session": "ses_1"}),
    ("opencode", {**_OPENCODE, "event": "after", "tool": "bash", "call": "c", "input": {}, "result": "x"},
     {"kind": "after", "result": {"content": [{"type": "text", "text": "x"}]}}),
    ("cursor", {**_CURSOR, "hook_event_name": "beforeShellExecution", "command": "ls", "cwd": "/p"},
     {"kind": "before", "tool": "Shell", "input": {"command": "ls"}, "session": "c1"}),
    ("cursor", {**_CURSOR, "hook_event_name": "beforeMCPExecution", "tool_name": "post", "tool_input": '{"a": 1}'},
     {"kind": "before", "tool": "post", "input": {"a": 1}, "server": "mcp", "cwd": "/p"}),
    ("cursor", {**_CURSOR, "hook_event_name": "beforeSubmitPrompt", "prompt": "do it"}, {"prompt": "do it"}),
]  # fmt: skip


@pytest.mark.parametrize(("client", "given", "expected"), RECORDED)
def test_a_recorded_event_is_read(client: str, given: dict[str, Any], expected: dict[str, Any]) -> None:
    event = read_event(client, json.dumps(given).encode())
    assert isinstance(event, HookEvent)
    assert {name: getattr(event, name) for name in expected} == expected


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "empty"),
        (b"nope", "JSON"),
        (b"[]", "not an object"),
        (b"{}", "unknown|version|session"),
        (b'{"hook_event_name": 7, "version": 1, "sessionId": 7}', "not a text|session|does not know"),
        (b"\xff\xfe{}", "JSON"),
        (b" " * (MOST_EVENT + 1), "larger"),
    ],
)
def test_what_cannot_be_read_says_why(client: str, raw: bytes, why: str) -> None:
    with pytest.raises(UnreadableEvent, match=why):
        read_event(client, raw)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"session_id": None}, "names no session"),
        ({"session_id": ""}, "names no session"),
        ({"session_id": "x" * 300}, "longer than"),
        ({"tool_name": ""}, "names no tool"),
        ({"tool_input": ["ls"]}, "not an object"),
        ({"tool_name": {"a": 1}}, "not a text"),
        ({"hook_event_name": "BeforeToolUse"}, "not an event that Assent knows"),
    ],
)
def test_an_event_with_a_wrong_member_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(UnreadableEvent, match=why):
        read_event("claude-code", json.dumps({**RECORDED[0][1], **change}).encode())


def test_members_that_two_parsers_read_differently_are_refused_before_a_tool_but_not_in_a_result() -> None:
    twice = b'{"session_id": "s", "hook_event_name": "%s", "tool_name": "Bash", "tool_input": {"a": 1, "a": 2}}'
    with pytest.raises(UnreadableEvent, match="JSON"):
        read_event("claude-code", twice % b"PreToolUse")
    assert read_event("claude-code", twice % b"PostToolUse").kind == "after"


def test_an_unknown_version_of_the_plugin_is_refused() -> None:
    with pytest.raises(UnreadableEvent, match=r"version 2.*init --client opencode --hooks"):
        read_event("opencode", json.dumps({**_OPENCODE, "version": 2, "event": "before", "tool": "bash"}).encode())


DENIALS = {
    "claude-code": ("hookSpecificOutput", "permissionDecision"),
    "codex": ("hookSpecificOutput", "permissionDecision"),
    "gemini": ("decision",),
    "copilot": ("permissionDecision",),
    "opencode": ("decision",),
    "cursor": ("permission",),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_gets_a_denial_in_its_own_form(client: str) -> None:
    answer = json.loads(failure(client, "the store is gone"))
    assert "the store is gone" in json.dumps(answer)
    for member in DENIALS[client]:
        answer = answer[member]
    assert answer == "deny"


@pytest.mark.parametrize("client", CLIENTS)
def test_no_decision_is_an_empty_answer(client: str) -> None:
    assert json.loads(before_tool(client, "none")) == {}
    assert json.loads(after_tool(client, "")) == {}


def test_codex_is_never_told_to_allow_because_it_takes_that_for_an_error() -> None:
    assert json.loads(before_tool("codex", "allow", "approved")) == {}
