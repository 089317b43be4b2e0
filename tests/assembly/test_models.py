"""Which model answers: known or not, of which provider, chosen where, and what a person is told of it."""

from __future__ import annotations

import tomllib
from datetime import date
from importlib.resources import files
from pathlib import Path

import pytest

from hookgate.assembly.models import model_of, models_of, named_model, unknown_of
from hookgate.config import parse
from hookgate.protocol.values.models import Prices
from hookgate.providers.models import known_model, known_models
from hookgate.sections import Config
from tests.cli.program import configured, open_pipes, run
from tests.model_server import open_model_server, plain, says

CONFIG = parse(
    """
    [agent]
    model = "openai/gpt-5"
    [providers.openai]
    kind = "openai"
    [providers.ollama]
    kind = "openai"
    base_url = "http://127.0.0.1:11434/v1"
    [providers.far]
    kind = "openai"
    base_url = "https://models.example.com/v1"
    [models."openai/ours"]
    context_window = 8000
    [models."far/house"]
    context_window = 9000
    prices = [1.0, 2.0]
    """,
    Path("hookgate.toml"),
)
ZOT = {
    "anthropic": (
        *("claude-opus-4-7", "claude-opus-4-6", "claude-opus-4-5", "claude-opus-4-1", "claude-opus-4-0"),
        *("claude-sonnet-4-6", "claude-sonnet-4-5", "claude-sonnet-4-0", "claude-haiku-4-5"),
        *("claude-3-7-sonnet-20250219", "claude-3-5-sonnet-20241022", "claude-3-5-haiku-latest"),
        "claude-3-opus-20240229",
    ),
    "openai": (
        *("gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano", "gpt-4o", "gpt-4o-mini"),
        *("o4-mini", "o3", "o3-mini", "o1", "gpt-5.1", "gpt-5.2", "gpt-5.3", "gpt-5.4", "gpt-5.4-mini", "gpt-5.5"),
        "gpt-5.5-mini",
    ),
}


def test_the_table_has_a_date_and_all_that_it_says_is_plausible() -> None:
    table = tomllib.loads(files("hookgate.providers").joinpath("models.toml").read_text())
    assert date.fromisoformat(table["as_of"]) >= date(2026, 8, 1)
    for kind in ("openai", "anthropic"):
        for model in known_models("p", kind):
            assert model.prices is not None, model
            assert 1000 < model.max_output < model.context_window, model
            assert 0 < model.prices.input < model.prices.output, model
    assert all(members["context_window"] > 1000 for members in table["open"].values())


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in ZOT.items() for name in names])
def test_what_zot_knows_is_known(kind: str, name: str) -> None:
    assert known_model("p", kind, name) is not None


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("claude-sonnet-4-5-20250929", 200_000),
        ("claude-3-7-sonnet-latest", 200_000),
        ("claude-sonnet-4", 200_000),
        ("claude-nothing", None),
    ],
)
def test_a_date_at_the_end_of_a_name_does_not_matter(name: str, window: int | None) -> None:
    known = known_model("p", "anthropic", name)
    assert (known and known.context_window) == window


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("qwen3:4b", 40960),
        ("qwen3-coder:30b", 262144),
        ("Qwen/Qwen3-8B", 40960),
        ("openai/gpt-oss-20b", 131072),
        ("llama3.1:8b-instruct-q4_K_M", 131072),
        ("llama3.9", None),
        ("qwen30", None),
    ],
)
def test_a_local_model_is_known_by_its_family(name: str, window: int | None) -> None:
    known = known_model("p", "openai", name)
    assert (known and known.context_window) == window


def test_of_a_family_that_does_not_think_a_later_model_may() -> None:
    thinks = [known_model("p", "openai", it) for it in ("qwen3-next:80b-a3b-thinking", "qwen3:4b", "gpt-4o")]
    assert [it and it.reasoning for it in thinks] == [None, True, False]


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("openai/gpt-5", ""),
        ("ollama/qwen3:4b", ""),
        (
            "ollama/own",
            "ollama/own: its context window is not known (a long conversation is summed up only once the endpoint "
            'refuses it); [models."ollama/own"] can say so',
        ),
        (
            "openai/gpt5-mini",
            "openai/gpt5-mini (did you mean 'gpt-5-mini'?): none of the models that openai is known to have, and "
            "asked for all the same; its context window is not known",
        ),
        ("openai/gpt-5-2027-01-01", ""),
        ("openai/ours", 'openai/ours: its price is not known (it counts as 0); [models."openai/ours"] can say so'),
        ("far/qwen3:4b", 'far/qwen3:4b: its price is not known (it counts as 0); [models."far/qwen3:4b"] can say so'),
        ("far/house", ""),
    ],
)
def test_a_note_says_what_is_not_known_and_what_follows(name: str, note: str) -> None:
    assert unknown_of(CONFIG, name).startswith(note)
    assert bool(unknown_of(CONFIG, name)) == bool(note)


def test_a_server_at_home_costs_nothing_unless_it_hands_on_what_a_vendor_sells() -> None:
    home = model_of(CONFIG, "ollama/anything")
    assert home is not None
    assert home.prices == Prices()
    handed_on = model_of(CONFIG, "ollama/gpt-5")
    assert handed_on is not None
    assert handed_on.prices == Prices(1.25, 10.0, 0.125)


def test_the_vendor_s_models_are_listed_at_the_vendor_alone() -> None:
    assert len(models_of(CONFIG, "openai")) > 15
    assert models_of(CONFIG, "ollama") == ()
    assert [model.name for model in models_of(CONFIG, "far")] == ["far/house"]


@pytest.mark.parametrize(
    ("asked", "current", "named"),
    [
        ("ollama/x", "openai/gpt-5", "ollama/x"),
        ("x", "openai/gpt-5", "openai/x"),
        ("meta/x", "far/house", "far/meta/x"),
        ("far/a/b", "openai/gpt-5", "far/a/b"),
    ],
)
def test_any_name_of_a_configured_provider_names_a_model(asked: str, current: str, named: str) -> None:
    assert named_model(CONFIG, asked, current) == named


def test_a_provider_that_is_not_configured_is_none_of_a_vendor_s_models() -> None:
    said = 'provider "anthropic" is not configured .* write .providers.anthropic. kind = "anthropic", api_key_env = '
    with pytest.raises(ValueError, match=said):
        named_model(CONFIG, "anthropic/claude-sonnet-4-5", "openai/gpt-5")
    with pytest.raises(ValueError, match=r"is not configured \(did you mean 'ollama'\?\)"):
        named_model(CONFIG, "olama/x", "openai/gpt-5")


@pytest.mark.parametrize(
    ("asked", "current"),
    [("", "openai/x"), ("ollama/", "openai/x"), ("x", ""), ("ollama/x y", "openai/x"), ("x y", "openai/x")],
)
def test_what_names_none_is_refused_with_the_providers_that_there_are(asked: str, current: str) -> None:
    with pytest.raises(ValueError, match=r"names no model: .* \(openai, ollama, far\)"):
        named_model(CONFIG, asked, current)


# --- in a chat ----------------------------------------------------------------------------------------------


async def test_a_chat_asks_the_model_of_the_flag(tmp_path: Path) -> None:
    async with open_model_server(says("hello")) as server:
        folder = configured(tmp_path, server.base_url)
        ended = await run(folder, "chat", "--model", "p/other", "--once", "hi")
        assert (ended.returncode, ended.stdout) == (0, b"hello\n"), ended.stderr
        assert server.requests[0].body["model"] == "other"
        ended = await run(folder, "chat", "--model", "p/", "--once", "hi")
        assert ended.returncode == 2
        assert (
            b"--model: 'p/' names no model: write it PROVIDER/MODEL, with a configured provider (p)" in ended.stderr
        )


async def test_a_chat_says_what_is_not_known_of_its_model_and_changes_it_by_a_command(tmp_path: Path) -> None:
    async with open_model_server(says("one"), says("two")) as server:
        async with open_pipes(configured(tmp_path, server.base_url), "chat") as screen:
            await screen.sees("! p/m: its context window is not known")
            await screen.line("first")
            await screen.sees("one")
            await screen.line("/model nice")
            await screen.sees("p/nice answers from here on.")
            await screen.line("second")
            await screen.sees("two")
            await screen.line("/model")
            await screen.sees("p/nice answers. /model takes any name of any provider: p.")
            await screen.line("/model q/nice")
            await screen.sees(
                "p/q/nice answers from here on (q is no provider here, so q/nice is taken for a model's name)."
            )
            await screen.line("/quit")
            assert await screen.ends() == 0
        assert [request.body["model"] for request in server.requests] == ["m", "nice"]


async def test_a_chat_chooses_no_model_of_a_provider_without_a_section_or_a_key(tmp_path: Path) -> None:
    more = '[providers.openai]\nkind = "openai"\n'
    more += '[providers.anthropic]\nkind = "anthropic"\napi_key_env = "A_KEY"\n'
    (tmp_path / "hookgate.toml").write_text(f'[agent]\nmodel = "openai/gpt-5"\n{more}')
    async with open_pipes(tmp_path, "chat") as screen:
        await screen.line("/model")
        await screen.sees("/model takes any name of any provider: openai. No key is set for anthropic (A_KEY).")
        await screen.line("/model anthropic/claude-sonnet-4-5")
        await screen.sees(
            "! anthropic/claude-sonnet-4-5 cannot be asked: providers.anthropic.api_key_env: A_KEY is not"
        )
        await screen.line("/model groq/llama")
        await screen.sees('! provider "groq" is not configured (there is openai, anthropic); where it speaks')
        await screen.line("/model gtp-5")
        await screen.sees("! openai/gtp-5 (did you mean 'gpt-5'?): none of the models that openai is known to have")
        await screen.line("/quit")
        assert await screen.ends() == 0


async def test_a_missing_v1_is_told_with_the_address_and_the_provider(tmp_path: Path) -> None:
    async with open_model_server(plain({"error": "not here"}, 404)) as server:
        url = server.base_url.removesuffix("/v1")
        ended = await run(configured(tmp_path, url), "chat", "--once", "hi")
    host = url.removeprefix("http://")
    said = (
        f"p: {host} answered 404 at {url}/chat/completions (no such address or model): not here; /v1 is missing in it"
    )
    assert said in ended.stderr.decode()


def test_a_model_of_the_configuration_alone_needs_no_table() -> None:
    assert unknown_of(Config(), "x/y") == ""
