"""An approval as the editor's question: the whole call is shown, and what is chosen is judged by somebody else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hookgate.acp.looks import Looks, whole
from hookgate.acp.narration import Narration
from hookgate.acp.questions import Questions, Unanswered
from hookgate.channels.approving import question
from hookgate.channels.printable import visible
from hookgate.protocol.acp import answers
from hookgate.protocol.acp.answers import REQUEST_PERMISSION, chosen_option, permission_params
from hookgate.protocol.acp.updates import Shown, Text, Tool, Update
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decide, Decision, usual_title
from hookgate.protocol.chat import Outbound
from hookgate.protocol.dataclasses import dataclass, replace

BY = "acp"
NO_ANSWER = "the editor's answer to the question was none"


@dataclass(frozen=True)
class Permissions:
    """Of the session of this id."""

    session: str
    questions: Questions
    narration: Narration
    looks: Looks
    tell: Callable[[Update], None]

    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        """A closed question is a no, as every other answer is that is not one of those that were offered."""
        tool = self.looks.proposed(request.call)
        known = self.narration.call_id(request.call.id)
        if not known and not request.extension:
            known = self.narration.adopt(request.call)
        # An extension's own call is told of by its question alone.
        tool = replace(tool, id=known or f"request-{request.id}", status="pending")
        params = permission_params(self.session, replace(tool, shown=_shown(request, tool)), request.grants)
        try:
            option = chosen_option(await self.questions.ask(REQUEST_PERMISSION, params))
        except Unanswered as error:
            raise CannotAsk(str(error)) from None
        if known:
            # The question is over, the call goes on.
            self.tell(Tool(known, shown=tool.shown))
        outcome = await decide(_decision(request, option))
        if not outcome.counted:
            self.narration.sent(Outbound(request.chat, outcome.text, kind="notice"))


def _shown(request: ApprovalRequest, tool: Tool) -> tuple[Shown, ...]:
    """All of the call, and how much that is: what of it may look like something else, and its digest."""
    measured = question(request).foot[-1 if request.unredacted is None else -2]
    return (*_said(request), *(tool.shown or whole(request.call.arguments)), Text(measured))


def _said(request: ApprovalRequest) -> Iterator[Text]:
    asker, usual = visible(request.asked_by), usual_title(request.call.name, request.extension)
    said = "\n".join(filter(None, ("" if request.title == usual else request.title, request.text)))
    yield Text(f"{asker} asks: {visible(said)}" if said else f"{asker} asks.")
    if request.always:
        yield Text(f"Always allowing it would be for {visible(request.always)}.")
    if request.unredacted is not None:
        yield Text("Secrets are hidden.")


def _decision(request: ApprovalRequest, option: str | None) -> Decision:
    for grant in request.grants:
        if option == grant:
            return Decision(True, BY, grant=grant)
    match option:
        case "":
            return Decision(False, BY, "the question was closed without an answer")
        case answers.REJECT:
            return Decision(False, BY, "the user said no")
        case _:
            return Decision(False, BY, NO_ANSWER)
