"""What variables say to hookgate, and which of them a child process gets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from hookgate.config.errors import MissingKey
from hookgate.sections.agent import ProviderSection
from hookgate.sections.hooks import HookSection
from hookgate.sections.tools import McpSection
from hookgate.sections.zot import ZotExtension

BASE_ENVIRONMENT = (
    *("PATH", "HOME", "LANG", "TMPDIR", "TERM", "COLORTERM"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
)
"""All that a child process gets unless the configuration lists more: secrets do not leak by default. Addresses of
proxies and of package sources may have a password in them, so they are not among these."""

RPC_TOKEN = "ZOTCORE_RPC_TOKEN"  # noqa: S105 - the variable, not the token
_FOR_HOOKGATE_ALONE = frozenset(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "KIMI_API_KEY", RPC_TOKEN))


def secret(name: str, place: str, otherwise: str = "") -> str | None:
    """The value of the variable that a key at `place` names, without the line's end that files of keys have; None
    without a name. Raises MissingKey where it is not set, saying what to type, or what to do `otherwise`."""
    if not name:
        return None
    value = os.environ.get(name, "").strip()
    if not value:
        raise MissingKey(f"{place}: {name} is not set: `export {name}=...`{otherwise}")
    return value


def api_key(provider: str, section: ProviderSection) -> str | None:
    """None for a provider that needs none. Raises MissingKey where it is not set."""
    otherwise = ", or choose a model of another provider (agent.model)"
    return secret(section.api_key_env, f"providers.{provider}.api_key_env", otherwise)


def git_environment() -> dict[str, str]:
    """What `git clone` starts from: all that is not for models, for ssh agents, proxies and credential helpers."""
    return {name: value for name, value in os.environ.items() if name not in _FOR_HOOKGATE_ALONE}


def pager() -> tuple[list[str], dict[str, str]]:
    """The words of `$PAGER`, else of less; on a dumb terminal none are usual. And what it starts from: as git, and
    without a way to start others."""
    import shlex

    try:
        words = shlex.split(os.environ.get("PAGER", ""))
    except ValueError:
        words = list[str]()
    if not words and terminal_type() != "dumb":
        words = ["less"]
    return words, {**git_environment(), "LESSSECURE": "1"}


def rpc_token() -> str:
    """What a client must say at first where it is set: see `hookgate rpc`."""
    return os.environ.get(RPC_TOKEN, "")


def watched_by() -> tuple[str, float]:
    """The service manager's socket, and every how many seconds it wants to hear; empty and 0 where there is none."""
    return os.environ.get("NOTIFY_SOCKET", ""), int(os.environ.get("WATCHDOG_USEC") or 0) / 1e6


def base_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in BASE_ENVIRONMENT if name in os.environ}


def hook_environment(section: HookSection) -> dict[str, str]:
    """What a hook process sees: the base set, or everything, and then what its section lists."""
    inherited = dict(os.environ) if section.inherit_env else base_environment()
    passed = {name: os.environ[name] for name in section.env_pass if name in os.environ}
    return {**inherited, **passed, **section.env}


def server_environment(section: McpSection) -> dict[str, str]:
    """What an MCP server over stdio sees: the base set and what its section lists."""
    passed = {name: os.environ[name] for name in section.env_pass if name in os.environ}
    return {**base_environment(), **passed, **section.env}


def extension_variables(section: ZotExtension) -> dict[str, str]:
    """What an extension sees beside the base set: what its section passes and lists."""
    passed = {name: os.environ[name] for name in section.env_pass if name in os.environ}
    return {**passed, **section.env}


def withheld(names: Iterable[str], environment: Mapping[str, str]) -> frozenset[str]:
    """Those of these variables (a star at the end for any end) that are set here, and that a process with this
    environment does not see; without the token of `hookgate rpc`, which nothing hands on."""
    wanted = frozenset(names)
    begun = tuple(it.removesuffix("*") for it in wanted if it.endswith("*"))
    unseen = os.environ.keys() - environment.keys() - {RPC_TOKEN}
    return frozenset(it for it in unseen if it in wanted or it.startswith(begun))


def named_secrets(names: Iterable[str]) -> tuple[str, ...]:
    """The values of these environment variables, where they are set: what redaction must know literally."""
    return tuple(value for name in names if (value := os.environ.get(name, "").strip()))


def terminal_type() -> str:
    """What the terminal is, as its database of them has it; `dumb` where nobody says."""
    return os.environ.get("TERM") or "dumb"


def folds_anew() -> bool:
    """Whether the terminal folds what stands on it anew as its width changes; a few cut it there instead."""
    cuts = ("XTERM_VERSION", "STY")
    return "TMUX" in os.environ or not (any(map(os.environ.get, cuts)) or terminal_type() == "linux")


def wants_colour() -> bool:
    """Whether the person has not said otherwise, as https://no-color.org has it."""
    return not os.environ.get("NO_COLOR")
