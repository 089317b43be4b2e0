"""What the model gets of a server's answer, a table where it is pure and one call of everything at once."""

from __future__ import annotations

from typing import Any

import pytest
from benches import odd, opened

from hookgate.tools.mcp.results import MAX_DATA_BYTES, MAX_MEDIA, MAX_TEXT_BYTES, Answered, frame, tool_result

WHOSE = Answered("srv", "srv__tool")


def made(*content: dict[str, Any], **more: Any) -> Any:
    from mcp_types import CallToolResult

    return tool_result(WHOSE, CallToolResult.model_validate({"content": list(content), **more}))


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def test_texts_are_joined_behind_one_line_that_says_what_they_are() -> None:
    assert made(text("one"), text("two")).for_llm == f"{frame('srv')}\none\ntwo"


def test_an_answer_without_content_says_so() -> None:
    assert made().for_llm == f"{frame('srv')}\n(no output)"


def test_structured_content_alone_is_shown_as_json() -> None:
    result = made(structuredContent={"a": [1]})
    assert (result.for_llm, result.data) == (f'{frame("srv")}\n{{"a":[1]}}', {"a": [1]})


def test_an_error_is_a_failure_of_kind_unknown_with_the_servers_words() -> None:
    result = made(text("disk full"), isError=True)
    assert result.error is not None
    assert (result.is_error, result.error.kind, result.error.op) == (True, "unknown", "srv__tool")
    assert result.for_llm == f"ERROR (unknown) srv__tool: {frame('srv')}\ndisk full"


def test_a_long_text_is_cut_on_a_character_boundary() -> None:
    result = made(text("é" * MAX_TEXT_BYTES))
    assert len(result.for_llm.encode()) < MAX_TEXT_BYTES + 100
    assert "\N{REPLACEMENT CHARACTER}" not in result.for_llm
    assert result.for_llm.endswith("bytes more]")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"a": "x" * MAX_DATA_BYTES}, "bytes, more than 1048576"),
        ({"a": float("nan")}, ""),
    ],
)
def test_structured_content_that_cannot_be_passed_on_is_left_out(content: dict[str, Any], problem: str) -> None:
    result = made(text("text"), structuredContent=content)
    assert (problem in result.for_llm, "text" in result.for_llm) == (True, True)
    assert result.data in (None, {"a": None})


def test_structured_content_nested_too_deep_is_left_out() -> None:
    deep: Any = 1
    for _ in range(70):
        deep = {"a": deep}
    result = made(text("text"), structuredContent=deep)
    assert (result.is_error, result.data, "nests deeper" in result.for_llm) == (True, None, True)


def test_media_beyond_the_limit_are_named_and_left_out() -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    result = made(*[image] * (MAX_MEDIA + 2))
    assert len(result.media) == MAX_MEDIA
    assert result.for_llm.count(f"left out: there are more than {MAX_MEDIA}") == 2


async def test_every_sort_of_content_reaches_the_model_in_order() -> None:
    async with opened(odd()) as bench:
        result = await bench.call("odd__mixed")
    assert result.for_llm.split("\n") == [
        frame("odd"),
        "first",
        "[image (image/png) attached]",
        "[audio (audio/wav) attached]",
        "[image (image/png) left out: it is not base64]",
        "[image (text/html) left out: it is neither an image nor audio]",
        "[image (image/png) left out: it has 6000000 bytes, more than 5242880]",
        "[resource a://text (text/plain)]",
        "inside",
        "[resource a://blob (application/zip), binary, 3 bytes: left out]",
        "[resource a://pixel (image/png) attached]",
        "[resource link a://link (unknown type) linked: elsewhere]",
    ]
    assert [url.partition(",")[0] for url in result.media] == [
        "data:image/png;base64",
        "data:audio/wav;base64",
        "data:image/png;base64",
    ]
