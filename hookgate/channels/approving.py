"""An approval request as a question: who asks, the very call, and how far a yes would go."""

from __future__ import annotations

from collections.abc import Iterable

from hookgate.channels.printable import MAX_NAME_CHARS, named
from hookgate.channels.terminal.dialogue import Answers, Dialogue
from hookgate.channels.terminal.question import Part, Question, measured
from hookgate.protocol.approval import GRANTS, ApprovalRequest, Decision, usual_title
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass, replace

PATH = "path"
"""The argument of the tools that write a file."""
CHANGES = "if the file changes before the call runs, the call does not run"


@dataclass(frozen=True, slots=True)
class Picture:
    """What a call would make of a file as it is now: a diff without secrets, and with them. Without a diff, why there
    is none. `whole`: the argument that all of the diff's lines are, where the file is new. `files`: the digest of the
    very file that it was drawn from; None: it says nothing about what is in one."""

    path: str
    diff: str = ""
    true: str = ""
    problem: str = ""
    whole: str = ""
    files: str | None = None


def _words(grants: Iterable[str]) -> dict[str, str]:
    further = {word: grant for grant in grants if grant != "once" for word in (grant, grant[0])}
    return {"y": "once", "yes": "once", "once": "once"} | further


USUAL = Answers(_words(grant for grant in GRANTS if grant.isalpha()))
"""What somebody types who expects a question about a call. A number may as well be one of what a model offers."""


def asking(request: ApprovalRequest, picture: Picture | None = None) -> Dialogue:
    answers = Answers(_words(request.grants))
    hides = request.unredacted is not None or (picture is not None and picture.diff != picture.true)
    shown = question(request, picture, hides=hides)
    if not hides:
        return Dialogue(shown, answers)
    bare = None if picture is None else replace(picture, diff=picture.true)
    return Dialogue(shown, answers, question(request.unredacted or request, bare))


def decision(request: ApprovalRequest, answer: str, reason: str, picture: Picture | None) -> Decision:
    """What was answered, as /approve and /deny have it. A yes is for the file that the picture is of."""
    by, grant = request.chat.identity, GRANTS.get(answer)
    if grant is None:
        return Decision(False, by, f"the user said no{f': {reason}' if reason else ''}")
    return Decision(True, by, grant=grant, files=picture.files if picture is not None else None)


def question(request: ApprovalRequest, picture: Picture | None = None, *, hides: bool = False) -> Question:
    """`hides`: there is the same with nothing hidden."""
    tool, asker = named(request.call.name), named(request.asked_by)
    session = session_reach(request)
    whose = f"The extension {named(request.extension)} wants to run {tool}." if request.extension else f"Run {tool}?"
    said, arguments = _said(request), _arguments(request)
    place = "" if picture is None else PATH
    foot = [measured(request.call.name, (*said, *arguments), request.digest, place)]
    if session:
        foot.insert(0, f"session: {session}")
    if hides or request.unredacted is not None:
        foot.append("secrets are hidden; [r]eveal shows them")
    head = f"{whose}  ({asker} asks{', ' + request.place if request.place else ''})"
    drawn = picture is not None and bool(picture.diff)
    prompt = _prompt(request, reveals=hides or request.unredacted is not None, views=drawn)
    if picture is None or not drawn:
        note = [] if picture is None else [Part("its file", picture.problem)]
        return Question(head, (*said, *note, *arguments), tuple(foot), prompt)
    diff = Part(f"what it would change in {named(picture.path)}", picture.diff)
    return Question(head, (*said, diff), (CHANGES, *foot), prompt, tuple(_arguments(request, picture.whole)))


def session_reach(request: ApprovalRequest) -> str:
    """What a yes for the session would be for; empty where there is no such answer."""
    if "session" not in request.grants:
        return ""
    return f"every {named(request.call.name)} call of this conversation that {named(request.asked_by)} asks about"


def _said(request: ApprovalRequest) -> list[Part]:
    asker = named(request.asked_by)
    title = "" if request.title == usual_title(request.call.name, request.extension) else request.title
    said = (
        ("the whole name", request.call.name if len(request.call.name) > MAX_NAME_CHARS else ""),
        (f"{asker} says", "\n".join(filter(None, (title, request.text)))),
        ("always would be for", request.always),
    )
    return [Part(label, text) for label, text in said if text]


def _arguments(request: ApprovalRequest, but: str = "") -> list[Part]:
    parts: list[Part] = []
    for name, value in request.call.arguments.items():
        if name == but:
            continue
        if len(name) > MAX_NAME_CHARS:
            parts.append(Part("an argument's whole name", name))
        text = value if isinstance(value, str) else encode(value).decode("utf-8", "replace")
        parts.append(Part(named(name), text))
    return parts


def _prompt(request: ApprovalRequest, *, reveals: bool, views: bool) -> str:
    offers = [
        "[y]es once",
        *(["[s]ession"] if "session" in request.grants else []),
        *(["[a]lways"] if request.always else []),
        *(["[r]eveal"] if reveals else []),
        *(["[v]iew"] if views else []),
        "[n]o",
    ]
    return f"  allow? {', '.join(offers)}: "
