"""Slash commands about calls that wait for people: what waits, a yes, a no, and what was allowed for longer."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from functools import partial

import trio

from hookgate.approvals.decide import SEVERAL, meant, so_far
from hookgate.approvals.people import requester
from hookgate.approvals.requests import Approvals
from hookgate.loop.commands.table import Command, Invocation
from hookgate.protocol.approval import GRANTS, Decision, reason_said
from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import canonical
from hookgate.protocol.journal.decisions import Standing, StoredGrant

SHORT = 8
"""Characters of an id that people are shown."""
MOST_SHOWN = 500
"""Characters of a call's arguments in a list."""
TOO_LONG = "With a key a yes is for once or for the session: /approve ID session."
WHICH = "Say which one: /pending lists what waits for you."


def rows(approvals_of: Callable[[Chat], Approvals], keyed: Collection[str] = ()) -> tuple[Command, ...]:
    """They act at once, whatever the conversation does. `keyed`: channels whose people are keys: what one of them has
    allowed would stay when it is gone, so there a yes is for a session at most."""
    of, waiting = approvals_of, partial(_ids_waiting, approvals_of)
    deciding = partial(Command, kind="decision", takes=True)
    return (
        deciding(
            "approve",
            "let a call run",
            partial(_approved, of, keyed),
            syntax="ID [once|session|1h|always [WITHIN]]",
            completes=waiting,
        ),
        deciding("deny", "keep a call from running", partial(_denied, of), syntax="ID [REASON]", completes=waiting),
        Command(
            "pending",
            "what waits for your word",
            partial(_pending, of),
            takes=True,
            early=True,
            syntax="[ID]",
            completes=waiting,
        ),
        Command("grants", "what was allowed for longer here", partial(_grants, of), early=True),
        Command("whoami", "who you are here: your id, your name, your roles", partial(_whoami, of), early=True),
        deciding(
            "revoke",
            "take back what was allowed for longer",
            partial(_revoked, of),
            syntax="ID",
            completes=partial(_ids_granted, of),
        ),
    )


async def _whoami(of: Callable[[Chat], Approvals], invocation: Invocation) -> str:
    chat = invocation.inbound.chat
    await trio.lowlevel.checkpoint()
    id_, known, roles = requester(chat), of(chat).name(chat), ", ".join(of(chat).roles(chat)) or "none"
    if known:
        return f"You are {id_}, known as {known}. Roles: {roles}."
    return f'You are {id_}. No person is listed under that: ids = ["{id_}"] below [people.NAME] makes you one.'


async def _approved(of: Callable[[Chat], Approvals], keyed: Collection[str], invocation: Invocation) -> str:
    request, _, rest = invocation.args.partition(" ")
    word, _, within = rest.strip().partition(" ")
    grant = GRANTS.get(word or "once")
    if grant is None:
        return f"{word!r} is nothing that a yes can be for: {', '.join(GRANTS)}."
    if grant in ("1h", "always") and invocation.inbound.chat.channel in keyed:
        return TOO_LONG
    chat = invocation.inbound.chat
    decision = Decision(True, chat.identity, grant=grant, within=within.strip(), said_in=chat)
    return await _decided(of(chat), invocation, request, decision)


async def _denied(of: Callable[[Chat], Approvals], invocation: Invocation) -> str:
    request, _, reason = invocation.args.partition(" ")
    decision = Decision(False, invocation.inbound.chat.identity, reason_said(reason))
    return await _decided(of(invocation.inbound.chat), invocation, request, decision)


async def _decided(approvals: Approvals, invocation: Invocation, request: str, decision: Decision) -> str:
    if not request:
        return WHICH
    found = meant(request, await approvals.named(request))
    if isinstance(found, str):
        found = await approvals.decide(found, decision, requester(invocation.inbound.chat))
    return found.text


async def _pending(of: Callable[[Chat], Approvals], invocation: Invocation) -> str:
    chat = invocation.inbound.chat
    waiting = await of(chat).decidable(requester(chat))
    if invocation.args:
        waiting = tuple(it for it in waiting if it.request.id.startswith(invocation.args))
    lines = list[str]()
    for standing in waiting:
        arguments = canonical(standing.request.shown.call.arguments).decode("utf-8", "replace")
        whole = bool(invocation.args) or len(arguments) <= MOST_SHOWN
        if whole:
            of(chat).told(standing.request, chat)
        lines.append(_waiting(standing, arguments if whole else _cut(standing.request.id, arguments)))
    return "\n".join(lines) or "Nothing waits for your word."


def _waiting(standing: Standing, arguments: str) -> str:
    """With what hides secrets."""
    stored, said = standing.request, so_far(standing)
    shown = stored.shown
    head = f"{stored.id[:SHORT]} {shown.title} ({shown.asked_by}, {shown.chat.session_key})"
    text = f"\n  {shown.text}" if shown.text else ""
    always = f"\n  always would be for {shown.always}" if shown.always else ""
    return f"{head}{' ' + said if said else ''}{text}{always}\n  {shown.call.name} {arguments}"


def _cut(request: str, arguments: str) -> str:
    left = len(arguments) - MOST_SHOWN
    return f"{arguments[:MOST_SHOWN]} [{left} more characters: /pending {request[:SHORT]} shows all]"


async def _ids_waiting(of: Callable[[Chat], Approvals], chat: Chat) -> list[str]:
    return [it.request.id[:SHORT] for it in await of(chat).decidable(requester(chat))]


async def _ids_granted(of: Callable[[Chat], Approvals], chat: Chat) -> list[str]:
    return [it.id[:SHORT] for it in await _here(of(chat), chat)]


async def _grants(of: Callable[[Chat], Approvals], invocation: Invocation) -> str:
    chat = invocation.inbound.chat
    return "\n".join(map(_granted, await _here(of(chat), chat))) or "Nothing is allowed for longer here."


async def _here(approvals: Approvals, chat: Chat) -> tuple[StoredGrant, ...]:
    """Those of this conversation, and those for all that this person asks."""
    held = await approvals.grants.held(chat.session_key)
    return tuple(it for it in held if it.session or it.to == str(requester(chat)))


def _granted(grant: StoredGrant) -> str:
    until = f", until {datetime.fromtimestamp(grant.until, UTC):%Y-%m-%d %H:%MZ}" if grant.until else ""
    return f"{grant.id[:SHORT]} {grant.text} (by {grant.by}{until})"


async def _revoked(of: Callable[[Chat], Approvals], invocation: Invocation) -> str:
    """Whoever may use it may end it: people are asked again from then on."""
    chat, typed = invocation.inbound.chat, invocation.args
    approvals = of(chat)
    found = [it for it in await _here(approvals, chat) if typed and it.id.startswith(typed)]
    if len(found) > 1:
        return SEVERAL.text
    if not found:
        return "There is no such thing allowed here; /grants lists what is."
    await approvals.grants.revoke(found[0].id)
    return f"Taken back: {found[0].text}."
