"""One model call: which provider, how often it is tried, what the trace hears of it."""

from __future__ import annotations

from collections.abc import Callable

import structlog
import trio

from hookgate.loop.agent import Agent, Retries
from hookgate.loop.model.attached import with_files
from hookgate.processes.backoff import backoff_s
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.errors import PASSING, ProviderFailed
from hookgate.protocol.events.payloads import LlmRequest, LlmResponse, LlmRetry
from hookgate.protocol.values import LLMReply, LLMRequest, Step
from hookgate.protocol.values.delta import Delta
from hookgate.protocol.values.reasoning import unthinking

log = structlog.get_logger("hookgate.loop")


async def complete(
    agent: Agent, step: Step, request: LLMRequest, on_text: Callable[[Delta | None], None]
) -> LLMReply:
    """The reply, after as many tries as the failure's class is worth. Raises ProviderFailed.

    `on_text` gets the pieces, and None when what came so far (if any) is void because the call is tried again.
    """
    _look_up(agent, request.model)
    agent.gate.events.emit(_requested(request), step)
    for attempt in range(1, agent.retries.limit + 2):
        try:
            reply = await _once(agent, request, on_text)
        except ProviderFailed as error:
            wait_s = _wait_s(agent.retries, attempt, error)
            why = {"kind": error.kind, "reason": error.reason, "detail": error.detail}
            # No warning: whoever asked is told in the chat, and a terminal's log is the chat's own screen.
            log.info("model_call_failed", **why, retry_in_s=wait_s)
            if wait_s is None:
                raise _given_up(agent.retries, attempt, error) from error.__cause__
            _announce(agent, step, (attempt, error, wait_s))
            on_text(None)
            await trio.sleep(wait_s)
        else:
            answered = LlmResponse(len(reply.content), len(reply.tool_calls), bool(reply.reasoning))
            agent.gate.events.emit(answered, step)
            return replace(reply, model=request.model)
    raise AssertionError("the last attempt returns or raises")


def _look_up(agent: Agent, model: str) -> None:
    """Whoever configures or types a model that nobody knows is told there; of one that a hook chooses the log tells,
    once."""
    if model == agent.model or model in agent.looked_up:
        return
    agent.looked_up.add(model)
    if note := agent.unknown_of(model):
        log.warning("model_unknown", note=note)


async def _once(agent: Agent, request: LLMRequest, on_text: Callable[[Delta], None]) -> LLMReply:
    name, _, model = request.model.partition("/")
    provider = agent.providers.get(name)
    if provider is None:
        known = ", ".join(agent.providers) or "none"
        raise ProviderFailed("format", f"there is no provider {name!r} in the configuration (known: {known})")
    try:
        known = agent.known_model(request.model)
        sees = known is None or known.pictures
        if known is not None and known.reasoning is False:
            # Some endpoints refuse the whole request of whoever asks such a model to think.
            request = replace(request, options=unthinking(request.options, known.max_output))
        sent = await with_files(replace(request, model=model), agent.around.media, sees=sees)
        return await provider.complete(sent, on_text)
    except ProviderFailed as error:
        raise error.at(name) from error


def _wait_s(retries: Retries, attempt: int, error: ProviderFailed) -> float | None:
    """None: not worth another try. What the endpoint asks for is honoured."""
    if not _passes(retries, attempt, error):
        return None
    if error.retry_after_s is not None:
        return error.retry_after_s if error.retry_after_s <= retries.longest_s else None
    return backoff_s(attempt, retries.first_s, retries.longest_s)


def _given_up(retries: Retries, attempt: int, error: ProviderFailed) -> ProviderFailed:
    """With why there is no other try, where the endpoint's own wish is why."""
    wish = error.retry_after_s or 0.0
    if not _passes(retries, attempt, error) or wish <= retries.longest_s:
        return error
    longest = f"{retries.longest_s:g} s (agent.retry_longest_ms)"
    why = f"{error.reason}; it asks for a wait of {wish:g} s, and hookgate waits {longest} at most"
    return ProviderFailed(error.kind, why, retry_after_s=wish, detail=error.detail, final=error.final)


def _passes(retries: Retries, attempt: int, error: ProviderFailed) -> bool:
    return not error.final and error.kind in PASSING and attempt <= _most(retries, error)


def _most(retries: Retries, error: ProviderFailed) -> int:
    return min(retries.limit, 1) if error.kind == "empty" else retries.limit


def _announce(agent: Agent, step: Step, failed: tuple[int, ProviderFailed, float]) -> None:
    attempt, error, wait_s = failed
    payload = LlmRetry(attempt, _most(agent.retries, error), error.kind, error.reason, round(wait_s * 1e9))
    agent.gate.events.emit(payload, step)


def _requested(request: LLMRequest) -> LlmRequest:
    tokens, temperature = request.options.get("max_tokens"), request.options.get("temperature")
    return LlmRequest(
        request.model,
        len(request.messages),
        len(request.tools),
        tokens if isinstance(tokens, int) else 0,
        float(temperature) if isinstance(temperature, int | float) else 0.0,
    )
