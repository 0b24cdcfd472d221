"""The guard `secrets` finds a password or key behind its name and leaves ordinary texts alone."""

from __future__ import annotations

import pytest

from assent.rules.guards import build_guard
from assent.rules.guards.context import NO_CONTEXT
from assent.rules.guards.evaluate import objection_to
from assent.rules.guards.masking import mask_result

RULE = build_guard({"rule": "secrets"})
MASK = build_guard({"rule": "secrets", "action": "mask"})
FOUND = [
    "DB_PASSWORD=hunter2",
    "export DB_PASSWORD='hunter2!'",
    "PGPASSWORD=s3cret psql",
    "MYSQL_PWD=hunter2",
    "pwd=hunter2",
    "Server=db;Uid=sa;Pwd=hunter2;",
    "Server=db;User Id=sa;Password=hunter2;Trusted=no",
    "db.password: hunter2",
    "db-password: hunter2",
    "dbPassword: 'hunter2'",
    "spring.datasource.password=hunter2",
    "DB_PASS=hunter2",
    "smtp_pass: hunter2",
    "dbPwd = hunter2",
    "PASSWORD_PROD=hunter2",
    '"passwd" : "hunter2"',
    '{"password": "hunter2"}'[1:-1],
    "{'password': 'hunter2'}"[1:-1],
    'password => "hunter2"',
    'password := "hunter2"',
    "<password>hunter2</password>",
    '<add key="x" password="hunter2"/>',
    "--password hunter2",
    "--password=hunter2",
    "mysql --db-password 'hunter2'",
    "machine h login ann password hunter2",
    "CREATE ROLE ann PASSWORD 'hunter2'",
    "ALTER USER ann IDENTIFIED BY 'hunter2'",
    "passphrase: correct-horse",
    "Passwort: hunter2",
    "password: correcthorse",
    '\\"password\\": \\"hunter2\\"',
    "Authorization: Basic YW5uOmh1bnRlcjI=",
    "authorization: basic YW5uOmh1bnRlcjI",
    "curl -H 'Authorization: Basic YW5uOmh1bnRlcjI='",
    "curl -u ann:hunter2 https://h",
    "curl --user 'ann:hunter2' https://h",
    "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "SECRET_KEY_BASE=3f786850e387550fdab8",
    "api_key: 7f3a9c1e22",
    "X-Api-Key: 7f3a9c1e22bb",
    "apiToken=7f3a9c1e22bb",
    "accessToken: '7f3a9c1e22bb'",
    "client_secret=7f3a9c1e22bb",
    "ENCRYPTION_KEY=7f3a9c1e22bb",
    "SharedAccessKey=7f3a9c1e22bb=",
    "Authorization: Token token=7f3a9c1e22bb",
    "--token 7f3a9c1e22bb",
    "session-key: 7f3a9c1e22bb",
    "TOKEN_2=7f3a9c1e22bb",
]
HONEST = [
    "the password is long",
    "Password: must contain at least 8 characters",
    "password: required",
    "password: string",
    "Password (optional):",
    "password: ********",
    "password: <your password>",
    "DB_PASSWORD=${DB_PASSWORD}",
    "DB_PASSWORD=$DB_PASSWORD",
    "password={{ password }}",
    "password: null, token: none",
    "password = getpass.getpass()",
    "password = request.form['password']",
    "password=args.password",
    "def login(user: str, password: str) -> None:",
    "PWD=/home/ann",
    "OLDPWD=/srv",
    "pwd; ls",
    "password reset required",
    "Forgot your password? Click here.",
    '"forgot_password": "Forgot your password?"',
    "passed: 12, failed: 3",
    "pass: 3",
    "bypass=true",
    "compass: north-west",
    "token bucket: 10 per second",
    "tokens: 4096",
    "max_tokens=128000",
    "token_type: bearer",
    "token: string",
    "secret: true",
    "The secret: work every day.",
    "key: value",
    "primary key: id",
    "api_key: YOUR_API_KEY",
    "api_key=your-api-key-here",
    "api key: see the settings page",
    "Authorization: Basic realm=x",
    "basic training for beginners",
    "BASIC programming language",
    "Basic authentication is used.",
    "git push -u origin main",
    "docker run -u 1000:1000 image",
    "password_hash: bcrypt",
    "Your token expires: 2026-01-31",
    "secret_file: /run/secrets/db",
    "token: 1234567",
    "passport: C01X00T47",
    "passenger: Ann-Marie 2",
]


@pytest.mark.parametrize("text", FOUND)
def test_a_named_secret_is_found_and_masked(text: str) -> None:
    for whole in (text, f"Here it is:\n{text}\nThanks.", f"x {text}"):
        assert objection_to(RULE, {"text": whole}, NO_CONTEXT) is not None, whole
    masked, count = mask_result(MASK, {"content": [{"type": "text", "text": text}]})
    assert count >= 1
    shown = masked["content"][0]["text"]
    assert not any(
        secret in shown for secret in ("hunter2", "7f3a9c1e22", "YW5uOmh1bnRlcjI", "s3cret", "3f786850e3875")
    )


@pytest.mark.parametrize("text", HONEST)
def test_ordinary_texts_are_left_alone(text: str) -> None:
    for whole in (text, f"Note: {text}\nBye."):
        assert objection_to(RULE, {"text": whole}, NO_CONTEXT) is None, whole


@pytest.mark.parametrize("name", ["password", "DB_PASSWORD", "dbPwd", "client_secret", "apiToken", "X-Api-Key"])
def test_a_member_of_an_object_is_masked_by_its_name(name: str) -> None:
    for value in ({name: "7f3a9c1e22"}, {"env": [{"deep": {name: "7f3a9c1e22"}}]}):
        masked, count = mask_result(MASK, {"structuredContent": value})
        assert count == 1
        assert "7f3a9c1e22" not in str(masked)


@pytest.mark.parametrize(
    "value", [{"password": None}, {"token_type": "bearer"}, {"key": "value"}, {"password": "string"}]
)
def test_an_ordinary_member_stays(value: dict[str, object]) -> None:
    assert mask_result(MASK, {"structuredContent": value})[1] == 0


NAMED = [
    {"env": {"DB_PASSWORD": "hunter2!"}},
    {"password": "hunter2!"},
    {"config": {"nested": [{"apiToken": "abc12345XY"}]}},
    {"vars": [{"name": "DB_PASSWORD", "value": "hunter2!"}]},
    {"headers": [{"key": "X-Api-Key", "value": "0123456789abcdef"}]},
    {"headers": {"x-access-token": "abc12345XY"}},
    {"url": "redis://:hunter2!@cache"},
]
NOT_NAMED = [
    {"pageToken": "CAUQAA1234abcd"},
    {"next_page_token": "CAUQAA1234abcd"},
    {"key": "orders-1234"},
    {"password": "${DB_PASSWORD}"},
    {"token": None},
    {"name": "DB_PASSWORD"},
    {"keyboard": "qwertz-105"},
]


@pytest.mark.parametrize("given", NAMED, ids=str)
def test_a_secret_is_found_by_the_name_of_its_member(given: dict[str, object]) -> None:
    assert objection_to(RULE, given, NO_CONTEXT) is not None
    masked, count = mask_result(MASK, {"structuredContent": given})
    assert count == 1
    assert not any(secret in str(masked) for secret in ("hunter2", "abc12345XY", "0123456789abcdef"))


@pytest.mark.parametrize("given", NOT_NAMED, ids=str)
def test_what_only_sounds_like_a_secret_passes(given: dict[str, object]) -> None:
    assert objection_to(RULE, given, NO_CONTEXT) is None
    assert mask_result(MASK, {"structuredContent": given})[1] == 0
