"""What can be done with a conversation, and what it is: the same for that of a runtime and for each of its chats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import trio

from hookgate.assembly.models import model_of
from hookgate.embedding.above import row
from hookgate.embedding.conversation import Conversation
from hookgate.embedding.event_stream import Busy, Events, Line
from hookgate.embedding.given import as_text, image_url
from hookgate.embedding.known import known_models
from hookgate.loop.sessions.jobs import Compaction
from hookgate.protocol.chat import Chat
from hookgate.protocol.rpc.events import Spent
from hookgate.protocol.rpc.responses import State, TranscriptMessage
from hookgate.protocol.values.models import Model


class Verbs(ABC):
    # --- what it does ---

    def prompt(self, text: str, images: str | Iterable[str] = ()) -> Events:
        """Queue a message; its turn begins when those before it are done. `images`: `data:` or http URLs, or one.

        Raises Busy where 64 wait already, and ValueError for what is no such URL.
        """
        media = tuple(image_url(it) for it in row(images))
        return Events(self._there, self._there.conversation.prompt(self._chat, as_text("text", text), media))

    def compact(self) -> Events:
        """Queue a summary of the older part of the conversation. Raises Busy."""
        return Events(self._there, Compaction(self._chat))

    async def cancel(self) -> None:
        """End what runs, and wait for its end; what is queued stays."""
        job = self._there.jobs.next
        if job is not None:
            self._there.jobs.cancel(job)
            await job.wait()

    async def clear(self) -> None:
        """Forget what was said. Raises Busy."""
        self._idle().clear()
        await trio.lowlevel.checkpoint()

    async def set_model(self, name: str) -> None:
        """Another model, known or not, from the next prompt on: a bare name at the provider in use, or PROVIDER/MODEL
        of a configured one. Raises Busy, and ValueError for what names none."""
        self._idle().set_model(name)
        await trio.lowlevel.checkpoint()

    async def set_reasoning(self, reasoning: str) -> None:
        """off, minimum, low, medium, high, xhigh or max. Raises Busy, and ValueError for anything else."""
        self._idle().set_reasoning(reasoning)
        await trio.lowlevel.checkpoint()

    # --- what it is ---

    def state(self) -> State:
        return self._there.conversation.state()

    def messages(self) -> tuple[TranscriptMessage, ...]:
        """The transcript as it is now."""
        return self._there.conversation.messages()

    def cost(self) -> Spent:
        """Of the whole conversation, summaries included."""
        return self._there.conversation.cost

    def list_models(self) -> tuple[Model, ...]:
        """Those of the provider in use."""
        return known_models(self._there.settings.config, self._there.conversation.model)

    def known_model(self, name: str) -> Model | None:
        """What is known of PROVIDER/MODEL."""
        return model_of(self._there.settings.config, name)

    @property
    @abstractmethod
    def _there(self) -> Line:
        """Raises RuntimeError where it is not open."""

    @property
    @abstractmethod
    def _chat(self) -> Chat:
        """Who speaks, and where."""

    def _idle(self) -> Conversation:
        if self._there.jobs.busy:
            raise Busy("agent is busy; wait for completion or abort before retrying")
        return self._there.conversation
