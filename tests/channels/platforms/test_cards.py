"""A card on each platform: it fits, and no argument is left out of it without a word, whatever they are called."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from hookgate.channels.discord.outgoing import cards as discord
from hookgate.channels.discord.outgoing.formatting import escaped
from hookgate.channels.platforms import cards
from hookgate.channels.platforms.units import units
from hookgate.channels.printable import named
from hookgate.channels.slack.outgoing import cards as slack
from hookgate.channels.telegram.outgoing import cards as telegram
from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.chat import Chat
from hookgate.protocol.values import Json, ToolCall
from tests.channels.storing import REQUEST

LONG = "\u4e2d" * 60
JUNK: dict[str, Json] = {**{f"{n}{LONG}": "x" for n in range(5)}, "to": "mallory", "amount": "1000"}


@dataclass(frozen=True)
class Platform:
    """`shown`: what people read of it. `said`: how words of ours or of others stand there."""

    shown: Callable[[ApprovalRequest, str], str]
    most: int
    said: Callable[[str], str] = str


def _slack(request: ApprovalRequest, outcome: str) -> str:
    def texts(element: dict[str, Any]) -> Iterator[str]:
        yield element.get("text", "")
        for it in element.get("elements", ()):
            yield from texts(it)

    return "\n".join(
        filter(None, (it for block in slack.written(request, (), outcome).blocks for it in texts(block)))
    )


PLATFORMS = {
    "discord": Platform(discord.written, 2000, escaped),
    "telegram": Platform(lambda request, outcome: telegram.written(request, outcome).plain, 4096),
    "slack": Platform(_slack, 4100),
}


def asked(arguments: dict[str, Json], **more: Any) -> ApprovalRequest:
    call = ToolCall("c", "pay", arguments)
    return replace(ApprovalRequest(REQUEST, Chat("x", "1", "7"), call, "hook", "Pay?", "", (), 600, "d"), **more)


def is_named(name: str, shown: str, platform: Platform) -> bool:
    """Whole, or as much of it as there is room for, and how long it is."""
    whole = named(name)
    cut = (f"{whole[:n]}...({len(name)}_characters)" for n in range(len(whole)))
    return any(f"{platform.said(it)}:" in shown for it in (whole, *cut))


@pytest.mark.parametrize("name", PLATFORMS)
def test_long_names_of_junk_push_no_argument_off_a_card(name: str) -> None:
    platform = PLATFORMS[name]
    shown = platform.shown(asked(JUNK), "")
    assert units(shown) <= platform.most
    assert all(is_named(it, shown, platform) for it in JUNK)
    assert "mallory" in shown
    assert "1000" in shown


texts = st.one_of(
    st.text(max_size=40), st.sampled_from(["`", "*\\_~", "\u4e2d", "\U0001f600", "\u202e", "a"])
).flatmap(lambda it: st.sampled_from([1, 30, 2000]).map(lambda times: it * times))
arguments = st.dictionaries(texts, st.one_of(texts, st.integers(), st.lists(texts, max_size=2)), max_size=14)


@pytest.mark.parametrize("name", PLATFORMS)
@settings(phases=(Phase.explicit, Phase.generate))
@given(arguments=arguments, other=texts, call=texts)
@example(arguments={"`" * 90 + str(n): "`" * 5000 for n in range(12)}, other="*" * 5000, call="\U0001f600" * 200)
def test_a_card_fits_and_names_each_argument_or_says_how_many_there_are(
    name: str, arguments: dict[str, Json], other: str, call: str
) -> None:
    platform = PLATFORMS[name]
    request = asked(arguments, title=other, text=other, always=other, asked_by=other, extension=call)
    request = replace(request, call=replace(request.call, name=call))
    shown = platform.shown(request, other)
    assert units(shown) <= platform.most
    number = len(arguments)
    told = f"Its arguments ({number}) are too long to show here: /pending {REQUEST[:8]} shows all."
    counted = platform.said(told) in shown or f"all {number} arguments:" in shown
    assert counted or all(is_named(it, shown, platform) for it in arguments)


_NOWHERE: Any = None
WHOLE: dict[str, Callable[[ApprovalRequest], bool]] = {
    "discord": lambda it: discord.DiscordCards.shows_whole(_NOWHERE, it),
    "telegram": lambda it: telegram.TelegramCards.shows_whole(_NOWHERE, it),
    "slack": lambda it: slack.SlackCards.shows_whole(_NOWHERE, it),
}


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_card_is_whole_where_nothing_is_left_out_of_it(name: str) -> None:
    whole, several = WHOLE[name], {str(n): n for n in range(20)}
    assert whole(asked({"to": "mallory", "why": "x" * 100, "list": [1, 2]}))
    assert whole(asked({**several}))
    for cut in ({"why": "x" * 5000}, {"x" * 70: "1"}, {f"{n}": "y" * 300 for n in range(20)}):
        request = asked(cut)
        assert not whole(request), cut
        shown = PLATFORMS[name].shown(request, "")
        assert PLATFORMS[name].said("(70_characters)") in shown or "shows all" in shown
    assert not whole(asked({}, text="z" * 4000))


def test_a_text_with_no_room_is_its_length_alone() -> None:
    shown = cards.card(asked({str(n): "x" * 9000 for n in range(12)}), most=100)
    assert all(value.count("x") < 20 for _, value in shown.arguments)
    assert json.dumps(shown.text).count("shows all") == 12
