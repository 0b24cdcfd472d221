"""Guessing passwords at the console."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from statistics import median

from support.console_browser import browser, signed_in
from support.console_people import PASSWORD, code, enrol, make_account, sign_in
from support.gateways import gateway


async def test_the_sixth_guess_is_not_looked_at_even_if_it_is_right(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        async with browser(url) as person, browser(url) as thief:
            secret = await enrol(person, await make_account(admin, "bob"))
            for _ in range(5):
                assert (await sign_in(thief, "bob", "a wrong password", "000000")).status_code == 403
            assert (await sign_in(thief, "bob", PASSWORD, code(secret, 1))).status_code == 429


async def test_guesses_at_the_same_moment_are_counted_too(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, _), browser(url) as thief:
        tries = [sign_in(thief, "bob", "a wrong password", "000000") for _ in range(12)]
        said = [answer.status_code for answer in await asyncio.gather(*tries)]
        assert said.count(403) <= 5 and said.count(403) + said.count(429) == 12


async def test_an_account_that_does_not_exist_answers_alike(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), signed_in(url, app.store, id="root") as admin:
        async with browser(url) as person, browser(url) as thief:
            await enrol(person, await make_account(admin, "bob"))
            await sign_in(thief, "warm-up", "a wrong password", "000000")
            pages, times = {}, {}
            for name in ("bob", "nobody"):
                taken = []
                for _ in range(4):
                    began = time.perf_counter()
                    answer = await sign_in(thief, name, "a wrong password", "000000")
                    taken.append(time.perf_counter() - began)
                pages[name], times[name] = (answer.status_code, answer.text), median(taken)
            assert pages["bob"] == pages["nobody"]
            assert times["nobody"] > times["bob"] / 3


async def test_failures_are_counted_in_the_log_without_the_password(tmp_path: Path) -> None:
    async with gateway(tmp_path, {}) as (url, app), browser(url) as thief:
        await sign_in(thief, "bob", "a wrong password", "000000")
        app.authenticator.failed_auth.write()
        await app.store.flush()
        found = [one.entry for one in await app.store.entries() if one.entry.kind == "authentication"]
        assert found[0].values["codes"] == {"console.password": 1}
        assert "a wrong password" not in repr(found)
