"""Anthropic's messages API over real HTTP on loopback: what is sent and how its events become a reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import trio

from hookgate.protocol.errors import ProviderFailed, ProviderFault
from hookgate.protocol.values import LLMReply, LLMRequest, Message, ProposedCall, ToolSpec, Usage
from hookgate.protocol.values.delta import CallPiece, Counted, Delta, Thought
from hookgate.providers.anthropic.provider import open_anthropic
from tests.model_server import Answer, Received, event, open_model_server, plain
from tests.providers.streamed import words, written

Ask = Callable[..., LLMRequest]


def stream(*values: dict[str, Any], stop: str = "end_turn", ended: bool = True) -> Answer:
    """The events between message_start and message_stop."""
    counted = {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 1}
    first = {"type": "message_start", "message": {"id": "m", "model": "served", "usage": counted}}
    last = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}}
    whole = [first, {"type": "ping"}, *values, *([last, {"type": "message_stop"}] if ended else [])]
    return Answer(tuple(event(value, value["type"]) for value in whole))


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text_block(index: int, *words: str) -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": word} for word in words))


def use_block(index: int, id_: str, name: str, *pieces: str, **given: Any) -> list[dict[str, Any]]:
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return block(index, {"type": "tool_use", "id": id_, "name": name, "input": given}, *deltas)


OK = stream(*text_block(0, "ok"))


async def complete(answer: Answer, request: LLMRequest, on_text: Callable[[Delta], None]) -> LLMReply:
    with trio.fail_after(10):
        async with open_model_server(answer) as server, open_anthropic("key", server.base_url) as provider:
            return await provider.complete(request, on_text)


async def sent(request: LLMRequest) -> Received:
    with trio.fail_after(10):
        async with open_model_server(OK) as server, open_anthropic("key", server.base_url) as provider:
            await provider.complete(request, print)
            return server.requests[0]


async def turns(*messages: Message) -> list[dict[str, Any]]:
    return (await sent(LLMRequest("m", messages))).body["messages"]


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


# --- what is sent -------------------------------------------------------------------------------------------


async def test_a_request_carries_key_version_system_and_a_token_limit() -> None:
    request = LLMRequest("m", (Message("system", "be kind"), Message("user", "hi"), Message("system", "and brief")))
    received = await sent(request)
    assert received.path == "/v1/messages"
    assert (received.headers["x-api-key"], received.headers["anthropic-version"]) == ("key", "2023-06-01")
    assert received.body == {
        "model": "m",
        "system": "be kind\n\nand brief",
        "messages": [{"role": "user", "content": [text("hi")]}],
        "max_tokens": 4096,
        "stream": True,
    }


async def test_options_win_over_the_default_limit_but_not_over_streaming(ask: Ask) -> None:
    body = (await sent(ask("hi", max_tokens=9, stream=False, top_k=3))).body
    assert (body["max_tokens"], body["stream"], body["top_k"], "system" in body) == (9, True, 3, False)


@pytest.mark.parametrize(("limit", "asked"), [(None, 9096), (4096, 4096), (5000, 5000), (5001, 5001)])
async def test_thinking_leaves_room_for_an_answer_or_is_not_asked_for(
    ask: Ask, limit: int | None, asked: int
) -> None:
    thinking = {"type": "enabled", "budget_tokens": 5000}
    body = (await sent(ask("hi", max_tokens=limit, thinking=thinking))).body
    assert (body["max_tokens"], body.get("thinking")) == (asked, thinking if asked > 5000 else None)


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
async def test_a_base_url_may_end_in_the_version_or_not(ask: Ask, suffix: str) -> None:
    async with open_model_server(OK) as server:
        async with open_anthropic(None, server.base_url.removesuffix("/v1") + suffix) as provider:
            await provider.complete(ask(), print)
        assert server.requests[0].path == "/v1/messages"
        assert "x-api-key" not in server.requests[0].headers


async def test_results_of_one_step_share_a_user_turn_with_what_the_user_says_next() -> None:
    calls = (ProposedCall("t1", "web.fetch", '{"u": 1}'), ProposedCall("functions.ls:0", "ls", ""))
    got = await turns(
        Message("user", "go"),
        Message("assistant", "Looking.", tool_calls=calls),
        Message("tool", "page", tool_call_id="t1"),
        Message("tool", "files", tool_call_id="functions.ls:0"),
        Message("user", "faster"),
    )
    assert [turn["role"] for turn in got] == ["user", "assistant", "user"]
    said, first, second = got[1]["content"]
    assert said == text("Looking.")
    assert first == {"type": "tool_use", "id": "t1", "name": "web_fetch", "input": {"u": 1}}
    assert (second["name"], second["input"]) == ("ls", {})
    assert got[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": [text("page")]},
        {"type": "tool_result", "tool_use_id": second["id"], "content": [text("files")]},
        text("faster"),
    ]


async def test_turns_alternate_and_start_with_the_user_and_empty_text_is_left_out() -> None:
    got = await turns(
        Message("assistant", "earlier"),
        Message("assistant", ""),
        Message("user", "a"),
        Message("user", " "),
        Message("system", "s"),
        Message("user", "b"),
    )
    assert [(turn["role"], len(turn["content"])) for turn in got] == [("user", 1), ("assistant", 1), ("user", 2)]


@pytest.mark.parametrize("arguments", ["{bad", "[1]", '"x"'])
async def test_arguments_that_are_no_object_are_kept_as_text(arguments: str) -> None:
    got = await turns(
        Message("user", "go"),
        Message("assistant", "", tool_calls=(ProposedCall("1", "t", arguments),)),
        Message("tool", "bad arguments", tool_call_id="1"),
    )
    assert got[1]["content"][0]["input"] == {"unreadable": arguments}


async def test_pictures_of_users_and_tools_become_image_blocks() -> None:
    media = ("data:image/png;base64,AAAA", "https://example.invalid/a.jpg", "data:audio/ogg;base64,BB")
    inline = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    linked = {"type": "image", "source": {"type": "url", "url": media[1]}}
    got = await turns(
        Message("user", "look", media=media),
        Message("assistant", "", tool_calls=(ProposedCall("1", "shot", "{}"),)),
        Message("tool", "taken", tool_call_id="1", media=media[:1]),
    )
    assert got[0]["content"] == [inline, linked, text("[attachment: audio/ogg]"), text("look")]
    assert got[2]["content"][0]["content"] == [text("taken"), inline]


async def test_a_failed_result_says_so_where_the_api_takes_that() -> None:
    calls = tuple(ProposedCall(id_, "t", "{}") for id_ in ("1", "2", "3"))
    picture = ("data:image/png;base64,AAAA",)
    got = await turns(
        Message("user", "go"),
        Message("assistant", "", tool_calls=calls),
        Message("tool", "[exit 1]", tool_call_id="1", is_error=True),
        Message("tool", "ERROR (unknown) in a text", tool_call_id="2"),
        Message("tool", "with a picture", tool_call_id="3", media=picture, is_error=True),
    )
    assert [it.get("is_error", False) for it in got[2]["content"]] == [True, False, False]


async def test_tools_are_offered_with_an_object_schema_and_names_come_back() -> None:
    request = LLMRequest("m", (Message("user", "?"),), (ToolSpec("weather.today", "Tells.", {}),))
    with trio.fail_after(10):
        async with (
            open_model_server(stream(*use_block(0, "t1", "weather_today", "{}"))) as server,
            open_anthropic("key", server.base_url) as provider,
        ):
            reply = await provider.complete(request, print)
            offered = server.requests[0].body["tools"]
    assert offered == [{"name": "weather_today", "description": "Tells.", "input_schema": {"type": "object"}}]
    assert reply.tool_calls == (ProposedCall("t1", "weather.today", "{}"),)


# --- what comes back ----------------------------------------------------------------------------------------


async def test_text_calls_reasoning_and_usage_become_one_reply(ask: Ask, heard: list[Delta]) -> None:
    thought = {"type": "thinking_delta", "thinking": "hm"}
    answer = stream(
        *block(0, {"type": "thinking", "thinking": ""}, thought, {"type": "signature_delta", "signature": "s"}),
        *text_block(1, "Let me ", "look\u2028"),
        *use_block(2, "t1", "read", "", '{"pa', 'th": "a"}'),
        *use_block(3, "t2", "ls"),
        *use_block(4, "t3", "cat", n=1),
        stop="tool_use",
    )
    reply = await complete(answer, ask(), heard.append)
    calls = (ProposedCall("t1", "read", '{"path": "a"}'), ProposedCall("t2", "ls", "{}"))
    assert words(heard) == ["Let me ", "look\u2028"]
    assert heard[:2] == [Counted(Usage(17, 1, 5, 2)), Thought("hm")]
    assert heard[4:6] == [CallPiece("t1", "read"), CallPiece("t1", "read", '{"pa')]
    assert written(heard) == [("t1", "read", '{"path": "a"}'), ("t2", "ls", "{}"), ("t3", "cat", '{"n":1}')]
    assert reply == LLMReply(
        model="m-1",
        content="Let me look\u2028",
        tool_calls=(*calls, ProposedCall("t3", "cat", '{"n":1}')),
        finish_reason="tool_calls",
        usage=Usage(prompt_tokens=17, completion_tokens=9, cached_tokens=5, cache_write_tokens=2),
        reasoning="hm",
    )


@pytest.mark.parametrize(
    ("given", "meant"),
    [("end_turn", "stop"), ("stop_sequence", "stop"), ("max_tokens", "length"), ("refusal", "content_filter"),
     ("model_context_window_exceeded", "length"), ("something_new", "something_new")],
)  # fmt: skip
async def test_stop_reasons_become_the_common_vocabulary(ask: Ask, given: str, meant: str) -> None:
    assert (await complete(stream(*text_block(0, "x"), stop=given), ask(), print)).finish_reason == meant


async def test_blocks_of_one_number_are_two_blocks(ask: Ask, heard: list[Delta]) -> None:
    """Whoever was told of a call must find it in the reply."""
    answer = stream(
        *use_block(0, "a", "read", '{"n":1}'), *use_block(-7, "b", "read", '{"n":2}'), *text_block(0, "ok")
    )
    reply = await complete(answer, ask(), heard.append)
    assert [(call.id, call.arguments) for call in reply.tool_calls] == [("a", '{"n":1}'), ("b", '{"n":2}')]
    assert reply.content == "ok"


async def test_no_count_is_larger_than_every_language_can_hold(ask: Ask, heard: list[Delta]) -> None:
    told = {
        "type": "message_delta",
        "delta": {},
        "usage": {"input_tokens": 10**4000, "cache_read_input_tokens": 1e300},
    }
    usage = (await complete(stream(*text_block(0, "ok"), told), ask(), heard.append)).usage
    assert usage is not None
    assert usage.total_tokens < 2**53


async def test_a_byte_order_mark_costs_no_event(ask: Ask, heard: list[Delta]) -> None:
    nameless = OK.pieces[0].partition(b"\n")[2]
    marked = replace(OK, pieces=(b"\xef\xbb\xbf" + nameless, *OK.pieces[1:]))
    reply = await complete(marked, ask(), heard.append)
    assert reply.usage is not None
    assert reply.usage.prompt_tokens == 17


async def test_a_server_that_does_not_stream_is_understood(ask: Ask, heard: list[Delta]) -> None:
    use = {"type": "tool_use", "id": "t", "name": "ls", "input": {"p": 1}}
    body = {"content": [text("hello"), use], "stop_reason": "tool_use", "usage": {"input_tokens": 3}}
    reply = await complete(plain(body), ask(), heard.append)
    assert (words(heard), reply.content, reply.finish_reason) == (["hello"], "hello", "tool_calls")
    assert written(heard) == [("t", "ls", '{"p":1}')]
    assert (reply.tool_calls, reply.usage) == ((ProposedCall("t", "ls", '{"p":1}'),), Usage(3))


def error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (stream(*text_block(0, "x"), error("overloaded_error", "Overloaded"), ended=False), "server"),
        (stream(error("rate_limit_error", "slow down"), ended=False), "rate_limit"),
        (plain(error("overloaded_error", "Overloaded"), 529), "server"),
        (plain(error("authentication_error", "invalid x-api-key"), 401), "auth"),
        (plain(error("invalid_request_error", "prompt is too long: 2 tokens > 1 maximum"), 400), "overflow"),
        (plain(error("invalid_request_error", "max_tokens: must be positive"), 400), "format"),
        (stream(*text_block(0, "x"), ended=False), "network"),
        (
            replace(stream(*text_block(0, "x")), pieces=stream(*text_block(0, "x")).pieces[:4], ending="cut"),
            "network",
        ),
        (stream(), "empty"),
        (stream(*text_block(0, ""), stop="refusal"), "empty"),
    ],
)
async def test_each_way_of_failing_has_its_kind(ask: Ask, answer: Answer, kind: ProviderFault) -> None:
    with trio.fail_after(10):
        async with open_model_server(answer) as server, open_anthropic("key", server.base_url) as provider:
            with pytest.raises(ProviderFailed) as failed:
                await provider.complete(ask(), print)
    assert failed.value.kind == kind


# --- thinking -----------------------------------------------------------------------------------------------

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "signed"}
HIDDEN = {"type": "redacted_thinking", "data": "blob"}
THINKING_CALL = stream(
    *block(0, {"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": "hm"},
           {"type": "signature_delta", "signature": "signed"}),
    *block(1, HIDDEN),
    *use_block(2, "t1", "ls"),
    stop="tool_use",
)  # fmt: skip


def after_call(reply: LLMReply) -> LLMRequest:
    said = Message("assistant", reply.content, tool_calls=reply.tool_calls)
    result = Message("tool", "files", tool_call_id=reply.tool_calls[0].id)
    return LLMRequest("m", (Message("user", "go"), said, result), options={"thinking": {"type": "enabled"}})


async def test_signed_thinking_goes_back_with_the_results_of_its_calls(ask: Ask) -> None:
    with trio.fail_after(10):
        async with open_model_server(THINKING_CALL, OK) as server, open_anthropic("k", server.base_url) as provider:
            reply = await provider.complete(ask("go", thinking={"type": "enabled"}), print)
            await provider.complete(after_call(reply), print)
            body = server.requests[1].body
    assert body["messages"][1]["content"][:2] == [THOUGHT, HIDDEN]
    assert body["thinking"] == {"type": "enabled"}


async def test_what_was_thought_in_one_conversation_is_never_sent_in_another_whatever_ids_a_server_gives(
    ask: Ask,
) -> None:
    def thinks(secret: str) -> Answer:
        thinking = ({"type": "thinking_delta", "thinking": secret}, {"type": "signature_delta", "signature": "s"})
        return stream(
            *block(0, {"type": "thinking", "thinking": ""}, *thinking),
            *use_block(1, "toolu_1", "read"),
            stop="tool_use",
        )

    with trio.fail_after(10):
        async with (
            open_model_server(thinks("of Ann"), thinks("of Bob"), OK, OK) as server,
            open_anthropic("key", server.base_url) as provider,
        ):
            asked = [ask(), ask()]
            replies = [await provider.complete(request, print) for request in asked]
            for request, reply in zip(asked, replies, strict=True):
                said = Message("assistant", "", tool_calls=reply.tool_calls)
                done = Message("tool", "done", tool_call_id=reply.tool_calls[0].id)
                await provider.complete(replace(request, messages=(*request.messages, said, done)), print)
    assert all("of " not in str(request.body["messages"]) for request in server.requests[2:])


async def test_a_step_whose_thinking_is_forgotten_goes_without_thinking() -> None:
    request = after_call(LLMReply("m", "", (ProposedCall("t1", "ls", "{}"),)))
    assert "thinking" not in (await sent(request)).body
    fresh = replace(request, messages=(*request.messages, Message("assistant", "done"), Message("user", "next")))
    assert "thinking" in (await sent(fresh)).body
