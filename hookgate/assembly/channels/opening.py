"""The channels of a configuration, opened. The only place that knows both."""

from __future__ import annotations

import secrets
from contextlib import AsyncExitStack
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

from hookgate import config as configuration
from hookgate.assembly.channels.desk import Desk
from hookgate.assembly.channels.platforms import PLATFORMS
from hookgate.assembly.logs.sinks import observer
from hookgate.channels.live.channel import open_live
from hookgate.channels.live.listening import Listener
from hookgate.channels.programs import ProgramChannel
from hookgate.hooks.rules import Mount
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.journal.interfaces import Journal
from hookgate.sections import Config
from hookgate.sections.gateway import ChannelSection

if TYPE_CHECKING:
    from hookgate.channels.http.server import App
    from hookgate.channels.web.api.door import Door
    from hookgate.channels.web.channel import WebChannel

TOKEN = "token"  # noqa: S105 - where it is kept


@dataclass(frozen=True)
class Page:
    """`app` answers its requests; `channel` is told when they can come; `door` knows who is logged in. `origin`: how
    people reach it, empty: by any other address. `token`: one that hookgate has made, for whoever has started it."""

    app: App
    channel: WebChannel
    door: Door
    origin: str
    token: str = ""


@dataclass(frozen=True)
class OpenChannels:
    """By name. `connected`: those whose people are connected to this very gateway, on their way into `channels`.
    `mounts`: channels that hear of what happens. `endpoints`: by path, with all below it, what answers programs and
    platforms."""

    channels: dict[str, Channel] = field(default_factory=dict[str, Channel])
    pages: dict[str, Page] = field(default_factory=dict[str, Page])
    connected: list[Listener] = field(default_factory=list["Listener"])
    mounts: list[Mount] = field(default_factory=list[Mount])
    endpoints: dict[str, App] = field(default_factory=dict[str, "App"])


async def open_channels(stack: AsyncExitStack, config: Config, desk: Desk) -> OpenChannels:
    """All that are configured, and the keys of programs. Raises ConfigError and StoreFailed."""
    await desk.keys.load()
    opened = OpenChannels()
    for name, section in config.channels.items():
        if section.kind == "web":
            await _open_web(stack, name, config, desk, opened)
        elif section.kind == "openai":
            await _open_openai(stack, name, config, desk, opened)
        else:
            await _open_platform(stack, name, section, desk, opened)
    if config.http.rpc:
        programs = ProgramChannel()
        opened.connected.append(programs)
    if opened.connected:
        live = await stack.enter_async_context(open_live(desk.journal.cluster, opened.connected))
        opened.channels.update(live.channels)
        opened.mounts.append(observer("channels of who is connected", live.observed, live.hear))
    return opened


async def _open_platform(
    stack: AsyncExitStack, name: str, section: ChannelSection, desk: Desk, opened: OpenChannels
) -> None:
    platform = await PLATFORMS[section.kind](stack, name, section, desk)
    opened.channels[name] = platform.channel
    opened.mounts.append(observer(f"channel {name}", platform.observed, platform.hear))
    opened.endpoints.update(platform.endpoints)


async def _open_web(stack: AsyncExitStack, name: str, config: Config, desk: Desk, opened: OpenChannels) -> None:
    from hookgate.channels.web.opening import open_web
    from hookgate.channels.web.settings import OWNER, WebParts, WebSettings

    section = config.channels[name]
    made = "" if section.token_env or section.users else await _own_token(name, desk.journal)
    token = configuration.secret(section.token_env, f"channels.{name}.token_env") or made
    shows = section.show_tools, section.show_trace, config.http.ops
    settings = WebSettings(name, token, section.users, section.origin, *shows)
    owns = bool(token) and OWNER not in section.users
    asked = (desk.receive, desk.decide, desk.may, desk.agent, desk.forget)

    def operates(user: str) -> bool:
        return desk.policies.operates(name, user, owns=owns and user == OWNER)

    doors = (partial(desk.policies.refuses, name), desk.turn_away, operates)
    parts = WebParts(*asked, desk.journal, desk.media, desk.redactor, *doors)
    web = await stack.enter_async_context(open_web(settings, parts))
    desk.policies.doors.changed.append(web.channel.shut_out)
    opened.connected.append(web.channel)
    opened.pages[name] = Page(web.app, web.channel, web.door, section.origin, made)


async def _open_openai(stack: AsyncExitStack, name: str, config: Config, desk: Desk, opened: OpenChannels) -> None:
    from hookgate.channels.http.bearer import Bearers
    from hookgate.channels.openai.opening import open_openai_api
    from hookgate.channels.openai.settings import OpenAIParts, OpenAISettings

    section = config.channels[name]
    settings = OpenAISettings(name, section.on_disconnect, section.approval_wait_s, section.show_tools)
    asked = (desk.receive, desk.withdraw, desk.rest, desk.agent, desk.tools)
    policies = partial(desk.policies.agents, name), partial(desk.policies.refuses, name)
    parts = OpenAIParts(
        *asked, *policies, Bearers(name, desk.keys), desk.keys, desk.journal, desk.media, desk.redactor
    )
    openai = await stack.enter_async_context(open_openai_api(settings, parts))
    opened.connected.append(openai.channel)
    opened.endpoints["/v1"] = openai.app


async def _own_token(channel: str, journal: Journal) -> str:
    """The same one at each start."""
    made = secrets.token_urlsafe(24)
    return await journal.holds.change_state(channel, TOKEN, lambda known: known or made)
