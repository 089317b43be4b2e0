"""The answer of a turn while it is being written: its text as pieces of HTML, its tools, what hooks said of it."""

from __future__ import annotations

from hookgate.channels.web.markdown import StreamedMarkdown
from hookgate.channels.web.shapes import ShownMedia, ShownRunning, ShownTool, ShownTrace, ToolState
from hookgate.protocol.dataclasses import replace

MAX_TRACE = 500
MAX_TOOLS = 500


class Running:
    """`message`: the id of the user's message that is answered."""

    def __init__(self, message: str) -> None:
        self.message = message
        self.ended = False
        self.trace: list[ShownTrace] = []
        self.tools: dict[str, ShownTool] = {}
        self._begin()

    def _begin(self) -> None:
        self._text: list[str] = []
        self._sent = 0
        self._markdown = StreamedMarkdown()
        self._closed = self._open = ""

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def pause_s(self) -> float:
        """Until it should be rendered again."""
        return self._markdown.pause_s

    @property
    def stale(self) -> bool:
        """Whether something of it has not been rendered yet."""
        return self._sent < len(self._text) or self.behind

    @property
    def behind(self) -> bool:
        """Whether there is more to render than the last time took."""
        return self._markdown.behind

    def add(self, text: str) -> None:
        self._text.append(text)
        self._markdown.add(text)

    def end_paragraph(self) -> None:
        if self._text and not self._text[-1].endswith("\n\n"):
            self.add("\n\n")

    def restart(self) -> None:
        """What was written last is void; what stood before the last tools went with it."""
        self._begin()

    def render(self) -> tuple[str, str, str]:
        """What has come since the last time: text, HTML of blocks that have closed; and the HTML of the open one."""
        piece, self._sent = "".join(self._text[self._sent :]), len(self._text)
        before = len(self._closed)
        self._closed, self._open = self._markdown.render()
        return piece, self._closed[before:], self._open

    def tool(self, id_: str, name: str, state: ToolState, summary: str) -> ShownTool:
        """A call as it is now; `summary` empty: as before."""
        before = self.tools.get(id_)
        shown = ShownTool(id_, name, state, summary)
        if before is not None:
            shown = replace(shown, summary=summary or before.summary, media=before.media)
        if before is not None or len(self.tools) < MAX_TOOLS:
            self.tools[id_] = shown
        return shown

    def pictures(self, id_: str, media: tuple[ShownMedia, ...]) -> ShownTool | None:
        """A call with what it has returned besides text; None where it is not shown."""
        if (before := self.tools.get(id_)) is None:
            return None
        shown = self.tools[id_] = replace(before, media=media)
        return shown

    def note(self, trace: ShownTrace) -> None:
        if len(self.trace) < MAX_TRACE:
            self.trace.append(trace)

    @property
    def shown(self) -> ShownRunning:
        """As far as it has been rendered."""
        text = "".join(self._text[: self._sent])
        tools, trace = tuple(self.tools.values()), tuple(self.trace)
        return ShownRunning(self.message, text, self._closed, self._open, tools, trace)
