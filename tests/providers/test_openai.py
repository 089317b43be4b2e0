"""Chat completions over real HTTP on loopback: what is sent, and every way in which servers answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from hookgate.protocol.errors import ProviderFailed
from hookgate.protocol.values import LLMReply, LLMRequest, Message, ProposedCall, ToolSpec, Usage
from hookgate.protocol.values.delta import CallPiece, Counted, Delta, Thought
from hookgate.providers.openai.provider import open_openai
from tests.model_server import Answer, Received, calls, chunk, event, events, open_model_server, plain, says, usage
from tests.providers.streamed import words, written

Ask = Callable[..., LLMRequest]


async def complete(answer: Answer, request: LLMRequest, on_text: Callable[[Delta], None]) -> LLMReply:
    with trio.fail_after(10):
        async with open_model_server(answer) as server, open_openai(server.base_url, "sk-test") as provider:
            return await provider.complete(request, on_text)


async def sent(request: LLMRequest) -> Received:
    with trio.fail_after(10):
        async with open_model_server(says("ok")) as server, open_openai(server.base_url, " sk-test\n") as provider:
            await provider.complete(request, print)
            return server.requests[0]


def call_delta(index: int | None = 0, **members: Any) -> dict[str, Any]:
    function = {name: members.pop(name) for name in ("name", "arguments") if name in members}
    numbered = {} if index is None else {"index": index}
    return chunk({"tool_calls": [{**numbered, **members, "function": function}]})


# --- what is sent -------------------------------------------------------------------------------------------


async def test_a_request_carries_key_model_options_and_asks_for_usage(ask: Ask) -> None:
    received = await sent(ask("hi", temperature=0.5, seed=None, stream=False))
    assert received.path == "/v1/chat/completions"
    assert received.headers["authorization"] == "Bearer sk-test"
    assert received.body == {
        "model": "m-1",
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0.5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_a_budget_for_thinking_that_the_messages_api_has_goes_to_no_other(ask: Ask) -> None:
    for thinking, goes in (({"type": "enabled", "budget_tokens": 4096}, False), ({"type": "enabled"}, True)):
        body = (await sent(ask("hi", max_tokens=9000, thinking=thinking))).body
        assert (body["max_tokens"], "thinking" in body) == (9000, goes)


async def test_calls_and_results_go_out_under_names_that_the_api_takes() -> None:
    messages = (
        Message("system", "be kind"),
        Message("user", "weather?"),
        Message("assistant", "", tool_calls=(ProposedCall("c1", "weather.today", ""),)),
        Message("tool", "rain", tool_call_id="c1"),
    )
    body = (await sent(LLMRequest("m", messages, (ToolSpec("weather.today", "Tells.", {}),)))).body
    function = {"name": "weather_today", "arguments": "{}"}
    assert body["messages"][0] == {"role": "system", "content": "be kind"}
    assert body["messages"][2:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    ]
    assert body["tools"][0]["function"] == {
        "name": "weather_today",
        "description": "Tells.",
        "parameters": {"type": "object", "properties": {}},
    }


async def test_pictures_become_parts_and_other_attachments_a_note() -> None:
    media = ("data:image/png;base64,AAAA", "https://example.invalid/a.jpg", "data:application/pdf;base64,BBBB")
    content = (await sent(LLMRequest("m", (Message("user", "look", media=media),)))).body["messages"][0]["content"]
    assert content == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": media[0]}},
        {"type": "image_url", "image_url": {"url": media[1]}},
        {"type": "text", "text": "[attachment: application/pdf]"},
    ]


async def test_a_tool_s_picture_follows_all_results_of_the_step() -> None:
    messages = (
        Message("assistant", "", tool_calls=(ProposedCall("1", "shot", "{}"), ProposedCall("2", "ls", "{}"))),
        Message("tool", "taken", tool_call_id="1", media=("data:image/png;base64,AAAA",)),
        Message("tool", "a b", tool_call_id="2"),
        Message("user", "and?"),
    )
    body = (await sent(LLMRequest("m", messages))).body
    assert [message["role"] for message in body["messages"]] == ["assistant", "tool", "tool", "user", "user"]
    assert body["messages"][3]["content"][1] == {"type": "image_url", "image_url": {"url": messages[1].media[0]}}


async def test_a_base_url_keeps_its_query(ask: Ask) -> None:
    async with (
        open_model_server(says("ok")) as server,
        open_openai(f"{server.base_url}/?api-version=9", None) as provider,
    ):
        await provider.complete(ask(), print)
        assert server.requests[0].path == "/v1/chat/completions?api-version=9"
        assert "authorization" not in server.requests[0].headers


# --- what comes back ----------------------------------------------------------------------------------------


async def test_text_is_streamed_in_order_and_returned_whole_with_its_usage(ask: Ask, heard: list[Delta]) -> None:
    reply = await complete(says("Good ", "morning"), ask(), heard.append)
    assert heard == ["Good ", "morning", Counted(Usage(7, 3))]
    assert reply == LLMReply("m-1", "Good morning", usage=Usage(7, 3))


async def test_line_separators_inside_a_text_tear_nothing(ask: Ask, heard: list[Delta]) -> None:
    reply = await complete(says("a\u2028b\u0085c", "\u2029\x0bd"), ask(), heard.append)
    assert reply.content == "a\u2028b\u0085c\u2029\x0bd"


async def test_a_character_cut_across_two_packets_arrives_whole(ask: Ask, heard: list[Delta]) -> None:
    whole = b"".join(says("grüße 🌧").pieces)
    at = whole.index("🌧".encode()) + 2
    reply = await complete(Answer((whole[:at], whole[at:])), ask(), heard.append)
    assert reply.content == "grüße 🌧"


async def test_arguments_in_many_pieces_join_to_one_call(ask: Ask, heard: list[Delta]) -> None:
    text = '{"path": "a \\u00fc.txt", "n": [1, 2, 3]}'
    pieces = [call_delta(arguments=character) for character in text]
    answer = events(call_delta(id="c9", name="read", arguments=""), *pieces, chunk({}, "tool_calls"))
    reply = await complete(answer, ask(), heard.append)
    assert reply.tool_calls == (ProposedCall("c9", "read", text),)
    assert (reply.content, reply.finish_reason) == ("", "tool_calls")
    assert heard[:2] == [CallPiece("c9", "read"), CallPiece("c9", "read", "{")]
    assert written(heard) == [("c9", "read", text)]


async def test_two_hundred_calls_in_one_chunk_keep_their_order(ask: Ask, heard: list[Delta]) -> None:
    deltas = [
        {"index": i, "id": f"c{i}", "function": {"name": f"t{i}", "arguments": f'{{"n":{i}}}'}} for i in range(200)
    ]
    reply = await complete(events(chunk({"tool_calls": deltas}, "tool_calls")), ask(), heard.append)
    assert [(call.id, call.name) for call in reply.tool_calls] == [(f"c{i}", f"t{i}") for i in range(200)]


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        # Interleaved pieces belong to their index.
        (
            [
                call_delta(0, id="a", name="x"),
                call_delta(1, id="b", name="y"),
                call_delta(0, arguments='{"n":'),
                call_delta(1, arguments="{}"),
                call_delta(0, arguments="1}"),
            ],
            [("a", "x", '{"n":1}'), ("b", "y", "{}")],
        ),
        # No index and no id at all.
        (
            [call_delta(None, name="x", arguments="{"), call_delta(None, arguments="}"), call_delta(None, name="y")],
            [("call_1", "x", "{}"), ("call_2", "y", "{}")],
        ),
        # Every call numbered 0.
        (
            [call_delta(0, id="a", name="x", arguments="{}"), call_delta(0, id="b", name="x", arguments="{}")],
            [("a", "x", "{}"), ("b", "x", "{}")],
        ),
        (
            [call_delta(0, id="", name="x", arguments="{}"), call_delta(0, id="", name="y", arguments='{"b":2}')],
            [("call_1", "x", "{}"), ("call_2", "y", '{"b":2}')],
        ),
        # The name again with each piece.
        (
            [call_delta(0, id="a", name="x", arguments=piece) for piece in ('{"s":"}\\', '"', '{"}', "{}")],
            [("a", "x", '{"s":"}\\"{"}'), ("call_1", "x", "{}")],
        ),
        # A name without arguments, and an id that comes after the name.
        (
            [call_delta(0, name="x"), call_delta(0, id="a"), call_delta(1, id="b", name="y")],
            [("a", "x", "{}"), ("b", "y", "{}")],
        ),
        # A new id with each piece.
        ([call_delta(0, id="a", name="x", arguments="{"), call_delta(0, id="b", arguments="}")], [("a", "x", "{}")]),
        # Arguments as an object.
        ([call_delta(0, id="a", name="x", arguments={"n": 1})], [("a", "x", '{"n":1}')]),
        # Arguments that are no JSON are passed on: repairing them is not the provider's business.
        ([call_delta(0, id="a", name="x", arguments="{'n': 1")], [("a", "x", "{'n': 1")]),
    ],
)
async def test_calls_are_told_apart_however_a_server_numbers_them(
    ask: Ask, heard: list[Delta], chunks: list[Any], expected: list[tuple[str, str, str]]
) -> None:
    reply = await complete(events(*chunks, chunk({}, "stop")), ask(), heard.append)
    assert written(heard) == expected
    assert [(call.id, call.name, call.arguments) for call in reply.tool_calls] == expected
    assert reply.finish_reason == "tool_calls"


async def test_names_come_back_as_the_tools_are_called_here(heard: list[Delta]) -> None:
    request = LLMRequest("m", (Message("user", "?"),), (ToolSpec("weather.today", "", {}),))
    reply = await complete(calls(("1", "weather_today", "{}"), ("2", "made_up", "{}")), request, heard.append)
    assert [call.name for call in reply.tool_calls] == ["weather.today", "made_up"]
    assert [name for _, name, _ in written(heard)] == ["weather.today", "made_up"]


@pytest.mark.parametrize(
    ("given", "meant"),
    [("stop", "stop"), ("STOP", "stop"), ("eos", "stop"), ("length", "length"), ("max_tokens", "length"),
     ("content_filter", "content_filter"), ("tool_calls", "stop")],
)  # fmt: skip
async def test_finish_reasons_of_many_servers_become_one_vocabulary(ask: Ask, given: str, meant: str) -> None:
    reply = await complete(events(chunk({"content": "x"}, given)), ask(), print)
    assert reply.finish_reason == meant


async def test_a_cut_call_is_still_marked_as_cut_by_length(ask: Ask) -> None:
    reply = await complete(events(call_delta(id="a", name="x", arguments='{"n'), chunk({}, "length")), ask(), print)
    assert (reply.finish_reason, reply.tool_calls[0].arguments) == ("length", '{"n')


@pytest.mark.parametrize("member", ["reasoning_content", "reasoning"])
async def test_reasoning_is_kept_apart_from_the_text(ask: Ask, heard: list[Delta], member: str) -> None:
    answer = events(chunk({member: "let me "}), chunk({member: "see"}), chunk({"content": "4"}, "stop"))
    reply = await complete(answer, ask(), heard.append)
    assert (reply.reasoning, reply.content, words(heard)) == ("let me see", "4", ["4"])
    assert heard[:2] == [Thought("let me "), Thought("see")]


async def test_comments_nulls_and_chunks_without_choices_are_no_trouble(ask: Ask, heard: list[Delta]) -> None:
    odd = {"choices": [{"delta": {"content": None, "tool_calls": None}, "finish_reason": None}]}
    pieces = (b": KEEPALIVE\n\n", b"\n\n", event({"choices": []}), event({"prompt_filter_results": []}), event(odd))
    ok = event({"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}], "error": None})
    answer = Answer((*pieces, b"retry: 10\n", ok, event(usage(11, 2, cached=5)), b"data: [DONE]\r\n\r\n"))
    reply = await complete(answer, ask(), heard.append)
    assert (reply.content, reply.usage) == ("ok", Usage(11, 2, 5))


async def test_a_server_that_does_not_stream_is_understood(ask: Ask, heard: list[Delta]) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "x", "arguments": "{}"}}
    choice = {"index": 0, "message": {"content": "hello", "tool_calls": [call]}, "finish_reason": "tool_calls"}
    counted = {"prompt_tokens": 5, "completion_tokens": 1}
    reply = await complete(plain({"choices": [choice], "usage": counted}), ask(), heard.append)
    assert (words(heard), written(heard)) == (["hello"], [("c", "x", "{}")])
    assert (reply.tool_calls, reply.usage) == ((ProposedCall("c", "x", "{}"),), Usage(5, 1))


@pytest.mark.parametrize(
    "answer",
    [events(chunk({"content": ""}, "stop")), events(chunk({"content": " \n"}, "stop")), events(), plain({}),
     plain({"choices": []}), events(chunk({"reasoning": "hm"}, "length"))],
)  # fmt: skip
async def test_an_answer_with_neither_text_nor_call_is_a_failure_of_its_own(ask: Ask, answer: Answer) -> None:
    with trio.fail_after(10):
        async with open_model_server(answer) as server, open_openai(server.base_url) as provider:
            with pytest.raises(ProviderFailed) as failed:
                await provider.complete(ask(), print)
    assert failed.value.kind == "empty"


async def test_many_calls_at_once_keep_to_their_own_answers(ask: Ask) -> None:
    replies: dict[int, str] = {}
    async with open_model_server() as server, open_openai(server.base_url) as provider:

        async def one(number: int) -> None:
            replies[number] = (await provider.complete(ask(f"number {number}"), lambda _: None)).content

        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                for number in range(30):
                    nursery.start_soon(one, number)
    assert replies == {number: f"number {number}" for number in range(30)}
