"""The channels of a configuration, opened, and what people see there. The only place that knows both."""

from __future__ import annotations

import secrets
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import trio

from hookgate import config as configuration
from hookgate.approvals.people import People
from hookgate.approvals.requests import Approvals
from hookgate.assembly.hooks.opening import people
from hookgate.assembly.logs.sinks import observer
from hookgate.hooks.rules import Mount
from hookgate.loop.doors.door import Door, Quota
from hookgate.loop.doors.doors import STRANGER, Doors
from hookgate.loop.doors.guests import Guests
from hookgate.loop.doors.pairing import OPERATOR_ROLE
from hookgate.loop.gateway import Gateway
from hookgate.protocol.approval import Decision, Outcome, Voter
from hookgate.protocol.channel import ChannelPolicy
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.interfaces import Channel, Redactor
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import NOWHERE, Accepted, StoredRequest, Upstream
from hookgate.protocol.media import MediaStore
from hookgate.sections import Config
from hookgate.sections.gateway import ChannelSection

if TYPE_CHECKING:
    from hookgate.channels.platforms.parts import PlatformParts
    from hookgate.channels.web.channel import WebChannel
    from hookgate.channels.web.server import App

TOKEN = "token"  # noqa: S105 - where it is kept


class Policies:
    """What people see in a channel, called with its name, and `doors`, who is heard there. One that the
    configuration does not have is this program's own."""

    def __init__(self, config: Config) -> None:
        self.doors = Doors()
        self.adopt(config, People(people(config)))

    def adopt(self, config: Config, known: People) -> None:
        """What people see from now on, and who they are."""
        self._own = ChannelPolicy(show_denials=config.agent.show_denials)
        self._policies = {name: _policy(section) for name, section in config.channels.items()}
        self.doors.adopt({name: _door(section) for name, section in config.channels.items()}, known)

    def __call__(self, channel: str) -> ChannelPolicy:
        return self._policies.get(channel, self._own)

    def refuses(self, channel: str, user: str) -> str:
        """Why somebody is not heard there, as a line; empty: they are."""
        return "" if self.doors.lists(Voter(channel, user)) else STRANGER

    def operates(self, channel: str, user: str) -> bool:
        return self.doors.people.has_role(Voter(channel, user), OPERATOR_ROLE)


def _policy(section: ChannelSection) -> ChannelPolicy:
    return ChannelPolicy(section.busy, section.show_tools, section.show_denials, section.show_errors)


def _door(section: ChannelSection) -> Door:
    """The page has logins of its own: whoever has one is heard there, unless it names some of them."""
    everybody = section.kind == "web" and not section.allow
    quota = Quota(*section.quota) if section.quota else None
    return Door(section.allow, everybody, section.pairing, section.group, quota)


def approvers(config: Config) -> dict[str, tuple[str, ...]]:
    """By channel, who alone may approve its calls."""
    return {name: section.approvers for name, section in config.channels.items() if section.approvers}


def connect_guests(guests: Guests, desk: Desk) -> None:
    """Whoever is let in, or put out, is so at once."""

    def known(people: People) -> None:
        desk.approvals.adopt(desk.approvals.rules, people)
        desk.policies.doors.know(people)

    guests.tell = known
    known(guests.people)


@dataclass(frozen=True)
class Page:
    """`app` answers its requests; `channel` is told when they can come. `origin`: how people reach it, empty: by any
    other address. `token`: one that hookgate has made, for whoever has started it."""

    app: App
    channel: WebChannel
    origin: str
    token: str = ""


@dataclass(frozen=True)
class OpenChannels:
    """By name. `mounts`: channels that hear of what happens. `webhooks`: by path what answers platforms."""

    channels: dict[str, Channel] = field(default_factory=dict[str, Channel])
    pages: dict[str, Page] = field(default_factory=dict[str, Page])
    mounts: list[Mount] = field(default_factory=list[Mount])
    webhooks: dict[str, App] = field(default_factory=dict[str, "App"])


class Desk:
    """What channels ask of the gateway. They are opened before it, since they hear what hooks hear; it is there when
    anybody can ask."""

    gateway: Gateway
    approvals: Approvals

    def __init__(self, journal: Journal, redactor: Redactor, media: MediaStore, policies: Policies) -> None:
        self.journal, self.redactor, self.media, self.policies = journal, redactor, media, policies
        self._open = trio.Event()

    def open(self, gateway: Gateway, approvals: Approvals) -> None:
        self.gateway, self.approvals = gateway, approvals
        self._open.set()

    async def ready(self) -> None:
        """Until there is a gateway to ask."""
        await self._open.wait()

    async def receive(self, inbound: Inbound, upstream: Upstream = NOWHERE) -> Accepted:
        return await self.gateway.receive(inbound, upstream)

    async def turn_away(self, inbound: Inbound) -> None:
        await self.gateway.turn_away(inbound)

    def commands(self, channel: str) -> tuple[tuple[str, str], ...]:
        """What can be invoked there: names and helps."""
        return tuple((it.name, it.row[1]) for it in self.gateway.commands.listed(Chat(channel, "")))

    async def decide(self, request: str, decision: Decision, voter: Voter) -> Outcome:
        return await self.approvals.decide(request, decision, voter)

    def may(self, request: StoredRequest, voter: Voter) -> bool:
        return self.approvals.may(request, voter)

    def agent(self, chat: Chat) -> str:
        return self.gateway.agent_of(chat).name

    async def forget(self, chat: Chat) -> None:
        await self.gateway.forget(chat)


async def open_channels(stack: AsyncExitStack, config: Config, desk: Desk) -> OpenChannels:
    """All that are configured. Raises ConfigError and StoreFailed."""
    opened = OpenChannels()
    for name, section in config.channels.items():
        match section.kind:
            case "web":
                await _open_web(stack, name, section, desk, opened)
            case "telegram":
                await _open_telegram(stack, name, section, desk, opened)
            case "slack":
                await _open_slack(stack, name, section, desk, opened)
            case "discord":
                await _open_discord(stack, name, section, desk, opened)
    return opened


async def _open_web(
    stack: AsyncExitStack, name: str, section: ChannelSection, desk: Desk, opened: OpenChannels
) -> None:
    from hookgate.channels.web.opening import open_web
    from hookgate.channels.web.settings import WebParts, WebSettings

    made = "" if section.token_env or section.users else await _own_token(name, desk.journal)
    token = configuration.secret(section.token_env, f"channels.{name}.token_env") or made
    settings = WebSettings(name, token, section.users, section.origin, section.show_tools, section.show_trace)
    asked = (desk.receive, desk.decide, desk.may, desk.agent, desk.forget)
    doors = (partial(desk.policies.refuses, name), desk.turn_away, partial(desk.policies.operates, name))
    parts = WebParts(*asked, desk.journal, desk.media, desk.redactor, *doors)
    web = await stack.enter_async_context(open_web(settings, parts))
    desk.policies.doors.changed.append(web.channel.shut_out)
    opened.channels[name] = web.channel
    opened.pages[name] = Page(web.app, web.channel, section.origin, made)
    opened.mounts.append(observer(f"channel {name}", web.channel.observed, web.channel.hear))


async def _open_telegram(
    stack: AsyncExitStack, name: str, section: ChannelSection, desk: Desk, opened: OpenChannels
) -> None:
    from hookgate.channels.platforms.typing import OBSERVED
    from hookgate.channels.telegram.opening import open_telegram
    from hookgate.channels.telegram.settings import API_URL, TelegramSettings

    token = configuration.secret(section.token_env, f"channels.{name}.token_env") or ""
    mode = "webhook" if section.mode == "webhook" else "poll"
    told = (mode, section.origin, section.base_url or API_URL, section.group == "all")
    settings = TelegramSettings(name, token, section.token_env, *told)
    telegram = await stack.enter_async_context(open_telegram(settings, _platform_parts(name, desk)))
    opened.channels[name] = telegram.channel
    opened.mounts.append(observer(f"channel {name}", OBSERVED, telegram.channel.hear))
    if telegram.webhook is not None:
        opened.webhooks[settings.path] = telegram.webhook


async def _open_slack(
    stack: AsyncExitStack, name: str, section: ChannelSection, desk: Desk, opened: OpenChannels
) -> None:
    from hookgate.channels.platforms.typing import OBSERVED
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
    slack = await stack.enter_async_context(open_slack(settings, _platform_parts(name, desk)))
    opened.channels[name] = slack.channel
    opened.mounts.append(observer(f"channel {name}", OBSERVED, slack.channel.hear))
    if slack.webhook is not None:
        opened.webhooks[settings.path] = slack.webhook


async def _open_discord(
    stack: AsyncExitStack, name: str, section: ChannelSection, desk: Desk, opened: OpenChannels
) -> None:
    from hookgate.channels.discord.opening import open_discord
    from hookgate.channels.discord.settings import API_URL, DiscordSettings
    from hookgate.channels.platforms.typing import OBSERVED

    token = configuration.secret(section.token_env, f"channels.{name}.token_env") or ""
    url = f"{section.base_url}/api/v10" if section.base_url else API_URL
    settings = DiscordSettings(name, token, section.token_env, url, section.group == "all")
    channel = await stack.enter_async_context(open_discord(settings, _platform_parts(name, desk)))
    opened.channels[name] = channel
    opened.mounts.append(observer(f"channel {name}", OBSERVED, channel.hear))


def _platform_parts(name: str, desk: Desk) -> PlatformParts:
    from hookgate.channels.platforms.parts import PlatformParts

    asked = (desk.ready, desk.policies.doors.hears, desk.receive, desk.decide, partial(desk.commands, name))
    return PlatformParts(*asked, desk.journal, desk.media)


async def _own_token(channel: str, journal: Journal) -> str:
    """The same one at each start."""
    token = await journal.holds.state(channel, TOKEN)
    if not token:
        token = secrets.token_urlsafe(24)
        await journal.holds.keep_state(channel, TOKEN, token)
    return token
