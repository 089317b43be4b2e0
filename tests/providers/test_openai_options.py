"""What clients of OpenAI's API ask for, as an Anthropic model is asked."""

from __future__ import annotations

from typing import Any

import pytest

from hookgate.protocol.values import LLMRequest, ToolSpec
from hookgate.providers.names import tool_names
from hookgate.providers.openai.options import as_completions_options, as_messages_options, limit_word

NAMES = tool_names(LLMRequest("m", (), (ToolSpec("weather", "", {}),)))


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        ({"temperature": 1.7, "top_p": 0.5}, {"temperature": 1, "top_p": 0.5}),
        ({"stop": "END"}, {"stop_sequences": ["END"]}),
        ({"stop": ["A", "B"], "seed": 1, "response_format": {"type": "json_object"}}, {"stop_sequences": ["A", "B"]}),
        ({"tool_choice": "required"}, {"tool_choice": {"type": "any"}}),
        (
            {"tool_choice": {"type": "function", "function": {"name": "weather"}}, "parallel_tool_calls": False},
            {"tool_choice": {"type": "tool", "name": "weather", "disable_parallel_tool_use": True}},
        ),
        ({"tool_choice": {"type": "any"}, "thinking": {"type": "enabled"}},) * 2,
        ({"reasoning_effort": "low"}, {"thinking": {"type": "enabled", "budget_tokens": 4096}}),
        ({"reasoning_effort": "none", "top_k": 3}, {"top_k": 3}),
        ({"reasoning_effort": "low", "temperature": 0}, {"temperature": 0}),
        ({"reasoning_effort": "low", "tool_choice": "required"}, {"tool_choice": {"type": "any"}}),
    ],
)
def test_options_are_put_into_the_words_of_the_messages_api(options: dict[str, Any], sent: dict[str, Any]) -> None:
    assert as_messages_options(options, NAMES) == sent


def test_a_level_of_thinking_is_put_into_the_words_of_chat_completions() -> None:
    level, own = ({"thinking": {"type": "enabled", "budget_tokens": it}} for it in (4096, 5000))
    assert as_completions_options(level, "max_tokens") == {"reasoning_effort": "low"}
    assert as_completions_options({**own, "seed": 1}, "max_tokens") == {"seed": 1}


@pytest.mark.parametrize(
    ("base_url", "word"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://ours.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("http://localhost:11434/v1", "max_tokens"),
        ("https://notapi.openai.com.test/v1", "max_tokens"),
        ("https://proxy.test/api.openai.com/v1", "max_tokens"),
    ],
)
def test_the_longest_answer_is_called_as_the_server_has_it(base_url: str, word: str) -> None:
    assert limit_word(base_url) == word
    assert as_completions_options({"max_tokens": 9, "seed": 1}, word) == {word: 9, "seed": 1}
    assert as_completions_options({"max_completion_tokens": 7}, word) == {"max_completion_tokens": 7}
