"""Hostile texts: rows of the two corpora, cut, spliced, repeated and sprinkled with what readers stumble over."""

from __future__ import annotations

import json
import random
from pathlib import Path

CORPORA = Path(__file__).parents[1] / "tests" / "conformance"

# Mutations in a row, and how large a text may grow by them, in characters.
MOST_MUTATIONS = 6
MOST_CHARS = 20_000

PIECES = (
    *"{}[]\"'\\,:/*`~<>|#$.+-019eExXu \n\t\r\x00\x1f\x7f\ufeff\u2028\ud800\u00e9\U0001f600",
    *("true", "null", "None", "NaN", "1e999", "0x1F", "007", "//", "/*", "*/", "\\u", "\\ud83d", '{"a":', "{'a':"),
    *(
        "<think>",
        "</think>",
        "<tool_call>",
        "</tool_call>",
        "<|tool_call>call:a{",
        "<tool_call|>",
        '<|"|>',
        "```json\n",
    ),
    *("```", "<|python_tag|>", "[TOOL_CALLS]", '{"tool_calls":[', '"name":"a"', '"arguments":{'),
)


def corpus() -> list[str]:
    """The inputs of both conformance tables."""
    rows = [
        json.loads(line) for path in sorted(CORPORA.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
    ]
    return [row.get("input", row.get("text", "")) for row in rows]


def mutated(rows: list[str], chance: random.Random) -> str:
    text = chance.choice(rows)
    for _ in range(chance.randint(1, MOST_MUTATIONS)):
        text = _once(text, rows, chance)[:MOST_CHARS]
    return text


def _once(text: str, rows: list[str], chance: random.Random) -> str:
    start, end = sorted(chance.randint(0, len(text)) for _ in range(2))
    match chance.randrange(6):
        case 0:
            return text[:end]
        case 1:
            return text[:start] + text[end:]
        case 2:
            return text[:start] + chance.choice(PIECES) + text[start:]
        case 3:
            return text[:start] + text[start:end] * chance.randint(2, 40) + text[end:]
        case 4:
            return text[:start] + chance.choice(rows) + text[end:]
        case _:
            return (
                json.dumps(text) if chance.random() < 0.3 else text[:start] + chr(chance.randrange(128)) + text[end:]
            )
