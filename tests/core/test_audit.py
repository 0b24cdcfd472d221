"""An entry's facts name nobody and repeat nothing; who and what stand beside them."""

from __future__ import annotations

import json

from assent.core.audit import call_facts, call_values, principal_values, unknown_tool_values
from assent.core.principal import Principal
from support.decisions.calls import call_of

AGENT = Principal("agent-canary", "agent", tenant="tenant-canary", mode="test")
CALL = call_of({"to": "argument-canary"}, name="mail.send", audit_event="mail.sent", by=AGENT, key="key-canary")


def test_facts_say_what_was_promised_and_name_nobody() -> None:
    facts = call_facts(CALL)
    assert facts == {
        "tool": "mail.send",
        "upstream": "up",
        "tier": "write",
        "risk": "medium",
        "event": "mail.sent",
        "contract": CALL.tool.contract.digest,
        "mode": "test",
        "open_world": True,
    }
    assert "canary" not in json.dumps(facts)


def test_a_rehearsal_says_so() -> None:
    assert call_facts(CALL._replace(dry_run=True))["dry_run"] is True


def test_values_say_who_and_with_which_arguments() -> None:
    assert call_values(CALL) == {
        "principal": "agent-canary",
        "kind": "agent",
        "tenant": "tenant-canary",
        "arguments": b'{"to":"argument-canary"}',
        "call": CALL.digest,
    }


def test_the_chain_of_actors_is_kept() -> None:
    assert principal_values(Principal("ann", "human", actors=(AGENT,)))["actors"] == ["agent-canary"]


def test_a_request_that_never_became_a_call_leaves_a_bounded_trace() -> None:
    assert unknown_tool_values("x" * 10_000) == {"tool": "x" * 128}
