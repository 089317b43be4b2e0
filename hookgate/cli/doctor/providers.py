"""Who answers: keys (never their values), endpoints on this machine, and, when asked for, one tiny call each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from ipaddress import ip_address
from urllib.parse import urlsplit

import trio

from hookgate import config as configuration
from hookgate.assembly.journals import journal_place
from hookgate.assembly.providers import open_provider
from hookgate.cli.doctor.finding import Examined, Finding, broken, failing, note, ok
from hookgate.config import ConfigError
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.errors import ProviderFailed
from hookgate.protocol.interfaces import Provider
from hookgate.protocol.journal.keys import Key
from hookgate.protocol.values import LLMRequest, Message
from hookgate.sections import Config
from hookgate.sections.agent import ProviderSection
from hookgate.sections.gateway import KEYED
from hookgate.store.places import is_there, open_look_at

CONNECT_S = 5.0
CALL_S = 60.0
QUESTION = "Say ok."
UNASKED = ", and nothing here asks for it"


async def keys(it: Examined) -> list[Finding]:
    return [*_keys(it.config), *await trio.to_thread.run_sync(lambda: list(_shown_keys(it.config)))]


def _keys(config: Config) -> Iterator[Finding]:
    for name, section in config.providers.items():
        needed = name == agents_provider(config)
        if section.api_key_env:
            chooses = not config.agent.model and section.api_key_env in configuration.choosing_keys(config)
            without = ": once it is, this provider's usual model answers" if chooses else UNASKED
            yield _key(f"provider {name}", section.api_key_env, needed=needed, without="" if needed else without)
        elif section.kind != "scripted" and not _is_near(section.base_url):
            yield note(f"provider {name}", "it has no api_key_env: it is asked without a key")
    for name, server in config.mcp.servers.items():
        if server.token_env:
            yield _key(
                f"MCP server {name}",
                server.token_env,
                needed=server.enabled,
                without="" if server.enabled else UNASKED,
            )
    for name, channel in config.channels.items():
        for variable in channel.variables.values():
            yield _key(f"channel {name}", variable, needed=True)


def _shown_keys(config: Config) -> Iterator[Finding]:
    """What programs can show, and whether there is anything that it opens."""
    try:
        held = _stored_keys(config)
    except StoreFailed as error:
        yield broken("keys of programs", str(error))
        return
    for name, channel in config.channels.items():
        if channel.kind in KEYED and not any(key.channel == name for key in held):
            yield note(f"channel {name}", "nobody has a key for it", f"hookgate keys add NAME --channel {name}")
    for key in held:
        if key.channel not in config.keyed:
            remedy = f"hookgate keys revoke {key.name} --channel {key.channel}"
            yield note(f"key {key.channel}:{key.name}", "nothing of that name takes keys", remedy)


def _stored_keys(config: Config) -> tuple[Key, ...]:
    """Raises StoreFailed."""
    from hookgate.store.journal.keys import read_keys

    file = journal_place(config)
    if not is_there(file):
        return ()
    with open_look_at(file) as tables:
        return read_keys(tables)


def _key(subject: str, variable: str, *, needed: bool, without: str = "") -> Finding:
    if not configuration.named_secrets((variable,)):
        return failing(subject, f"{variable} is not set{without}", f"export {variable}=...", needed=needed)
    return ok(subject, f"{variable} is set")


async def providers(it: Examined) -> list[Finding]:
    config = it.config
    findings: list[Finding] = []
    if it.file is not None and not config.agent.model:
        exports = "".join(f"export {key}=..., or " for key in configuration.choosing_keys(config))
        remedy = f'{exports}model = "PROVIDER/MODEL" in [agent]'
        findings.append(broken("agent", "it has no model: no chat starts", remedy))
    for name, section in config.providers.items():
        findings.append(await _provider(it, name, section))
    return findings


async def _provider(it: Examined, name: str, section: ProviderSection) -> Finding:
    needed = name == agents_provider(it.config)
    if section.kind != "scripted" and _is_near(section.base_url) and (problem := await _unheard(section.base_url)):
        remedy = f"start what should answer there, or mend base_url in [providers.{name}]"
        return failing(name, f"{section.base_url}: {problem}", remedy, needed=needed)
    try:
        async with AsyncExitStack() as stack:
            provider = await open_provider(stack, name, section, it.base)
            return await _asked(it, name, provider) if it.online else _unasked(name, section)
    except ConfigError as error:
        # A key that is not set has its own line.
        return failing(name, str(error), needed=needed) if section.kind == "scripted" else _unasked(name, section)


def _unasked(name: str, section: ProviderSection) -> Finding:
    match section.kind:
        case "scripted":
            return ok(name, f"{section.script} can be read")
        case kind:
            where = section.base_url or f"the usual endpoint of {kind}"
            near = "it listens; not asked" if _is_near(section.base_url) else "not asked"
            return ok(name, f"{where}: {near} (--online asks)")


async def _asked(it: Examined, name: str, provider: Provider) -> Finding:
    model = _model(it.config, name)
    if not model:
        return note(name, "not asked: neither [agent] nor [models] names a model of it")
    request = LLMRequest(model, (Message("user", QUESTION),), (), it.config.agent.request_options)
    try:
        with trio.fail_after(CALL_S):
            await provider.complete(request, lambda _text: None)
    except ProviderFailed as error:
        return broken(name, f"{model}: {error.reason}")
    except trio.TooSlowError:
        return broken(name, f"{model}: no answer within {CALL_S:g} s")
    return ok(name, f"{model} answers")


def agents_provider(config: Config) -> str:
    return config.agent.model.partition("/")[0]


def _model(config: Config, provider: str) -> str:
    """The name of one that can be asked; empty where none is named."""
    named = (model.partition("/") for model in (config.agent.model, *config.models))
    return next((model for of, _, model in named if of == provider), "")


def _is_near(url: str) -> bool:
    """Whether it is on this machine, so that to knock costs nobody anything."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


async def _unheard(url: str) -> str:
    """Why nobody can be heard there; empty where somebody listens."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with trio.fail_after(CONNECT_S):
            stream = await trio.open_tcp_stream(parts.hostname or "", port)
    except trio.TooSlowError:
        return f"no connection within {CONNECT_S:g} s"
    except OSError:
        return f"nothing listens on port {port}"
    await stream.aclose()
    return ""
