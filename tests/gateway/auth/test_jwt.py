"""Tokens are believed for one issuer, one audience and the pinned algorithms, and for no longer than they say."""

from __future__ import annotations

import asyncio
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from assent.config.callers import JwtSettings
from assent.core.outcome import Refusal
from assent.gateway.auth.jwt import MOST_CACHED, JwtVerifier
from assent.testing import Clock

ISSUER = JwtSettings(
    issuer="https://id.example.com", audience="https://mcp.example.com/mcp", jwks_url="https://id.example.com/jwks"
)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
OTHER_KEY = ec.generate_private_key(ec.SECP256R1())
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def jwk(kid: str, key: Any) -> dict[str, Any]:
    algorithm = ECAlgorithm if isinstance(key, ec.EllipticCurvePrivateKey) else RSAAlgorithm
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "use": "sig"}


class Keys:
    """The issuer's key set, counting how often it is fetched."""

    def __init__(self, *keys: dict[str, Any]) -> None:
        self.document: Any = {"keys": list(keys)}
        self.fetched: list[str] = []

    async def __call__(self, url: str) -> Any:
        self.fetched.append(url)
        if isinstance(self.document, Exception):
            raise self.document
        return self.document


def signed(clock: Clock, key: Any = EC_KEY, algorithm: str = "ES256", kid: str = "k1", **claims: Any) -> str:
    body = {"iss": ISSUER.issuer, "aud": ISSUER.audience, "sub": "ann", "exp": int(clock.at) + 600, **claims}
    body = {name: value for name, value in body.items() if value is not None}
    return jwt.encode(body, key, algorithm=algorithm, headers={"kid": kid})


async def refused(tokens: JwtVerifier, token: str) -> str:
    with pytest.raises(Refusal) as refusal:
        await tokens.principal(token)
    return refusal.value.code


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.mark.parametrize(
    ("issuer", "claims", "mode"),
    [
        (ISSUER, {}, "live"),
        (ISSUER, {"mode": "test"}, "test"),
        (ISSUER, {"mode": "live"}, "live"),
        (ISSUER, {"env": "test"}, "live"),
        (ISSUER.model_copy(update={"mode": "test"}), {}, "test"),
        (ISSUER.model_copy(update={"mode_claim": "env"}), {"env": "test", "mode": "online"}, "test"),
    ],
)
async def test_a_token_says_whether_its_caller_is_in_test_mode(
    clock: Clock, issuer: JwtSettings, claims: dict[str, Any], mode: str
) -> None:
    tokens = JwtVerifier(issuer, Keys(jwk("k1", EC_KEY)), clock)
    assert (await tokens.principal(signed(clock, **claims))).mode == mode


@pytest.mark.parametrize("mode", ["Test", "", "sandbox", True, ["test"]])
async def test_a_token_of_an_unknown_mode_is_refused_and_not_taken_for_live(clock: Clock, mode: Any) -> None:
    assert await refused(JwtVerifier(ISSUER, Keys(jwk("k1", EC_KEY)), clock), signed(clock, mode=mode)) == (
        "authenticate.invalid"
    )


async def test_a_good_token_names_its_subject_scopes_and_chain(clock: Clock) -> None:
    tokens = JwtVerifier(ISSUER, Keys(jwk("k1", EC_KEY)), clock)
    found = await tokens.principal(
        signed(
            clock,
            scope="orders:read orders:write",
            acr="mfa",
            auth_time=int(clock.at) - 5,
            tenant="acme",
            roles=["approver"],
            kind="human",
            act={"sub": "assistant"},
        )
    )
    assert found.id == "https://id.example.com|ann"
    assert (found.kind, found.tenant, found.acr, found.auth_time) == ("human", "acme", "mfa", clock.at - 5)
    assert found.scopes == {"orders:read", "orders:write"}
    assert found.roles == {"approver"}
    assert [(actor.id, actor.kind) for actor in found.actors] == [("https://id.example.com|assistant", "agent")]
    assert found.has_agent
    assert found.bearer


async def test_whoever_comes_while_the_keys_are_fetched_waits_for_them(clock: Clock) -> None:
    keys, fetching, go = Keys(jwk("k1", EC_KEY)), asyncio.Event(), asyncio.Event()

    async def fetch(url: str) -> Any:
        fetching.set()
        await go.wait()
        return await keys(url)

    tokens = JwtVerifier(ISSUER, fetch, clock)
    first = asyncio.create_task(tokens.principal(signed(clock)))
    await fetching.wait()
    second = asyncio.create_task(tokens.principal(signed(clock, sub="bob")))
    stranger = asyncio.create_task(refused(tokens, signed(clock, kid="unknown")))
    await asyncio.sleep(0)
    go.set()
    assert [(await one).id[-3:] for one in (first, second)] == ["ann", "bob"]
    assert await stranger == "authenticate.invalid"
    assert len(keys.fetched) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"iss": "https://evil.example.com"},
        {"aud": "https://other.example.com/mcp"},
        {"sub": None},
        {"exp": None},
        {"exp": "tomorrow"},
        {"nbf": 4_000_000_000},
        {"key": OTHER_KEY},
        {"kid": "unknown"},
    ],
    ids=["iss", "aud", "sub", "no exp", "exp", "nbf", "key", "kid"],
)
async def test_a_token_that_differs_in_anything_that_is_pinned_is_not_believed(
    clock: Clock, change: dict[str, Any]
) -> None:
    tokens = JwtVerifier(ISSUER, Keys(jwk("k1", EC_KEY)), clock)
    assert await refused(tokens, signed(clock, **change)) == "authenticate.invalid"


async def test_a_token_is_over_when_it_says_so_also_if_it_was_believed_a_moment_ago(clock: Clock) -> None:
    tokens = JwtVerifier(ISSUER, Keys(jwk("k1", EC_KEY)), clock)
    token = signed(clock, exp=int(clock.at) + 10)
    assert (await tokens.principal(token)).id.endswith("ann")
    clock.advance(41)
    assert await refused(tokens, token) == "authenticate.invalid"


async def test_unsigned_and_symmetric_tokens_are_never_believed(clock: Clock) -> None:
    tokens = JwtVerifier(ISSUER, Keys(jwk("k1", RSA_KEY)), clock)
    body = {"iss": ISSUER.issuer, "aud": ISSUER.audience, "sub": "ann", "exp": int(clock.at) + 600}
    for token in (
        jwt.encode(body, "", algorithm="none", headers={"kid": "k1"}),
        jwt.encode(body, "a public key is no secret, however long", algorithm="HS256", headers={"kid": "k1"}),
        "not.a.token",
        "",
        "a" * 20_000,
    ):
        assert await refused(tokens, token) == "authenticate.invalid"


async def test_a_key_is_used_for_its_own_algorithm_only(clock: Clock) -> None:
    both = ISSUER.model_copy(update={"algorithms": ("RS256", "PS256")})
    keys = Keys({**jwk("k1", RSA_KEY), "alg": "RS256"})
    tokens = JwtVerifier(both, keys, clock)
    assert (await tokens.principal(signed(clock, RSA_KEY, "RS256"))).id.endswith("ann")
    assert await refused(tokens, signed(clock, RSA_KEY, "PS256")) == "authenticate.invalid"


async def test_the_key_set_is_fetched_once_and_again_for_an_unknown_key_but_not_in_a_hurry(clock: Clock) -> None:
    keys = Keys(jwk("k1", EC_KEY))
    tokens = JwtVerifier(ISSUER, keys, clock)
    for number in range(5):
        await tokens.principal(signed(clock, jti=str(number)))
    assert len(keys.fetched) == 1
    keys.document = {"keys": [jwk("k2", OTHER_KEY)]}
    for _ in range(50):
        assert await refused(tokens, signed(clock, OTHER_KEY, kid="k2")) == "authenticate.invalid"
    assert len(keys.fetched) == 1, "strangers cannot make us hammer the issuer"
    clock.advance(31)
    assert (await tokens.principal(signed(clock, OTHER_KEY, kid="k2"))).id.endswith("ann")
    assert len(keys.fetched) == 2


async def test_a_key_set_that_cannot_be_fetched_believes_nobody_new_and_keeps_what_it_had(clock: Clock) -> None:
    keys = Keys(jwk("k1", EC_KEY))
    keys.document = OSError("down")
    tokens = JwtVerifier(ISSUER, keys, clock)
    assert await refused(tokens, signed(clock)) == "authenticate.provider_down"
    keys.document = {"keys": [jwk("k1", EC_KEY)]}
    assert await refused(tokens, signed(clock)) == "authenticate.provider_down"
    clock.advance(6)
    await tokens.principal(signed(clock))
    keys.document = {"keys": "garbage"}
    clock.advance(3601)
    await tokens.principal(signed(clock, jti="later"))


async def test_metadata_of_another_issuer_does_not_lead_us_to_its_keys(clock: Clock) -> None:
    keys = Keys()
    keys.document = {"issuer": "https://evil.example.com", "jwks_uri": "https://evil.example.com/jwks"}
    tokens = JwtVerifier(ISSUER.model_copy(update={"jwks_url": None}), keys, clock)
    assert await refused(tokens, signed(clock)) == "authenticate.invalid"
    assert keys.fetched == ["https://id.example.com/.well-known/openid-configuration"]


async def test_what_is_remembered_is_bounded(clock: Clock) -> None:
    tokens = JwtVerifier(ISSUER, Keys(jwk("k1", EC_KEY)), clock)
    principal = await tokens.principal(signed(clock))
    for number in range(MOST_CACHED + 10):
        tokens._verified[number.to_bytes(32, "big")] = clock.at + 60, principal
    assert len(tokens._verified) == MOST_CACHED


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1.evil.example/jwks", "http://localhost@evil.example/jwks", "http://[/"]
)
async def test_keys_are_not_fetched_in_the_clear_from_another_machine(clock: Clock, url: str) -> None:
    keys = Keys()
    keys.document = {"issuer": ISSUER.issuer, "jwks_uri": url}
    tokens = JwtVerifier(ISSUER.model_copy(update={"jwks_url": None}), keys, clock)
    assert await refused(tokens, signed(clock)) == "authenticate.invalid"
    assert keys.fetched == ["https://id.example.com/.well-known/openid-configuration"]


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": 10**400},
        {"exp": float("inf")},
        {"nbf": 10**400},
        {"nbf": True},
        {"act": "bot"},
        {"act": [{"sub": "bot"}]},
        {"act": {"sub": "a", "act": 7}},
        {"tenant": {"a": 1}},
        {"tenant": ["acme"]},
    ],
    ids=lambda claims: repr(claims)[:40],
)
async def test_a_claim_that_cannot_be_read_is_never_left_out_of_account(claims: dict[str, Any], clock: Clock) -> None:
    tokens = JwtVerifier(ISSUER, Keys(jwk("k1", EC_KEY)), clock)
    assert await refused(tokens, signed(clock, **claims)) == "authenticate.invalid"


async def test_a_chain_too_long_to_be_read_is_refused_since_an_agent_may_stand_at_its_end(clock: Clock) -> None:
    chain: dict[str, Any] = {"sub": "bot"}
    for number in range(10):
        chain = {"sub": f"service-{number}", "kind": "service", "act": chain}
    tokens = JwtVerifier(ISSUER, Keys(jwk("k1", EC_KEY)), clock)
    assert await refused(tokens, signed(clock, kind="human", act=chain)) == "authenticate.invalid"


async def test_an_absurd_time_of_login_is_no_time_of_login(clock: Clock) -> None:
    tokens = JwtVerifier(ISSUER, Keys(jwk("k1", EC_KEY)), clock)
    assert (await tokens.principal(signed(clock, auth_time=10**400))).auth_time is None


async def test_an_odd_key_in_a_set_does_not_take_the_others_away(clock: Clock) -> None:
    tokens = JwtVerifier(ISSUER, Keys({"kid": "k0", "kty": ["EC"]}, jwk("k1", EC_KEY)), clock)
    assert (await tokens.principal(signed(clock))).id.endswith("ann")
