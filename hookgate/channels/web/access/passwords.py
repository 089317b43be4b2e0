"""Passwords as argon2 hashes. Knows no user and no request."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

MEMORY_KIB = 19 * 1024


def hashed(password: str, memory_kib: int = MEMORY_KIB) -> str:
    return PasswordHasher(time_cost=2, memory_cost=memory_kib, parallelism=1).hash(password)


def is_right(known: str, password: str) -> bool:
    """Takes some 25 ms of a core, by design: for a thread."""
    try:
        return PasswordHasher().verify(known, password)
    except (VerificationError, InvalidHashError):
        return False
