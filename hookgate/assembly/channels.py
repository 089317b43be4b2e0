"""The channels of a configuration: what people see there. Knows no platform."""

from __future__ import annotations

from hookgate.protocol.channel import ChannelPolicy
from hookgate.sections import Config
from hookgate.sections.gateway import ChannelSection


class Policies:
    """Called with a channel's name. One that the configuration does not have is this program's own."""

    def __init__(self, config: Config) -> None:
        self.adopt(config)

    def adopt(self, config: Config) -> None:
        """What people see from now on."""
        self._own = ChannelPolicy(show_denials=config.agent.show_denials)
        self._policies = {name: _policy(section) for name, section in config.channels.items()}

    def __call__(self, channel: str) -> ChannelPolicy:
        return self._policies.get(channel, self._own)


def _policy(section: ChannelSection) -> ChannelPolicy:
    return ChannelPolicy(section.busy, section.show_tools, section.show_denials, section.show_errors)
