"""What the feed says of entries about authentication."""

from __future__ import annotations

import pytest

from assent.audit.sentences import _no_call


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"event": "authentication.failed", "count": 3}, "Failed sign-ins: 3"),
        ({"event": "console.signed_in", "channel": "link"}, "Signed in to the console"),
        ({"event": "console.stepped_up"}, "Authenticated again in the console"),
        ({"event": "passkey.added"}, "Added a passkey"),
    ],
)
def test_a_sign_in_that_succeeded_is_not_called_failed(facts: dict[str, object], sentence: str) -> None:
    assert _no_call("authentication", facts) == sentence
