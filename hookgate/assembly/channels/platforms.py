"""Channels of chat platforms, opened: what each is told of its section, and where its secrets come from."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from hookgate import config as configuration
from hookgate.assembly.channels.desk import Desk
from hookgate.sections.gateway import ChannelSection

if TYPE_CHECKING:
    from hookgate.channels.http.server import App
    from hookgate.channels.platforms.channel import PlatformChannel
    from hookgate.channels.platforms.parts import PlatformParts


@dataclass(frozen=True)
class OpenPlatform:
    """`endpoints`: by path, where the platform brings what happens."""

    channel: PlatformChannel
    endpoints: Mapping[str, App] = field(default_factory=dict[str, "App"])


async def _open_telegram(stack: AsyncExitStack, name: str, section: ChannelSection, desk: Desk) -> OpenPlatform:
    from hookgate.channels.telegram.opening import open_telegram
    from hookgate.channels.telegram.settings import API_URL, TelegramSettings

    token = configuration.secret(section.token_env, f"channels.{name}.token_env") or ""
    mode = "webhook" if section.mode == "webhook" else "poll"
    told = (mode, section.origin, section.base_url or API_URL, section.group == "all")
    settings = TelegramSettings(name, token, section.token_env, *told)
    telegram = await stack.enter_async_context(open_telegram(settings, _parts(name, desk)))
    return OpenPlatform(telegram.channel, {settings.path: telegram.webhook} if telegram.webhook else {})


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
    return OpenPlatform(slack.channel, {settings.path: slack.webhook} if slack.webhook else {})


async def _open_discord(stack: AsyncExitStack, name: str, section: ChannelSection, desk: Desk) -> OpenPlatform:
    from hookgate.channels.discord.opening import open_discord
    from hookgate.channels.discord.settings import API_URL, DiscordSettings

    token = configuration.secret(section.token_env, f"channels.{name}.token_env") or ""
    url = f"{section.base_url}/api/v10" if section.base_url else API_URL
    settings = DiscordSettings(name, token, section.token_env, url, section.group == "all")
    return OpenPlatform(await stack.enter_async_context(open_discord(settings, _parts(name, desk))))


def _parts(name: str, desk: Desk) -> PlatformParts:
    from hookgate.channels.platforms.parts import PlatformParts

    asked = (desk.ready, desk.policies.doors.hears, desk.receive, desk.decide, partial(desk.commands, name))
    return PlatformParts(*asked, desk.journal, desk.media)


Opening = Callable[[AsyncExitStack, str, ChannelSection, Desk], Awaitable[OpenPlatform]]
PLATFORMS: Mapping[str, Opening] = {
    "telegram": _open_telegram,
    "slack": _open_slack,
    "discord": _open_discord,
}
"""By the kind of its section."""
