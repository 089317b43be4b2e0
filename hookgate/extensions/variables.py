"""Which variables of the environment an extension's code mentions by name, and which the program that starts it
reads. Reads its sources, and starts nothing."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

from hookgate.extensions.mentions import mentioned
from hookgate.protocol.dataclasses import dataclass

SUFFIXES = (".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".go")
MAX_FILES, MAX_FILE_BYTES, MAX_BYTES, MAX_DEPTH = 500, 1 << 20, 4 << 20, 8
OTHERS_CODE = frozenset(("node_modules", "vendor", "site-packages", "__pycache__"))
"""Folders whose code is not the extension's own; what begins with a dot is none either."""

_PROXIES = tuple(
    word for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY") for word in (name, name.lower())
)
_GO = (
    *("GOCACHE", "GOENV", "GOFLAGS", "GOINSECURE", "GOMODCACHE", "GONOPROXY", "GONOSUMDB", "GOPATH", "GOPRIVATE"),
    *("GOPROXY", "GOSUMDB", "GOTOOLCHAIN"),
)
_NPM = ("npm_config_*", "NPM_CONFIG_*")
_TOOLCHAINS: Mapping[str, tuple[str, ...]] = {
    "go": _GO,
    **dict.fromkeys(("npm", "npx", "bun"), _NPM),
    "node": ("NODE_OPTIONS", "NODE_PATH", "NODE_USE_ENV_PROXY"),
    "deno": ("DENO_*", *_NPM),
    **dict.fromkeys(("uv", "uvx"), ("UV_*",)),
    "pip": ("PIP_*",),
    "cargo": ("CARGO_HOME", "CARGO_HTTP_*", "CARGO_NET_*"),
}


def toolchain(program: str) -> tuple[str, ...]:
    """What the program of this name fetches and builds by, a star for any end; nothing of one that does neither."""
    own = _TOOLCHAINS.get(program)
    return () if own is None else (*_PROXIES, *own)


@dataclass(frozen=True, slots=True)
class Sources:
    """`digest`: SHA-256, in hex, of all that was looked through."""

    digest: str
    variables: frozenset[str]


def look_through(directory: Path) -> Sources:
    """The extension's own code, as far as the bounds go; what cannot be read is passed over."""
    whole, found, left = sha256(), set[str](), MAX_BYTES
    for number, file in enumerate(_files(directory)):
        if number >= MAX_FILES or left <= 0:
            break
        text = _text(file)
        left -= len(text)
        for part in (os.fsencode(file.relative_to(directory)), text):
            whole.update(b"%d:" % len(part) + part)
        found |= mentioned(text.decode("utf-8", "replace"))
    return Sources(whole.hexdigest(), frozenset(found))


def _files(directory: Path) -> Iterator[Path]:
    """Always in the same order; links are not followed."""
    for here, folders, names in os.walk(directory):
        deep = len(Path(here).relative_to(directory).parts) >= MAX_DEPTH
        folders[:] = [] if deep else sorted(it for it in folders if it not in OTHERS_CODE and not it.startswith("."))
        yield from (Path(here, name) for name in sorted(names) if name.endswith(SUFFIXES))


def _text(file: Path) -> bytes:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with open(descriptor, "rb") as opened:
        try:
            return opened.read(MAX_FILE_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
        except OSError:
            return b""
