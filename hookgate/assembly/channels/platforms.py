"""Channels of chat platforms and of programs, opened: what each is told of its section, and where its secrets come
from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from hookgate import config as configuration
from hookgate.assembly.channels.desk import Desk
from hookgate.config import ConfigError
from hookgate.protocol.dataclasses import dataclass
from hookgate.sections.gateway import ChannelSection, WebhookEvent

if TYPE_CHECKING:
    from hookgate.channels.http.server import App
    from hookgate.channels.platforms.channel import PlatformChannel
    from hookgate.channels.platforms.parts import PlatformParts
    from hookgate.protocol.events.event import Event
    from hookgate.protocol.interfaces import Channel


@dataclass(frozen=True)
class OpenPlatform:
    """`hear` wants the events that `observed` names. `endpoints`: by path, where the platform brings what happens."""

    channel: Channel
    observed: tuple[str, ...]
    hear: Callable[[Event], None]
    endpoints: Mapping[str, App] = field(default_factory=dict[str, "App"])


async def _open_telegram(stack: AsyncExitStack, name: str, section: ChannelSection, desk: Desk) -> OpenPlatform:
    from hookgate.channels.telegram.opening import open_telegram
    from hookgate.channels.telegram.settings import API_URL, TelegramSettings

    token = configuration.secret(section.token_env, f"channels.{name}.token_env") or ""
    mode = "webhook" if section.mode == "webhook" else "poll"
    told = (mode, section.origin, section.base_url or API_URL, section.group == "all")
    settings = TelegramSettings(name, token, section.token_env, *told)
    telegram = await stack.enter_async_context(open_telegram(settings, _parts(name, desk)))
    return _platform(telegram.channel, {settings.path: telegram.webhook} if telegram.webhook else {})


async def _open_slack(stack: AsyncExitStack, name: str, section: ChannelSection, desk: Desk) -> OpenPlatform:
    from hookgate.channels.slack.opening import open_slack
    from hookgate.channels.slack.settings import API_URL, Secret, SlackSettings

    by_webhook = section.mode == "webhook"
    mode, key = ("webhook", "signing_secret_env") if by_webhook else ("socket", "app_token_env")
    token, other = (
        Secret(configuration.secret(variable, f"channels.{name}.{named}") or "", variable)
        for named, variable in (
            ("token_env", section.token_env),
            (key, section.signing_secret_env if by_webhook else section.app_token_env),
        )
    )
    settings = SlackSettings(name, token, other, mode, section.base_url or API_URL, section.bots)
    slack = await stack.enter_async_context(open_slack(settings, _parts(name, desk)))
    return _platform(slack.channel, {settings.path: slack.webhook} if slack.webhook else {})


async def _open_discord(stack: AsyncExitStack, name: str, section: ChannelSection, desk: Desk) -> OpenPlatform:
    from hookgate.channels.discord.opening import open_discord
    from hookgate.channels.discord.settings import API_URL, DiscordSettings

    token = configuration.secret(section.token_env, f"channels.{name}.token_env") or ""
    url = f"{section.base_url}/api/v10" if section.base_url else API_URL
    shards = 0 if section.shards == "auto" else section.shards
    settings = DiscordSettings(name, token, section.token_env, url, section.group == "all", shards)
    return _platform(await stack.enter_async_context(open_discord(settings, _parts(name, desk))), {})


def _platform(channel: PlatformChannel[Any], endpoints: Mapping[str, App]) -> OpenPlatform:
    from hookgate.channels.platforms.typing import OBSERVED

    return OpenPlatform(channel, OBSERVED, channel.hear, endpoints)


async def _open_webhook(stack: AsyncExitStack, name: str, section: ChannelSection, desk: Desk) -> OpenPlatform:
    from hookgate.channels.webhook.opening import open_webhook
    from hookgate.channels.webhook.settings import Rules, WebhookParts, WebhookSettings
    from hookgate.channels.webhook.signing import BadSecret, read_secret

    def secrets(key: str, variables: Iterable[str]) -> tuple[bytes, ...]:
        try:
            return tuple(read_secret(configuration.secret(it, f"channels.{name}.{key}") or "") for it in variables)
        except BadSecret as error:
            raise ConfigError(f"channels.{name}.{key}: {error}") from None

    def now() -> ChannelSection:
        # One that the file has no more is there until the next start.
        return desk.policies.sections.get(name, section)

    incoming, outgoing = secrets("secret_env", section.secret_env), ()
    if section.url:
        outgoing = secrets("url_secret_env", section.url_secrets)
    settings = WebhookSettings(name, section.origin, incoming, section.url, outgoing, section.allow_private)
    asked = (desk.ready, desk.policies.doors.shuts_out, desk.receive, desk.turn_away, desk.agent)
    live = (lambda: Rules(now().text_from, now().chat_from), lambda: now().events)
    parts = WebhookParts(*asked, *live, desk.journal, desk.media)
    webhook = await stack.enter_async_context(open_webhook(settings, parts))
    endpoints = {settings.path: webhook.endpoint} if webhook.endpoint else {}
    return OpenPlatform(webhook.channel, get_args(WebhookEvent), webhook.telling.hear, endpoints)


def _parts(name: str, desk: Desk) -> PlatformParts:
    from hookgate.channels.platforms.parts import PlatformParts

    asked = (desk.ready, desk.policies.doors.hears, desk.receive, desk.decide, partial(desk.commands, name))
    return PlatformParts(*asked, desk.journal, desk.media)


Opening = Callable[[AsyncExitStack, str, ChannelSection, Desk], Awaitable[OpenPlatform]]
PLATFORMS: Mapping[str, Opening] = {
    "telegram": _open_telegram,
    "slack": _open_slack,
    "discord": _open_discord,
    "webhook": _open_webhook,
}
"""By the kind of its section."""
