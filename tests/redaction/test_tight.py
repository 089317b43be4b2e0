"""What is hidden in a question: never a sign by which a command does something else than it seems to."""

from __future__ import annotations

import re

import pytest

from hookgate.redaction import Redactor

PEM = "-----BEGIN PRIVATE KEY-----"
GITHUB = "ghp_" + "a1B2" * 6
TIGHT = Redactor(["s3cr3t-value", "pa$$(id);w0rd x"]).for_questions


@pytest.mark.parametrize(
    "command",
    [
        "echo cookie: ; touch X",
        "curl -H 'Authorization: x' h; touch X",
        f"echo '{PEM}\n'; touch X",
        f"{PEM}\ntouch X",
        'KEY="$(touch X)"',
        "API_KEY=`touch X`",
        "x --password='$(touch X)'",
        "x --password=a;touch${IFS}X",
        "curl -u a:b;touch${IFS}X h",
        "mysql -p$(touch${IFS}X)",
        "git clone https://a:$(touch${IFS}X)@h/",
        '{"password": "touch X; rm -rf /"}',
        "sk-$(touch X)abcdefghijklmnopqrstu",
    ],
)
def test_a_command_stays_as_it_is(command: str) -> None:
    assert TIGHT.text(command) == command
    assert TIGHT.value({"password": command}) == {"password": command}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("echo s3cr3t-value; id", "echo [X]; id"),
        (f"GH={GITHUB} && id", "GH=[X] && id"),
        ("echo 'pa$$(id);w0rd x'", "echo '[X]$$([X]);[X] [X]'"),
        ("echo sk-learn-pipeline-tools", "echo sk-learn-pipeline-tools"),
    ],
)
def test_known_secrets_and_tokens_are_hidden_and_no_sign_of_a_shell_with_them(text: str, shown: str) -> None:
    assert re.sub(r"\[REDACTED:[0-9a-f]{4}\]", "[X]", TIGHT.text(text)) == shown


def test_values_of_every_depth_are_looked_at_and_too_deep_is_shown() -> None:
    deep: object = "s3cr3t-value"
    for _ in range(300):
        deep = [deep]
    assert "s3cr3t-value" in str(TIGHT.value({"a": deep}))  # type: ignore[dict-item]
    assert "s3cr3t-value" not in str(TIGHT.value({"a": [{"b": "s3cr3t-value", "c": 5}]}))


def test_no_argument_hides_behind_another_of_the_same_mark() -> None:
    names = {f"ghp_{number:024d}": number for number in range(2000)}
    assert sorted(TIGHT.value(names).values()) == list(range(2000))  # type: ignore[union-attr, arg-type]
