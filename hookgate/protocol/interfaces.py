"""The seams: what a tool, a provider, a channel and a hook are to the parts that do not know each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from hookgate.protocol.approval import ApprovalRequest, Decide
    from hookgate.protocol.chat import Chat, Outbound
    from hookgate.protocol.chat.channel import ChannelLimits, ChannelState
    from hookgate.protocol.events.event import Event
    from hookgate.protocol.hook.answers import Answer
    from hookgate.protocol.hook.hello import Hello
    from hookgate.protocol.hook.stages import Question
    from hookgate.protocol.journal.values import AnswerKey
    from hookgate.protocol.values import Json, LLMReply, LLMRequest, ToolCall, ToolResult, ToolSpec
    from hookgate.protocol.values.delta import Delta


class Tool(Protocol):
    @property
    def spec(self) -> ToolSpec: ...

    async def execute(self, call: ToolCall) -> ToolResult:
        """Run the call. May raise anything; the dispatcher turns it into a result and enforces the timeout."""
        ...


class Replacing(Protocol):
    """Replaces secrets by marks that stay comparable."""

    def text(self, text: str) -> str: ...

    def value(self, value: Json) -> Json: ...


class Redactor(Replacing, Protocol):
    """One and the same at every exit."""

    @property
    def for_questions(self) -> Replacing:
        """For what a person decides about: hides nothing that could do something."""
        ...

    def held_from(self, text: str) -> int:
        """From where on a text that still grows must be held back: a secret may have begun there."""
        ...

    def cut_from(self, text: str) -> int:
        """From where on a text that ends where it was cut may be half a secret."""
        ...

    def marker(self, value: Json) -> bool:
        """Whether it holds such a mark somewhere."""
        ...


class Provider(Protocol):
    async def complete(self, request: LLMRequest, on_text: Callable[[Delta], None]) -> LLMReply:
        """One model call. `request.model` is bare (no `PROVIDER/`). `on_text` gets each piece of visible text as it
        comes, and of each call under the id and name that it has in the reply; it never blocks. A provider may keep
        calls for the reply. Raises ProviderFailed and nothing else (but Cancelled)."""
        ...


class Hook(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def declared(self) -> Hello:
        """What the hook said of itself; the tools only while it can answer their calls."""
        ...

    async def ask(self, question: Question, timeout_s: float) -> Answer:
        """Answer a stage call. Never raises (but Cancelled): timeouts, deaths, nonsense are all `Failed`."""
        ...

    def notify(self, event: Event) -> None:
        """Take an event; never waits, never raises."""
        ...


class Recall(Protocol):
    """What hooks have said about one message, for whoever asks them again after a crash."""

    @property
    def subject(self) -> str:
        """What they are asked about, by its number."""
        ...

    async def find(self, asked: AnswerKey) -> Answer | None: ...

    async def keep(self, asked: AnswerKey, answer: Answer) -> None: ...


class Channel(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def limits(self) -> ChannelLimits: ...

    @property
    def state(self) -> ChannelState:
        """Whether anything comes in; never waits."""
        ...

    async def send(self, outbound: Outbound, key: str) -> str:
        """Deliver one message; the answer of a turn comes after its streamed pieces, and is shown as the reply to
        what `in_reply_to` names, where the channel can show that. Returns the receipt: the channel's own id of it,
        or empty. The same key twice is one message, where the channel can tell. Raises Undelivered; whatever else it
        raises is tried again too.

        With a `request` it is a card: what is pressed there is decided with the id of who presses. Without `edit` it
        comes again whenever something has become of the request."""
        ...

    def stream(self, chat: Chat, text: str) -> None:
        """A piece of the answer as the model writes it; never waits."""
        ...

    def end_stream(self, chat: Chat) -> None:
        """The model has stopped talking, to use tools; what it says next is another paragraph."""
        ...

    def restart_stream(self, chat: Chat) -> None:
        """What was streamed since the last message is void; the answer starts again."""
        ...


@runtime_checkable
class AskingChannel(Channel, Protocol):
    """Somebody sits there and answers in place: it gets no cards."""

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        """Show the request, and hand what somebody types to `decide`. It is cancelled once somebody has decided, here
        or elsewhere, or nobody can any more. Raises CannotAsk."""
        ...


@runtime_checkable
class ShowingChannel(Channel, Protocol):
    """It knows how much of a request is seen; of other channels an asking one shows all, and of the rest nobody
    knows."""

    def shows_whole(self, request: ApprovalRequest) -> bool:
        """Whether all of it is seen in its chat, where it is asked about."""
        ...


@runtime_checkable
class FoldingChannel(ShowingChannel, AskingChannel, Protocol):
    """Whoever answers in place is first shown a part of what is long."""

    def viewed(self, request: str) -> None:
        """They have just been told all of this one."""
        ...


@runtime_checkable
class EditingChannel(Channel, Protocol):
    """Its `limits` say how often. What the model writes is shown there by messages that are edited; `stream` and its
    like may do nothing."""

    async def edit(self, outbound: Outbound, receipt: str) -> None:
        """Put this text in the place of what `send` gave that receipt for, or a card as it is by now; the same again
        is no failure. Raises as `send` does; `final`: there is no such message any more, and another one is sent,
        but no other card."""
        ...


@runtime_checkable
class PreviewingChannel(EditingChannel, Protocol):
    """One that shows a message being written in a way of its own; `edit` ends that, whatever is left to say."""

    async def preview(self, outbound: Outbound, key: str, receipt: str) -> str:
        """What is written so far, in the place of what it has given that receipt for; empty: it is the first of this
        message. The receipt. Raises as `send` does."""
        ...
