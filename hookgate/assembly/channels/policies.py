"""What people see in each channel, and who is heard there, as a configuration says it."""

from __future__ import annotations

from hookgate.approvals.people import People
from hookgate.assembly.hooks.opening import people
from hookgate.loop.doors.door import Door, Quota
from hookgate.loop.doors.doors import STRANGER, Doors
from hookgate.protocol.approval import OPERATOR_ROLE, Voter
from hookgate.protocol.chat.channel import ChannelPolicy
from hookgate.protocol.hook.match import Globs
from hookgate.sections import Config
from hookgate.sections.gateway import KEYED, ChannelSection, HttpSection


class Policies:
    """What people see in a channel, called with its name, and `doors`, who is heard there. One that the
    configuration does not have is this program's own. `serving`: HTTP's surfaces for programs are there too, whose
    names other ways in have as well. `lists_calls`: this program's own has a line for each call that was refused, and
    wants no second one."""

    def __init__(self, config: Config, *, serving: bool, lists_calls: bool) -> None:
        self.doors = Doors()
        self._serving, self._lists_calls = serving, lists_calls
        self.adopt(config, People(people(config)))

    def adopt(self, config: Config, known: People) -> None:
        """What people see from now on, and who they are."""
        self._own = ChannelPolicy(show_denials=config.agent.show_denials and not self._lists_calls)
        self.sections = config.channels
        # As usual there; to validate that would take a model of its own, in every start.
        self._programs = {*config.keyed, *HttpSection.model_construct().surfaces}
        self._chosen = {name: chosen(config, section) for name, section in config.channels.items()}
        programs = ChannelPolicy(show_denials=config.agent.show_denials, show_errors="class")
        self._policies = {
            **dict.fromkeys(config.http.surfaces if self._serving else (), programs),
            **{name: _policy(section) for name, section in config.channels.items()},
        }
        self.doors.adopt({name: _door(section) for name, section in config.channels.items()}, known)

    def __call__(self, channel: str) -> ChannelPolicy:
        return self._policies.get(channel, self._own)

    def refuses(self, channel: str, user: str) -> str:
        """Why somebody is not heard there, as a line; empty: they are."""
        return "" if self.doors.lists(Voter(channel, user)) else STRANGER

    def agents(self, channel: str) -> tuple[str, ...]:
        """Those that whoever talks there can choose."""
        return self._chosen.get(channel, ())

    def operates(self, channel: str, user: str, *, owns: bool = False) -> bool:
        """Whether somebody has the gateway in hand: by the role; where nobody has that but by the key of a program,
        whoever logs in with a page's token does. `owns`: this user is that one."""
        people = self.doors.people
        owner = owns and not people.anybody_has(OPERATOR_ROLE, outside=self._programs)
        return owner or people.has_role(Voter(channel, user), OPERATOR_ROLE)


def _policy(section: ChannelSection) -> ChannelPolicy:
    # Whoever reads an answer there is a program: what tools show besides is none of it, unless it says so.
    show_tools = section.show_tools and (section.kind != "openai" or "show_tools" in section.model_fields_set)
    return ChannelPolicy(section.busy, show_tools, section.show_denials, section.show_errors)


def _door(section: ChannelSection) -> Door:
    """A page has logins of its own, what answers programs has keys, and a webhook secrets: whoever has one is heard
    there, unless it names some of them."""
    everybody = section.kind in ("web", "webhook", *KEYED) and not section.allow
    quota = Quota(*section.quota) if section.quota else None
    return Door(section.allow, everybody, section.pairing, section.group, quota)


def chosen(config: Config, section: ChannelSection) -> tuple[str, ...]:
    """The agents that whoever talks there can choose."""
    globs = Globs(section.agents)
    return tuple(name for name in (config.agent.name, *config.agents) if globs.covers(name))


def approvers(config: Config) -> dict[str, tuple[str, ...]]:
    """By channel, who alone may approve its calls."""
    return {name: section.approvers for name, section in config.channels.items() if section.approvers}
