"""Files of a message as calls: pictures and videos together, a voice as one, anything else as a document. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from hookgate.channels.platforms.files import File, filename
from hookgate.channels.platforms.requests import Upload
from hookgate.protocol.dataclasses import dataclass

MAX_PHOTO = 10_000_000
MAX_GROUP = 10
MAX_CAPTION = 1024
METHODS = {
    **dict.fromkeys(("image/png", "image/jpeg", "image/webp"), ("sendPhoto", "photo")),
    "image/gif": ("sendAnimation", "animation"),
    **dict.fromkeys(("audio/ogg", "audio/opus"), ("sendVoice", "voice")),
    **dict.fromkeys(("audio/mpeg", "audio/mp4", "audio/m4a", "audio/x-m4a"), ("sendAudio", "audio")),
    "video/mp4": ("sendVideo", "video"),
}
DOCUMENT = ("sendDocument", "document")
GROUPED = ("photo", "video")


@dataclass(frozen=True, slots=True)
class FileCall:
    """`uploads`: its files; of a group, each under the name that `params` give it."""

    method: str
    params: dict[str, list[dict[str, object]]]
    uploads: tuple[Upload, ...]

    def captioned(self, caption: dict[str, object]) -> dict[str, object]:
        """Of a group: below its first file."""
        return {"media": [{**it, **({} if n else caption)} for n, it in enumerate(self.params["media"])]}

    @property
    def as_documents(self) -> tuple[FileCall, ...]:
        """For pictures that the platform does not want to show."""
        return tuple(_single(DOCUMENT[1], it.content, it.type, it.filename) for it in self.uploads)


def file_calls(files: Sequence[File]) -> Iterator[FileCall]:
    """In this order."""
    named = [(_kind(it.type, it.content), it.type, it.content, filename(n, it)) for n, it in enumerate(files, 1)]
    for grouped, run in groupby(named, key=lambda it: it[0] in GROUPED):
        its = list(run)
        for at in range(0, len(its), MAX_GROUP if grouped else 1):
            some = its[at : at + (MAX_GROUP if grouped else 1)]
            yield _group(some) if len(some) > 1 else _single(*_ordered(some[0]))


def _ordered(file: tuple[str, str, bytes, str]) -> tuple[str, bytes, str, str]:
    kind, type_, content, filename = file
    return kind, content, type_, filename


def _kind(type_: str, content: bytes) -> str:
    kind = METHODS.get(type_, DOCUMENT)[1]
    return DOCUMENT[1] if kind == "photo" and len(content) > MAX_PHOTO else kind


def _single(kind: str, content: bytes, type_: str, filename: str) -> FileCall:
    method = next((method for method, its in METHODS.values() if its == kind), DOCUMENT[0])
    return FileCall(method, {}, (Upload(kind, filename, type_, content),))


def _group(files: Sequence[tuple[str, str, bytes, str]]) -> FileCall:
    uploads = tuple(Upload(f"file{n}", name, type_, content) for n, (_, type_, content, name) in enumerate(files, 1))
    media: list[dict[str, object]] = [
        {"type": kind, "media": f"attach://file{n}"} for n, (kind, *_) in enumerate(files, 1)
    ]
    return FileCall("sendMediaGroup", {"media": media}, uploads)
