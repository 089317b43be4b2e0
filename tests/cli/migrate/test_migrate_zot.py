"""zot's config.json and models.json become a hookgate.toml; what stays behind is named, and keys stay."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hookgate.cli.migrate.zot_toml import migrate_folder
from hookgate.config import ConfigError, load
from hookgate.protocol.values.reasoning import level_of
from hookgate.sections import Config
from tests.cli.program import environment
from tests.preloaded.running import ran

CHOSEN = {"provider": "openai", "model": "llama3.3", "reasoning": "High", "theme": "dark", "mystery": 1}
MODELS: dict[str, Any] = {
    "providers": {
        "openai-codex": {
            "models": [
                {
                    **{"id": "gpt-x", "name": "GPT", "reasoning": True, "contextWindow": 400000, "maxTokens": 128000},
                    **{"priceInput": 2.5, "priceOutput": 15, "priceCacheRead": 0.25, "input": ["text", "image"]},
                }
            ]
        },
        "openai": {
            "models": [
                {"id": "llama3.3", "baseUrl": "http://localhost:11434", "weird": 2},
                {"id": "q", "baseUrl": "https://models.test/openai/v1/", "input": ["text"]},
                {"id": "keyed", "baseUrl": "https://ann:sk-secret@models.test/v1"},
                {"id": "odd", "baseUrl": "models.test"},
            ]
        },
        "kimi": {"models": [{"id": "k2"}]},
        "nobody": {"models": [{"id": "z"}, {"id": "g", "baseUrl": "https://g.test", "api": "google-generative-ai"}]},
    }
}


@pytest.fixture
def migrate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`migrate(files)`: the configuration that was printed, and what was said."""
    monkeypatch.chdir(tmp_path)
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "KIMI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)

    def run(**files: object) -> tuple[Config, str]:
        folder = zot_folder(tmp_path, **files)
        assert migrate_folder(folder) == 0
        printed = capsys.readouterr()
        Path("hookgate.toml").write_text(printed.out)
        return load(Path("hookgate.toml"))[0], printed.err

    return run


def zot_folder(parent: Path, **files: object) -> Path:
    folder = parent / "zot"
    folder.mkdir()
    for name, members in files.items():
        file = folder / f"{name}.json"
        file.write_text(members if isinstance(members, str) else json.dumps(members))
    return folder


def test_what_zot_asks_is_asked_here_and_what_stays_behind_is_named(migrate: Any, tmp_path: Path) -> None:
    config, said = migrate(config=CHOSEN, models=MODELS, auth={"openai": {"apiKey": "sk-secret"}})
    assert config.agent.model == "openai-localhost-11434/llama3.3"
    assert config.agent.options == {"reasoning_effort": "high"}
    shown = {name: (it.kind, it.base_url, it.api_key_env) for name, it in config.providers.items()}
    assert shown == {
        "openai": ("openai", "", "OPENAI_API_KEY"),
        "openai-localhost-11434": ("openai", "http://localhost:11434/v1", ""),
        "openai-models.test": ("openai", "https://models.test/openai/v1", "OPENAI_API_KEY"),
        "kimi": ("openai", "https://api.kimi.com/coding/v1", "KIMI_API_KEY"),
    }
    known = config.models["openai/gpt-x"]
    assert (known.context_window, known.max_output, known.reasoning) == (400000, 128000, True)
    assert (known.prices, known.pictures) == ((2.5, 15.0, 0.25), True)
    assert (config.models["openai-models.test/q"].pictures, "kimi/k2" in config.models) == (False, True)
    for line in (
        "config.json: theme: left out",
        "config.json: mystery: left out",
        "models.json: providers.nobody.models[0]: left out, hookgate does not take the provider 'nobody' over w",
        "models.json: providers.nobody.models[1]: left out, hookgate does not speak the API 'google-generative-ai'",
        "models.json: providers.openai.models[2].baseUrl: left out with its model, it has a key in it",
        "models.json: providers.openai.models[3].baseUrl: left out with its model, it is no http or https address",
        "models.json: name, weird of models: left out",
        "hookgate reads that of kimi from KIMI_API_KEY, which is not set now",
        "auth.json: not read",
    ):
        assert line in said, line
    assert "sk-secret" not in said + (tmp_path / "hookgate.toml").read_text()


@pytest.mark.parametrize(
    ("chosen", "model", "said"),
    [
        ({}, "anthropic/claude-sonnet-4-5", "from ANTHROPIC_API_KEY"),
        ({"provider": "kimi", "model": None}, "kimi/kimi-for-coding", "from KIMI_API_KEY"),
        ({"provider": "ollama", "model": "llama3"}, "ollama/llama3", ""),
        ({"provider": "openai-codex", "model": "m"}, "openai/m", "from OPENAI_API_KEY"),
        ({"reasoning": "odd"}, "anthropic/claude-sonnet-4-5", "reasoning: left out, 'odd' is none of minimum"),
        (
            {},
            "anthropic/claude-sonnet-4-5",
            "provider: it names none, so anthropic is written: it is zot's usual one",
        ),
        (
            {"model": "new"},
            "anthropic/new",
            "provider: it names none, so anthropic is written: it is zot's usual one",
        ),
        ({"model": "gpt-5"}, "openai/gpt-5", "provider: it names none, so openai is written: it has gpt-5"),
    ],
)
def test_what_is_not_said_is_as_zot_has_it(migrate: Any, chosen: object, model: str, said: str) -> None:
    config, printed = migrate(config=chosen)
    assert config.agent.model == model
    assert said in printed


def test_a_provider_that_is_not_taken_over_lends_its_model_to_no_other(migrate: Any) -> None:
    config, said = migrate(config={"provider": "groq", "model": "llama-3.3-70b", "reasoning": "low"})
    assert (config.agent.model, config.providers, config.agent.options) == ("", {}, {})
    assert (
        "notice: config.json: provider: left out with its model, hookgate does not take 'groq' over; where it speaks "
        'OpenAI\'s API, write [providers.groq] kind = "openai", base_url = "https://...", api_key_env = '
        '"GROQ_API_KEY"; [agent] model = "groq/llama-3.3-70b"\n'
    ) in said


def test_a_provider_with_an_address_of_its_own_is_taken_over_by_it(migrate: Any) -> None:
    listed = [
        {"id": "llama-3.3-70b", "baseUrl": "https://api.groq.test/openai/v1", "api": "openai-completions"},
        {"id": "q", "baseUrl": "https://api.groq.test/openai/v1"},
        {"id": "far", "baseUrl": "https://eu.groq.test", "api": "anthropic-messages"},
    ]
    models = {"providers": {"groq": {"models": listed}}}
    config, said = migrate(config={"provider": "groq", "model": "llama-3.3-70b"}, models=models)
    assert (config.agent.model, "groq/q" in config.models) == ("groq/llama-3.3-70b", True)
    shown = {name: (it.kind, it.base_url, it.api_key_env) for name, it in config.providers.items()}
    assert shown == {
        "groq": ("openai", "https://api.groq.test/openai/v1", "GROQ_API_KEY"),
        "groq-eu.groq.test": ("anthropic", "https://eu.groq.test", "GROQ_API_KEY"),
    }
    assert "left out with its model" not in said
    assert "api of models" not in said


@pytest.mark.parametrize(
    ("provider", "url"),
    [
        ("ollama", "http://localhost:11434"),
        ("openai", "https://api.openai.com/v1/"),
        ("anthropic", "https://api.anthropic.com"),
        ("kimi", "https://api.kimi.com/coding/v1"),
    ],
)
def test_the_address_that_a_vendor_has_anyway_makes_no_provider_of_its_own(
    migrate: Any, provider: str, url: str
) -> None:
    listed = [{"id": "m", "baseUrl": url, "contextWindow": 9000}, {"id": "n"}]
    config, said = migrate(config={"provider": provider}, models={"providers": {provider: {"models": listed}}})
    assert (list(config.providers), list(config.models)) == ([provider], [f"{provider}/m", f"{provider}/n"])
    assert "--provider" not in said


def test_what_scripts_have_to_say_instead_of_zots_name_of_a_provider_is_named(migrate: Any) -> None:
    here = {"baseUrl": "https://proxy.test"}
    providers = {
        "anthropic": {"models": [{"id": "a", **here}, {"id": "b", **here}, {"id": "c"}]},
        "my own": {"models": [{"id": "d", "baseUrl": "https://own.test/v1"}]},
    }
    _, said = migrate(config={"provider": "anthropic", "model": "a"}, models={"providers": providers})
    assert [line for line in said.splitlines() if "--provider" in line] == [
        "notice: models.json: providers.anthropic: the provider of a, b is anthropic-proxy.test here, so a script "
        "that says --provider anthropic for it has to say --provider anthropic-proxy.test",
        'notice: models.json: providers."my own": the provider of d is my-own here, so a script that says --provider '
        "my own for it has to say --provider my-own",
    ]


def test_what_stands_beside_the_models_of_a_provider_is_named_and_of_a_key_its_variable(migrate: Any) -> None:
    beside = {"apiKey": "sk-secret", "baseUrl": "https://acme.test/v1", "foo": 1}
    local = {"api_key": "sk-secret", "models": [{"id": "m", "baseUrl": "http://localhost:9/v1"}]}
    far = {"models": [{"id": "f", "baseUrl": "https://far.test", "apiKey": "sk-secret"}]}
    models = {"providers": {"acme": {**beside, "models": [{"id": "m"}]}, "ollama": local, "far": far}}
    config, said = migrate(config={"provider": "ollama", "model": "m", "maxSteps": 40}, models=models)
    assert [
        line for line in said.splitlines() if "providers.acme." in line or "piKey" in line or "api_key" in line
    ] == [
        "notice: models.json: providers.acme.models[0]: left out, hookgate does not take the provider 'acme' over "
        "without a baseUrl of its models",
        "notice: models.json: providers.far.models[0].apiKey: left out, no key is read: put it into FAR_API_KEY, "
        'which api_key_env = "FAR_API_KEY" of its provider names',
        "notice: models.json: providers.acme.apiKey: left out, no key is read: where it wants one, put it into "
        'ACME_API_KEY, and api_key_env = "ACME_API_KEY" below its provider',
        "notice: models.json: providers.acme.baseUrl: left out, zot does not know it there either",
        "notice: models.json: providers.acme.foo: left out, zot does not know it there either",
        "notice: models.json: providers.ollama.api_key: left out, no key is read: where it wants one, put it into "
        'OLLAMA_API_KEY, and api_key_env = "OLLAMA_API_KEY" below its provider',
    ]
    assert (
        "notice: config.json: maxSteps: left out, nothing here reads it; `hookgate docs configuration` has what can "
        "stand in hookgate.toml\n"
    ) in said
    assert config.agent.model == "ollama-localhost-9/m"
    assert config.providers["ollama-localhost-9"].api_key_env == ""
    assert "sk-secret" not in said


def test_a_model_without_a_provider_is_that_of_who_is_listed_with_it(migrate: Any) -> None:
    models = {"providers": {"kimi": {"models": [{"id": "gpt-5"}]}}}
    config, said = migrate(config={"model": "gpt-5"}, models=models)
    assert config.agent.model == "kimi/gpt-5"
    assert "config.json: provider: it names none, so kimi is written: it has gpt-5" in said


def test_what_is_wrong_is_left_out_and_named_and_all_else_is_taken_over(migrate: Any) -> None:
    listed: list[Any] = [
        {"id": 1},
        "text",
        {"id": "k2", "priceInput": -1, "priceOutput": 2, "maxTokens": "many", "input": ["text", 5, None]},
        None,
        {"baseUrl": "https://kimi.test"},
    ]
    models = {"providers": {"a b": [], "none": None, "kimi": {"models": listed}, "openai": {"models": 7}}}
    config, said = migrate(config={"provider": "kimi", "model": 5, "reasoning": ["high"]}, models=models)
    assert (config.agent.model, config.agent.options) == ("kimi/kimi-for-coding", {})
    known = config.models["kimi/k2"]
    assert (list(config.models), known.prices, known.pictures, known.max_output) == (["kimi/k2"], (0, 2), False, None)
    notices = [line.removeprefix("notice: ") for line in said.splitlines() if ".json" in line]
    assert notices[:-1] == [
        "config.json: model: left out, it must be a valid string",
        "config.json: reasoning: left out, it must be a valid string",
        'models.json: providers."a b": left out, it must be a valid dictionary',
        "models.json: providers.kimi.models[0].id: left out, it must be a valid string",
        "models.json: providers.kimi.models[1]: left out, it must be a valid dictionary",
        "models.json: providers.kimi.models[2].maxTokens: left out, it must be a valid integer",
        "models.json: providers.kimi.models[2].priceInput: left out, it must be greater than or equal to 0",
        "models.json: providers.kimi.models[2].input[1]: left out, it must be a valid string",
        "models.json: providers.openai.models: left out, it must be a valid list",
        "models.json: providers.kimi.models[0]: left out, it has no id",
        "models.json: providers.kimi.models[4]: left out, it has no id",
    ]


@pytest.mark.parametrize("level", ["off", "Off", ""])
def test_thinking_that_is_off_is_no_news(migrate: Any, level: str) -> None:
    config, said = migrate(config={"provider": "openai", "model": "m", "reasoning": level})
    assert (config.agent.options, "reasoning" in said) == ({}, False)


def test_a_provider_whose_model_nobody_names_is_taken_over_without_one(migrate: Any) -> None:
    config, said = migrate(config={"provider": "ollama"}, models={"providers": {"kimi": {"models": [{"id": "k"}]}}})
    assert (config.agent.model, set(config.providers)) == ("", {"kimi", "ollama"})
    assert 'and ollama has no usual one: write [agent] model = "ollama/MODEL"' in said


def test_thinking_is_what_the_kind_of_the_provider_takes(migrate: Any) -> None:
    config, _ = migrate(config={"provider": "anthropic", "reasoning": "low"})
    assert config.agent.options["thinking"] == {"type": "enabled", "budget_tokens": 4096}


@pytest.mark.parametrize(
    ("provider", "model", "thinks"),
    [("openai", "gpt-4o", False), ("anthropic", "claude-3-5-haiku-latest", False), ("openai", "gpt-5", True)],
)
def test_a_level_is_kept_where_the_model_does_not_think_and_said_to_be_idle(
    migrate: Any, provider: str, model: str, thinks: bool
) -> None:
    config, said = migrate(config={"provider": provider, "model": model, "reasoning": "high"})
    assert level_of(config.agent.options) == "high"
    assert (f"config.json: reasoning: {provider}/{model} does not think" in said) is not thinks


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "there is neither a config.json nor a models.json in it"),
        ({"config": "{"}, "config.json: is not JSON: "),
        ({"config": "[]"}, "config.json: must hold a JSON object"),
        ({"models": " " * (4 * 1024 * 1024 + 1)}, "models.json: is over 4194304 bytes"),
    ],
)
def test_what_cannot_be_read_is_a_line_and_nothing_is_printed(
    tmp_path: Path, files: dict[str, object], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = zot_folder(tmp_path, **files)
    with pytest.raises(ConfigError) as refused:
        migrate_folder(folder)
    assert said in str(refused.value)
    assert capsys.readouterr().out == ""


def test_a_folder_that_is_none_is_a_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such folder"):
        migrate_folder(tmp_path / "nowhere")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="this is no folder"):
        migrate_folder(tmp_path / "config.json")


def test_zots_own_folder_is_found_and_what_is_printed_is_fine(tmp_path: Path) -> None:
    folder = zot_folder(tmp_path, config=CHOSEN, models=MODELS)
    env = {**os.environ, **environment(tmp_path), "ZOT_HOME": str(folder)}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return ran(*arguments, cwd=tmp_path, env=env)

    done = run("migrate", "zot")
    assert done.returncode == 0
    (tmp_path / "hookgate.toml").write_text(done.stdout)
    checked = run("config", "check")
    assert checked.returncode == 0
    assert "fine. Model openai-localhost-11434/llama3.3" in checked.stdout
