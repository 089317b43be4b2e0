"""A request becomes a message: who says it where, what of it is new, whether it was said before. Answers nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import time
from typing import Any

from hookgate.channels.http.requests import trace_of
from hookgate.channels.openai.completions.wire import CompletionRequest
from hookgate.channels.openai.errors import ApiError, bad_request
from hookgate.channels.openai.history import new_tail
from hookgate.channels.openai.identity import (
    ALONE,
    IDEMPOTENCY,
    KEYED,
    RETRIES,
    Addressed,
    Identity,
    agent_of,
    chat_of,
    identify,
    named_call,
    named_response,
    place,
)
from hookgate.channels.openai.request_messages import (
    RequestMessages,
    Tail,
    check_history,
    joined,
    may_be_called,
    options_of,
    read_messages,
    tools_of,
)
from hookgate.channels.openai.responses.messages import read_input, response_options
from hookgate.channels.openai.responses.wire import ResponseRequest
from hookgate.channels.openai.settings import DEFAULT_MODEL, OpenAIParts, OpenAISettings
from hookgate.channels.openai.wire import Function
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.chat.client_input import ClientInput
from hookgate.protocol.chat.media import MediaRefused, inline
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.journal.values import Conversation
from hookgate.protocol.journal.views import Exchange
from hookgate.protocol.values import Json, Message

MOST_SAID = 100_000
"""Of one conversation: what a client sends of it is compared from its beginning."""
REPEATED_S = 600.0
"""So long the same request, sent again by a client that says so, is the same one."""


@dataclass(frozen=True, slots=True)
class PlacedRequest:
    """`exchanges`: what was said there before, where the request goes on with something. `repeats`: its client may
    send it again by itself; `kept`: that, or what comes next, may be much later."""

    place: Addressed
    inbound: Inbound
    exchanges: tuple[Exchange, ...] = ()
    repeats: bool = False
    kept: bool = False


@dataclass(frozen=True, slots=True)
class Posted:
    """One request as it came: of whom, its headers in lower case, its body, and what tells that from every other."""

    user: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    digest: str


@dataclass(frozen=True, slots=True)
class _Given:
    """What a request says besides its messages. `functions`: the client's own, by where each stands; `names_choice`:
    the member that names the one that must be called; `kept`: it can be gone on with for long."""

    identity: Identity
    functions: Mapping[str, Function]
    options: Mapping[str, Json]
    names_choice: str
    kept: bool = False


class RequestReader:
    def __init__(self, settings: OpenAISettings, parts: OpenAIParts) -> None:
        self._channel, self._parts = settings.name, parts

    async def completion(self, posted: Posted, request: CompletionRequest) -> PlacedRequest:
        """Raises ApiError and StoreFailed."""
        identity, agent = identify(posted.headers, posted.body), self._chosen(request.model, posted.user)
        said = read_messages(request.messages)
        where = place(self._channel, posted.user, agent, identity, posted.digest)
        functions = {f"tools[{number}].function": it.function for number, it in enumerate(request.tools or ())}
        given = _Given(identity, functions, options_of(request), "tool_choice.function.name")
        if identity.session:
            return await self._asked(posted, given, where, said, await self.said(where.chat))
        linked = await self._linked(where, agent, said)
        return await self._asked(posted, given, *(linked or (where, said, ())))

    async def response(self, posted: Posted, request: ResponseRequest) -> PlacedRequest:
        """Raises ApiError and StoreFailed."""
        identity, agent = identify(posted.headers, posted.body), self._chosen(request.model, posted.user)
        said = read_input(request)
        where = place(self._channel, posted.user, agent, identity, posted.digest)
        functions = {f"tools[{number}]": it for number, it in enumerate(request.tools or ())}
        kept = request.store is not False
        given = _Given(identity, functions, response_options(request), "tool_choice.name", kept)
        if request.previous_response_id:
            before = await self.answered(posted.user, request.previous_response_id)
            if before is None:
                told = f"there is no response {request.previous_response_id!r} here, or not any more"
                raise bad_request(told, "previous_response_id", "previous_response_not_found")
            chat, exchanges, at = before
            if (again := _known(exchanges[at + 1 :], Addressed(chat, where.message), identity)) is not None:
                return PlacedRequest(Addressed(chat, again.message_id), again, (), True)
            said = replace(said, messages=tuple(map(_as_known, said.messages)))
            if agent_of(chat) == agent and at == len(exchanges) - 1:
                given = replace(given, identity=replace(identity, keeper="server"))
                return await self._asked(posted, given, Addressed(chat, where.message), said, exchanges)
            # Something was said after it already, or to another agent: that stays, and this goes another way.
            history = (entry.message for it in exchanges[: at + 1] for _, entry in it.entries)
            return await self._asked(posted, given, where, replace(said, messages=(*history, *said.messages)), ())
        if identity.session:
            return await self._asked(posted, given, where, said, await self.said(where.chat))
        linked = await self._linked(where, agent, said)
        return await self._asked(posted, given, *(linked or (where, said, ())))

    async def answered(self, user: str, response: str) -> tuple[Chat, tuple[Exchange, ...], int] | None:
        """The chat that a response of this user's was said in, what else was, and its place in that."""
        thread, message = named_response(response)
        chat = Chat(self._channel, user, user, thread=thread)
        said = await self.said(chat) if thread else ()
        exchanges = tuple(it for it in said if it.inbound and (it.entries or it.outcome is None))
        at = next((n for n, it in enumerate(exchanges) if it.inbound and it.inbound.message_id == message), None)
        return None if at is None else (chat, exchanges, at)

    async def _asked(
        self, posted: Posted, given: _Given, where: Addressed, said: RequestMessages, exchanges: tuple[Exchange, ...]
    ) -> PlacedRequest:
        identity = given.identity
        may_repeat = identity.key != "" or RETRIES in posted.headers
        before = exchanges or await self._before(where, identity)
        if (known := _known(before, where, identity)) is not None:
            return PlacedRequest(Addressed(known.chat, known.message_id), known, (), True)
        tail = await self._kept(self._tail(said, exchanges, identity), where.chat)
        choice = given.options.get("tool_choice")
        ours = self._parts.tools(where.chat) if given.functions or choice is not None else ()
        tools = may_be_called(tools_of(given.functions, ours), ours, choice, given.names_choice)
        client = ClientInput(said.system, tail.messages, tools, given.options)
        its = (where.chat, tail.text, tail.media, where.message, tail.replaces)
        inbound = Inbound(*its, client=client, trace=trace_of(posted.headers))
        return PlacedRequest(where, inbound, exchanges, may_repeat, identity.key != "" or given.kept)

    def agent(self, model: str) -> str:
        """Raises ApiError; empty: none is chosen."""
        if model == DEFAULT_MODEL:
            return ""
        if model not in self._parts.agents():
            raise ApiError(
                404, f"there is no model {model!r} here: GET /v1/models lists them", "model", "model_not_found"
            )
        return model

    def _chosen(self, model: str, user: str) -> str:
        """The one that answers there anyway is the one that nobody has chosen: both have the same conversations."""
        agent = self.agent(model)
        return "" if agent and self._parts.agent(chat_of(self._channel, user, "", "")) == agent else agent

    async def said(self, chat: Chat) -> tuple[Exchange, ...]:
        return await self._parts.journal.chats.said(await self.conversation(chat), MOST_SAID)

    async def conversation(self, chat: Chat) -> Conversation:
        return await self._parts.journal.intake.conversation(chat.session_key, self._parts.agent(chat))

    def _tail(self, said: RequestMessages, exchanges: Sequence[Exchange], identity: Identity) -> Tail:
        if exchanges or identity.keeper == "server":
            return new_tail(said.messages, exchanges, identity.keeper)
        before, text, media = joined(said.messages)
        check_history(before)
        return Tail(before, text, media)

    async def _linked(
        self, where: Addressed, agent: str, said: RequestMessages
    ) -> tuple[Addressed, RequestMessages, tuple[Exchange, ...]] | None:
        """Results of calls that a request of its own has led to: it goes on where the calls are known."""
        results = [it for it in said.messages if it.role == "tool"]
        session, _ = named_call(results[-1].tool_call_id) if results else ("", "")
        if not session or said.messages[-1].role == "assistant":
            return None
        chat = chat_of(self._channel, where.chat.sender, agent, session)
        exchanges = await self.said(chat)
        if not exchanges:
            return None
        return Addressed(chat, where.message), replace(said, messages=tuple(map(_as_known, said.messages))), exchanges

    async def _before(self, where: Addressed, identity: Identity) -> tuple[Exchange, ...]:
        """Where the same request has led to, of those that go on with nothing."""
        if identity.key:
            return await self.said(where.chat)
        return await self._alike(where) if identity.repeats else ()

    async def _alike(self, where: Addressed) -> tuple[Exchange, ...]:
        """What the last request of its own led to that was the same."""
        alone = f"{where.chat.thread.partition(ALONE)[0]}{ALONE}{_same(where)}"
        prefix = replace(where.chat, thread=alone).session_key
        listed = await self._parts.journal.chats.listed(prefix, most=1)
        return await self._parts.journal.chats.said(listed[0].conversation) if listed else ()

    async def _kept(self, tail: Tail, chat: Chat) -> Tail:
        """With its pictures in the store. Raises ApiError and StoreFailed."""
        if not tail.media and not any(it.media for it in tail.messages):
            return tail
        messages = [replace(it, media=await self._files(it.media, chat)) for it in tail.messages]
        return replace(tail, messages=tuple(messages), media=await self._files(tail.media, chat))

    async def _files(self, urls: Sequence[str], chat: Chat) -> tuple[str, ...]:
        kept = list[str]()
        for url in urls:
            if not url.startswith("data:"):
                kept.append(url)
                continue
            if (file := inline(url)) is None:
                raise bad_request("a picture's data: address is damaged, or not base64", "messages")
            try:
                kept.append(str(await self._parts.media.keep(file.content, chat.user)))
            except MediaRefused as error:
                raise bad_request(f"a picture is not taken: {error}", "messages") from None
        return tuple(kept)


def _as_known(message: Message) -> Message:
    """With the ids that its conversation knows its calls by."""
    calls = tuple(replace(it, id=named_call(it.id)[1]) for it in message.tool_calls)
    return replace(message, tool_calls=calls, tool_call_id=named_call(message.tool_call_id)[1])


def _same(where: Addressed) -> str:
    return where.message.rpartition("-")[0]


def _known(exchanges: Sequence[Exchange], where: Addressed, identity: Identity) -> Inbound | None:
    """The message that this one is once more, whatever has become of it but a refusal. Raises ApiError."""
    for it in reversed(exchanges):
        said, recent = it.inbound, time() - it.at < REPEATED_S
        if said is None or it.outcome == "refused":
            continue
        if identity.key and said.message_id.startswith(f"{_same(where)}-{KEYED}"):
            if said.message_id != where.message:
                raise ApiError(422, "another request had this Idempotency-Key", IDEMPOTENCY, "idempotency_key_reused")
            return said
        if identity.repeats and recent and said.message_id.startswith(f"{_same(where)}-"):
            return said
    return None
