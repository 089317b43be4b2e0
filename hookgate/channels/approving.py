"""An approval request as a question: who asks, the very call, and how far a yes would go."""

from __future__ import annotations

from hookgate.channels.dialogue import Answers, Dialogue
from hookgate.channels.printable import MAX_NAME_CHARS, named
from hookgate.channels.question import Part, Question, measured
from hookgate.protocol.approval import ApprovalRequest, usual_title
from hookgate.protocol.codec import encode


def asking(request: ApprovalRequest) -> Dialogue:
    words = {"y": "once", "yes": "once", "once": "once"}
    words |= {word: grant for grant in request.grants if grant != "once" for word in (grant, grant[0])}
    revealed = question(request.unredacted) if request.unredacted is not None else None
    return Dialogue(question(request), Answers(words), revealed)


def question(request: ApprovalRequest) -> Question:
    tool, asker = named(request.call.name), named(request.asked_by)
    whose = f"The extension {named(request.extension)} wants to run {tool}." if request.extension else f"Run {tool}?"
    parts = (*_said(request), *_arguments(request))
    foot = [measured(request.call.name, parts, request.digest)]
    if "session" in request.grants:
        foot.insert(0, f"session: every {tool} call of this conversation that {asker} asks about")
    if request.unredacted is not None:
        foot.append("secrets are hidden; [r]eveal shows them")
    return Question(f"{whose}  ({asker} asks)", parts, tuple(foot), _prompt(request))


def _said(request: ApprovalRequest) -> list[Part]:
    asker = named(request.asked_by)
    title = "" if request.title == usual_title(request.call.name, request.extension) else request.title
    said = (
        ("the whole name", request.call.name if len(request.call.name) > MAX_NAME_CHARS else ""),
        (f"{asker} says", "\n".join(filter(None, (title, request.text)))),
        ("always would be for", request.always),
    )
    return [Part(label, text) for label, text in said if text]


def _arguments(request: ApprovalRequest) -> list[Part]:
    parts: list[Part] = []
    for name, value in request.call.arguments.items():
        if len(name) > MAX_NAME_CHARS:
            parts.append(Part("an argument's whole name", name))
        text = value if isinstance(value, str) else encode(value).decode("utf-8", "replace")
        parts.append(Part(named(name), text))
    return parts


def _prompt(request: ApprovalRequest) -> str:
    offers = [
        "[y]es once",
        *(["[s]ession"] if "session" in request.grants else []),
        *(["[a]lways"] if request.always else []),
        *(["[r]eveal"] if request.unredacted is not None else []),
        "[n]o",
    ]
    return f"  allow? {', '.join(offers)}: "
