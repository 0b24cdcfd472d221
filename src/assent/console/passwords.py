"""Passwords, kept as Argon2id hashes."""

from __future__ import annotations

import asyncio
from functools import lru_cache

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

SHORTEST = 12
LONGEST = 256
_HASHER = PasswordHasher()
_AT_ONCE = 2
_turns: dict[asyncio.AbstractEventLoop, asyncio.Semaphore] = {}


def password_fault(password: str, account: str) -> str | None:
    """Why a password is not good enough, as a sentence; None if it is."""
    if not SHORTEST <= len(password) <= LONGEST:
        return f"A password has {SHORTEST} to {LONGEST} characters."
    if account.casefold() in password.casefold() or len(set(password)) < 5:
        return "This password is too easy to guess: it repeats itself or holds the account's name."
    return None


async def hash_password(password: str) -> str:
    async with _turn():
        return await asyncio.to_thread(_HASHER.hash, password)


async def password_matches(password: str, kept: str | None) -> bool:
    """Whether this is the password. Without a kept one the same work is done, so that the time tells nothing."""
    async with _turn():
        right = await asyncio.to_thread(_verify, password[: LONGEST + 1], kept or _nobodys_hash())
    return right and kept is not None


def _verify(password: str, kept: str) -> bool:
    try:
        return _HASHER.verify(kept, password)
    except (Argon2Error, InvalidHashError):
        return False


@lru_cache(1)
def _nobodys_hash() -> str:
    return _HASHER.hash("a password that nobody has")


def _turn() -> asyncio.Semaphore:
    """Two at once: each takes 64 MiB, and anybody can ask for one."""
    loop = asyncio.get_running_loop()
    for ended in [one for one in _turns if one.is_closed()]:
        del _turns[ended]
    return _turns.setdefault(loop, asyncio.Semaphore(_AT_ONCE))
