"""What people see of a reply while it arrives: nothing that may yet be a call, a secret or a hook's to change.

Knows no channel and no event: what may be seen is handed to whoever asked for it. Takes time linear in the reply.
"""

from __future__ import annotations

from collections.abc import Callable

from hookgate.loop.streaming.resumed import Resumed
from hookgate.loop.streaming.withheld import WithheldText
from hookgate.loop.streaming.written import Written
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.values.delta import CallPiece, Counted, Delta, Thought

Holding = Callable[[str], int]
"""Given the next piece of a text: from where on all of it so far must be held back."""


class Everything:
    """Where no text is a call: nothing is held back."""

    def __init__(self) -> None:
        self._end = 0

    def __call__(self, piece: str) -> int:
        self._end += len(piece)
        return self._end


@dataclass(frozen=True, slots=True)
class Watching:
    """Who reads along, without secrets. `text` gets None where what came so far is void.

    Without `call`, no call is told, without `thought` nothing that the model thinks.
    """

    text: Callable[[str | None], None]
    call: Callable[[CallPiece], None] | None = None
    thought: Callable[[str], None] | None = None


class StreamedReply:
    """Takes what a provider hands on; after None the reply begins again. Without `holding` nothing is seen before it
    is whole."""

    def __init__(self, watching: Watching, holding: Callable[[], Holding] | None, redactor: Redactor) -> None:
        self._watching, self._holding, self._redactor = watching, holding, redactor
        self._read, self._read_before, self._last_word = Resumed(self._tell), "", ""
        self._shown: list[str] = []
        self._begin()

    def _begin(self) -> None:
        self._held_from = self._holding() if self._holding else None
        self._waiting, self._thoughts = WithheldText(self._redactor.held_from), WithheldText(self._redactor.held_from)
        self._shown = []
        self._seen: list[str] = []
        self._told = False
        self._line_cut = self._line_goes_on = False
        # Characters that have come, that are shown, and up to where they may be.
        self._end = self._at = self._held = 0
        self._calls: dict[str, tuple[str, Written]] = {}
        self._calls_wait = self._held_from is None or self._watching.call is None

    def __call__(self, delta: Delta | None) -> None:
        if self._thoughts.size and not isinstance(delta, Thought):
            self._tell_thought(self._thoughts.at_end(self._redactor.cut_from))
        match delta:
            case None:
                if not self._is_behind:
                    self._last_word = self._ending()
                self._read_before = self._so_far
                # Whoever has read of calls cannot be told only that they come again.
                self._read.begin_again(anew=bool(self._calls))
                self._begin()
            case Counted():
                pass
            case CallPiece():
                self._call(delta)
            case Thought(text=text):
                self._think(text)
            case _ if self._held_from is not None:
                self._end += len(delta)
                self._line_goes_on |= self._line_cut and delta[:1] not in ("", "\n")
                self._line_cut &= not delta
                if self._line_goes_on:
                    return
                self._held = self._held_from(delta)
                self._waiting.add(delta)
                self._show(self._waiting.safe(self._held - self._at))
            case _:
                pass

    def _show(self, text: str) -> None:
        if text:
            self._at += len(text)
            self._shown.append(text)
            self._see(self._redactor.text(text))

    def _see(self, text: str) -> None:
        self._seen.append(text)
        self._read.say(text)

    def _tell(self, text: str | None) -> None:
        self._told = True
        self._watching.text(text)

    def _think(self, piece: str) -> None:
        if self._watching.thought is not None and self._held_from is not None:
            self._thoughts.add(piece)
            self._tell_thought(self._thoughts.safe(self._thoughts.size))

    def _tell_thought(self, text: str) -> None:
        if text and self._watching.thought is not None:
            self._watching.thought(self._redactor.text(text))

    @property
    def _so_far(self) -> str:
        return self._read_before if self._is_behind else "".join(self._shown)

    def finish(self, said: str) -> None:
        """The reply is whole: what it says and has not been shown yet is no call, and no hook's any more."""
        self._tell_thought(self._thoughts.all())
        shown = "".join(self._shown)
        if said.startswith(shown):
            rest = self._rest_of(said) if self._line_goes_on else self._redactor.text(said[len(shown) :])
            if rest.strip():
                self._see(rest)
        self._read.settle()

    def withhold(self) -> None:
        """The reply is whole, and nobody is to see more of it."""
        self._read.settle()

    def break_off(self) -> str:
        """It says no more, and there is no other: what waits is shown too, but for what may be a call or half of a
        secret. What has been read along."""
        self._show(self._ending())
        if not self._is_behind:
            return self._so_far
        if self._last_word:
            self._watching.text(self._redactor.text(self._last_word))
        return self._so_far + self._last_word

    def _ending(self) -> str:
        """Of what waits that which can be shown if no more comes."""
        if self._held_from is None or self._line_goes_on:
            return ""
        return self._waiting.at_end(self._redactor.cut_from, self._held - self._at)

    @property
    def _is_behind(self) -> bool:
        """Whether this reply has said nothing yet that the one which broke off before it had not."""
        return bool(self._read_before or self._last_word) and not self._told

    def _rest_of(self, said: str) -> str:
        """Where a line was shown as if a call had ended it, a secret may lie on both sides: then nothing."""
        whole, seen = self._redactor.text(said), "".join(self._seen)
        return whole[len(seen) :] if whole.startswith(seen) else ""

    # --- calls ---

    def _call(self, piece: CallPiece) -> None:
        """A call is told where nothing that was said before it waits; else it comes with the reply, and all after."""
        tell = self._watching.call
        if piece.id not in self._calls:
            self._calls_wait = self._calls_wait or self._redactor.text(piece.id) != piece.id or not self._is_settled()
            if not self._calls_wait:
                self._calls[piece.id] = self._redactor.text(piece.name), Written(self._redactor)
        if piece.id not in self._calls or tell is None:
            return
        name, writing = self._calls[piece.id]
        began = writing.untouched
        arguments = writing.take(piece.arguments)
        if began or arguments or piece.ended:
            self._read.settle()
            tell(replace(piece, name=name, arguments=arguments))

    def _is_settled(self) -> bool:
        """Whether all text is shown, now that a call ends its line."""
        if self._held < self._end:
            return False
        before = self._at
        self._show(self._waiting.at_end(self._redactor.cut_from))
        self._line_cut |= self._at > before
        return self._at == self._end
