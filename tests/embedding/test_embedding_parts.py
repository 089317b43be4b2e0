"""The parts of an embedded runtime that need no model: trays, settings, reasoning."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from hookgate import config as configuration
from hookgate import embedding
from hookgate.config import ConfigError
from hookgate.embedding.above import Above, settled
from hookgate.embedding.event_queue import EventQueue
from hookgate.protocol.rpc.events import Done, TextDelta
from hookgate.protocol.values.reasoning import fitting, level_of, leveled, reasoned

TOML = """
[agent]
model = "mine/m"
system = "Be."
[providers.mine]
kind = "openai"
base_url = "http://127.0.0.1:9/v1"
"""


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "KIMI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


# --- settings -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("above", "model"),
    [
        ({}, "mine/m"),
        ({"model": "x"}, "mine/x"),
        ({"model": "mine/x"}, "mine/x"),
        ({"model": "org/x"}, "mine/org/x"),
        ({"provider": "mine"}, "mine/m"),
        ({"provider": "openai", "api_key": "k"}, "openai/gpt-5-mini"),
        ({"provider": "anthropic", "api_key": "k", "model": "c"}, "anthropic/c"),
        ({"model": "anthropic/c", "api_key": "k"}, "anthropic/c"),
        ({"provider": "ollama", "model": "llama3"}, "ollama/llama3"),
        ({"model": "ollama/llama3"}, "ollama/llama3"),
        ({"provider": "moonshot", "api_key": "k"}, "kimi/kimi-for-coding"),
        ({"provider": "openai-codex", "api_key": "k"}, "openai/gpt-5-mini"),
    ],
)
def test_the_model_is_the_one_that_is_meant(above: Above, model: str) -> None:
    config = configuration.parse(TOML, Path("hookgate.toml"))
    settings = settled(config, **above)
    assert settings.config.agent.model == model
    assert settings.kind in ("openai", "anthropic")


def test_a_key_of_the_environment_chooses_the_provider_where_nothing_else_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert settled(None).kind == "anthropic"
    assert settled(None, model="claude-x").config.agent.model == "anthropic/claude-x"


def test_zots_providers_are_where_zot_asks_them_unless_a_configuration_says_otherwise() -> None:
    ollama = settled(None, provider="ollama", model="llama3").config.providers["ollama"]
    assert (ollama.kind, ollama.base_url, ollama.api_key_env) == ("openai", "http://localhost:11434/v1", "")
    config = configuration.parse(TOML.replace("mine", "ollama"), Path("hookgate.toml"))
    assert settled(config, provider="ollama").config.providers["ollama"].base_url == "http://127.0.0.1:9/v1"
    with pytest.raises(ConfigError, match="set KIMI_API_KEY"):
        settled(None, provider="kimi")


def test_what_the_page_names_can_be_had_from_one_place() -> None:
    for name in embedding.__all__:
        assert name in ("Block", "Event") or getattr(embedding, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute"):
        embedding.Nothing  # noqa: B018 - it is looked up


def test_a_literal_key_is_in_no_representation() -> None:
    settings = settled(None, provider="openai", api_key="very secret")
    assert settings.keys == {"openai": "very secret"}
    assert "very secret" not in repr(settings)


def test_an_endpoint_of_ones_own_needs_no_key_and_the_usual_one_does() -> None:
    assert settled(None, provider="openai", base_url="http://127.0.0.1:9/v1").keys == {}
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        settled(None, provider="openai")
    with pytest.raises(ConfigError, match="http"):
        settled(None, provider="openai", base_url="ftp://x")


def test_what_is_added_to_the_system_prompt_comes_after_it() -> None:
    config = configuration.parse(TOML, Path("hookgate.toml"))
    assert settled(config, system_more=("A.", "B.")).config.agent.system == "Be.\n\nA.\n\nB."
    assert settled(config, system="", system_more=("A.",)).config.agent.system == "A."


# --- reasoning ----------------------------------------------------------------------------------------------


def test_a_level_stands_in_the_place_of_any_other() -> None:
    before = {"temperature": 0, "reasoning_effort": "low"}
    assert reasoned(before, "openai", "max") == {"temperature": 0, "reasoning_effort": "xhigh"}
    assert reasoned(before, "openai", "") == {"temperature": 0}
    assert reasoned(before, "scripted", "high") == {"temperature": 0}


@pytest.mark.parametrize("level", ["", "minimum", "low", "medium", "high", "xhigh"])
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_level_is_known_by_its_options(kind: str, level: str) -> None:
    assert level_of(reasoned({"temperature": 0}, kind, level)) == level


def test_what_is_no_level_is_none() -> None:
    assert level_of({"thinking": {"type": "enabled", "budget_tokens": 5000}}) == ""
    assert level_of({"reasoning_effort": "xhigh"}) == "xhigh"
    assert settled(None, provider="openai", api_key="k").reasoning is None
    assert settled(None, provider="openai", api_key="k", reasoning="off").reasoning == ""


def test_a_level_in_the_words_of_another_kind_of_provider_is_said_in_its_own() -> None:
    openai, anthropic = (reasoned({"seed": 1}, kind, "low") for kind in ("openai", "anthropic"))
    assert fitting(openai, "anthropic") == {"seed": 1, "thinking": anthropic["thinking"]}
    assert fitting(anthropic, "openai") == {**openai, "max_tokens": anthropic["max_tokens"]}
    for kind in ("openai", "anthropic"):
        for own in ({"seed": 1}, {"thinking": {"type": "enabled", "budget_tokens": 5000}}, {"max_tokens": 5}):
            assert fitting(own, kind) == own
    small = {**anthropic, "max_tokens": 5000}
    assert fitting(small, "anthropic") == small


@pytest.mark.parametrize("level", ["minimum", "low", "medium", "high", "xhigh", "max"])
def test_thinking_leaves_room_for_an_answer(level: str) -> None:
    for given in ({}, {"max_tokens": 100}, {"max_tokens": 200_000}):
        made = reasoned(given, "anthropic", leveled(level))
        thinking, limit = made["thinking"], made["max_tokens"]
        assert isinstance(thinking, dict)
        assert isinstance(limit, int)
        assert 1024 <= thinking["budget_tokens"] < limit


# --- trays --------------------------------------------------------------------------------------------------


async def test_a_full_tray_has_room_again_once_it_is_read(autojump_clock: object) -> None:
    queue, order = EventQueue(full=100), list[str]()

    async def make() -> None:
        await queue.room()
        order.append("room")

    queue.put(TextDelta("x" * 200))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(make)
        await trio.testing.wait_all_tasks_blocked()
        order.append("read")
        assert await queue.get() == TextDelta("x" * 200)
    assert order == ["read", "room"]


async def test_an_abandoned_tray_holds_nobody_up_and_keeps_nothing(autojump_clock: object) -> None:
    queue = EventQueue(full=100)
    queue.put(TextDelta("x" * 200))
    queue.abandon()
    queue.put(Done())
    await queue.room()
    assert await queue.get() is None


async def test_a_finished_tray_is_read_to_its_end(autojump_clock: object) -> None:
    queue = EventQueue()
    queue.put(Done())
    queue.finish()
    assert [await queue.get(), await queue.get()] == [Done(), None]
