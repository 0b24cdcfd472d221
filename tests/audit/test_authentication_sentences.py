"""What the feed says of entries about authentication, operators and definitions, and of tools behind a prefix."""

from __future__ import annotations

import pytest

from assent.audit.sentences import _no_call, sentence


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"event": "authentication.failed", "count": 3}, "Failed sign-ins: 3"),
        ({"event": "console.signed_in", "channel": "link"}, "Signed in to the console"),
        ({"event": "console.stepped_up"}, "Authenticated again in the console"),
        ({"event": "passkey.added"}, "Added a passkey"),
        ({"event": "oauth.granted"}, "Gave an application access"),
    ],
)
def test_a_sign_in_that_succeeded_is_not_called_failed(facts: dict[str, object], sentence: str) -> None:
    assert _no_call("authentication", facts) == sentence


@pytest.mark.parametrize(
    ("kind", "facts", "said"),
    [
        ("configuration", {"event": "configuration.started"}, "The gateway started"),
        ("operator", {"event": "key.created", "key": "assent_1a"}, "Made the key assent_1a"),
        ("operator", {"event": "stop.set", "action": "tool"}, "Pulled a stop switch"),
        ("operator", {"action": "account.disable"}, "Closed an account"),
        (
            "definition",
            {"event": "definition.changed", "upstream": "shop", "tool": "track"},
            "The definition of track changed at shop",
        ),
        ("event", {"event": "key.created"}, "Recorded by the tool: key.created"),
    ],
)
def test_an_entry_about_no_call_is_a_sentence(kind: str, facts: dict[str, object], said: str) -> None:
    assert sentence(kind, facts, None, None) == said


def test_the_prefix_that_the_gateway_puts_before_a_tool_is_no_part_of_the_sentence() -> None:
    facts = {"tool": "files_write_file", "upstream": "files", "state": "succeeded"}
    assert sentence("outcome", facts, None, None) == "Wrote file"
    assert sentence("approval", facts, None, None) == "Asked to write file"
    assert sentence("approval", {"tool": "files_write_file"}, None, None) == "Asked to write file files"
