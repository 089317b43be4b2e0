"""What an earlier run has left of conversations: read before anything that a prompt needs is open."""

from __future__ import annotations

from hookgate.assembly.agents import Routes
from hookgate.assembly.redacting import make_redactor
from hookgate.assembly.settings import Settings
from hookgate.embedding.history import shown
from hookgate.loop.sessions.transcript import Transcript
from hookgate.protocol.chat import Chat
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.rpc.responses import TranscriptMessage


class Past:
    """Of all chats that the journal keeps."""

    def __init__(self, settings: Settings, journal: Journal) -> None:
        self._journal, self._routes = journal, Routes(settings.config)
        self._redactor = make_redactor(settings.config, tuple(settings.keys.values()))

    async def of(self, chat: Chat) -> Transcript:
        """As it is stored by now, written to by nobody."""
        conversation = await self._journal.intake.conversation(chat.session_key, self._routes(chat))
        transcript = Transcript(self._journal.work, conversation)
        await transcript.look()
        return transcript

    def shown(self, transcript: Transcript) -> tuple[TranscriptMessage, ...]:
        return shown(transcript.entries, self._redactor)
