"""What the terminal offers to whoever is asked, and what it makes of what they type."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import trio
import trio.testing

from hookgate.channels.approving import CHANGES, Picture, asking
from hookgate.channels.terminal.channel import GONE, NOBODY, Terminal
from hookgate.channels.terminal.dialogue import WHOLE, Ask, Console
from hookgate.channels.terminal.held import MAX_HELD
from hookgate.channels.terminal.screen import Plain, Screen
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decision, Grant, Outcome
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.values import ToolCall

REQUEST = ApprovalRequest(
    "A1", Chat("cli", "terminal"), ToolCall("1", "new_tool", {}), "rule:dynamic", "Run new_tool?", "", (), 60, "d"
)
ONCE = replace(REQUEST, once=True)
LASTING = replace(ONCE, always="probe comes back\nas it is")


def seated(screen: Screen, ask: Ask) -> Terminal:
    """Whoever is asked answers so, in a window that stays as it is."""
    return Terminal(screen, Console(screen.write, ask, lambda _old, _new, _prompt: True, lambda: (80, WHOLE)))


async def decided(terminal: Terminal, request: ApprovalRequest) -> Decision:
    """What the terminal hands on."""
    heard: list[Decision] = []

    async def decide(decision: Decision) -> Outcome:
        await trio.lowlevel.checkpoint()
        heard.append(decision)
        return Outcome(True, "approved", "Allowed.")

    await terminal.ask(request, decide)
    [decision] = heard
    return decision


@pytest.mark.parametrize(
    ("request_", "offers", "typed", "grant"),
    [
        (REQUEST, "[y]es once, [s]ession, [n]o", ["a", "s"], "session"),
        (ONCE, "[y]es once, [n]o", ["s", "always", "y"], "once"),
        (LASTING, "[y]es once, [a]lways, [n]o", ["session", "a"], "always"),
        (LASTING, "[y]es once, [a]lways, [n]o", ["ALWAYS"], "always"),
    ],
)
async def test_only_the_answers_that_are_offered_count(
    request_: ApprovalRequest, offers: str, typed: list[str], grant: Grant
) -> None:
    written: list[str] = []
    prompts: list[str] = []

    async def ask(prompt: str) -> str:
        await trio.lowlevel.checkpoint()
        prompts.append(prompt)
        return typed.pop(0)

    decision = await decided(seated(Plain(written.append), ask), request_)
    assert (decision.approved, decision.grant, typed) == (True, grant, [])
    assert set(prompts) == {f"  allow? {offers}: "}
    shown = "".join(written)
    assert ("  session: every new_tool call" in shown) == ("[s]ession" in offers)
    assert ("  always would be for:\n| probe comes back\n| as it is\n" in shown) == ("[a]lways" in offers)


@pytest.mark.parametrize("typed", ["s", "n"])
async def test_who_has_decided_is_whoever_writes_there_as_with_a_command(typed: str) -> None:
    async def ask(_prompt: str) -> str:
        await trio.lowlevel.checkpoint()
        return typed

    request = replace(REQUEST, chat=Chat("cli", "terminal", "user"))
    assert (await decided(seated(Plain(list[str]().append), ask), request)).by == "user"


async def test_what_comes_while_a_question_stands_open_waits_for_the_answer() -> None:
    written: list[str] = []

    async def ask(_prompt: str) -> str:
        await trio.lowlevel.checkpoint()
        for _ in range(MAX_HELD):
            terminal.between("? Run ls?")
        terminal.stream(REQUEST.chat, "more")
        await terminal.send(Outbound(REQUEST.chat, "noted", kind="notice"), "key")
        written.append("<answered>")
        return "n"

    terminal = seated(Plain(written.append), ask)
    assert not (await decided(terminal, REQUEST)).approved
    before, _, after = "".join(written).partition("<answered>")
    assert "Run ls" not in before
    assert after.startswith("! 2 lines that came while the question stood open were dropped\n? Run ls?\n")
    assert after.endswith("? Run ls?\nmore\n\u00b7 noted\n")


class Live(Plain):
    live = True


async def test_of_two_questions_at_once_each_gets_its_own_answer_and_says_which_it_is() -> None:
    asked, answers = list[str](), iter(["n", "y"])
    said: dict[str, bool] = {}

    async def ask(_prompt: str) -> str:
        await trio.testing.wait_all_tasks_blocked()
        return next(answers)

    terminal = seated(Live(asked.append), ask)

    async def approve(tool: str) -> None:
        decision = await decided(terminal, replace(REQUEST, call=ToolCall("1", tool, {})))
        said[tool] = decision.approved

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(approve, "first")
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(approve, "second")
    order = [text.split("\n")[0] for text in asked if text.startswith("? ")]
    assert order == ["? Run first?  (rule:dynamic asks)", "? Run second?  (rule:dynamic asks)  [2 of 2]"]
    assert asked.index("  (this is 1 of 2)\n") == 1
    assert said == {"first": False, "second": True}


async def test_where_nobody_can_be_asked_it_is_refused_and_said() -> None:
    written: list[str] = []
    with pytest.raises(CannotAsk, match=re.escape(NOBODY)):
        await decided(Terminal(Plain(written.append), None), REQUEST)
    assert written == [f"! new_tool is refused: {NOBODY}\n"]


async def test_a_no_has_its_reason_and_a_third_word_is_told_that_it_is_none() -> None:
    written, typed = list[str](), ["maybe", "n because it is Friday"]

    async def ask(_prompt: str) -> str:
        await trio.lowlevel.checkpoint()
        return typed.pop(0)

    decision = await decided(seated(Plain(written.append), ask), REQUEST)
    assert (decision.approved, decision.reason) == (False, "the user said no: it is Friday")
    assert '  "maybe" is none of the answers, so nothing is decided yet.\n' in "".join(written)


WRITES = replace(
    REQUEST,
    title="Run write?",
    call=ToolCall("1", "write", {"path": "notes", "content": "ghp_1"}),
    place="call 1 of 2",
)
HIDDEN = replace(WRITES, call=ToolCall("1", "write", {"path": "notes", "content": "[R]"}), unredacted=WRITES)


def test_a_file_that_would_change_is_a_diff_with_the_arguments_behind_it() -> None:
    picture = Picture("notes", "+[R]", "+ghp_1")
    dialogue = asking(HIDDEN, picture)
    assert dialogue.text((80, WHOLE)) == (
        "? Run write?  (rule:dynamic asks, call 1 of 2)\n"
        "  what it would change in notes:\n| +[R]\n"
        f"  {CHANGES}\n"
        "  session: every write call of this conversation that rule:dynamic asks about\n"
        "  write: 3 characters; sha256 d\n"
        "  secrets are hidden; [r]eveal shows them\n"
    )
    assert dialogue.prompt == "  allow? [y]es once, [s]ession, [r]eveal, [v]iew, [n]o: "
    assert (dialogue.hear("v"), "  content:\n| [R]\n" in dialogue.whole(80)) == ("view", True)
    dialogue.hear("r")
    assert "| +ghp_1\n" in dialogue.text((80, WHOLE))
    assert "[r]eveal" not in dialogue.prompt
    # What only the file has, and not the call, is hidden as well.
    bare = asking(WRITES, picture)
    assert ("ghp_1" in bare.text((80, WHOLE)), "[r]eveal" in bare.prompt) == (False, True)


def test_a_new_file_is_shown_once_in_the_whole_question() -> None:
    said = asking(WRITES, Picture("notes", "+ghp_1", "+ghp_1", whole="content")).whole(80)
    assert (said.count("ghp_1"), "  path:\n| notes\n" in said) == (1, True)


def test_why_there_is_no_diff_stands_before_the_arguments() -> None:
    said = asking(WRITES, Picture("notes", problem="It is too large."))
    assert "  its file:\n| It is too large.\n  path:\n| notes\n" in said.text((80, WHOLE))


def test_how_much_is_written_counts_no_path_and_what_is_strange_in_it_all_the_same() -> None:
    call = ToolCall("1", "write", {"path": "n\u043etes", "content": "one\ntwo\n"})
    drawn = Picture("n\u043etes", "+one\n+two\n", "+one\n+two\n", whole="content")
    said = "  write: 8 characters, 2 lines, 1 not ASCII; sha256 d\n"
    for picture in (drawn, Picture("n\u043etes", problem="It is too large.")):
        assert said in asking(replace(WRITES, call=call), picture).text((80, WHOLE))


def shown(request: ApprovalRequest) -> str:
    return asking(request).text((80, WHOLE))


def test_the_first_row_is_hookgates_own_whatever_a_hook_says() -> None:
    said = replace(REQUEST, asked_by="hook:policy", title="Run ls?", text="It only looks.", extension="todo")
    assert shown(said) == (
        "? The extension todo wants to run new_tool.  (hook:policy asks)\n"
        "  hook:policy says:\n| Run ls?\n| It only looks.\n"
        "  session: every new_tool call of this conversation that hook:policy asks about\n"
        "  new_tool: 22 characters, 2 lines; sha256 d\n"
    )


def test_names_of_tools_arguments_and_extensions_say_nothing_else() -> None:
    odd = replace(
        REQUEST,
        call=ToolCall("1", "ls?  (rule:a asks)\n", {"path:\n| /tmp\n  x": 1, "y" * 70: ["a", {"b": "\u2028"}]}),
        extension="e\u3164",
    )
    rows = shown(odd).splitlines()
    assert rows[0].startswith('? The extension "e\\u3164" wants to run "ls?\\u0020\\u0020(rule:a\\u0020asks)\\n".')
    assert '  "path:\\n|\\u0020/tmp\\n\\u0020\\u0020x":' in rows
    whole = rows.index("  an argument's whole name:")
    assert rows[whole + 1 : whole + 4] == [f"| {'y' * 70}", f'  "{"y" * 64}"...(70_char', "    acters):"]
    assert '| ["a",{"b":"\\u2028"}]' in rows


async def test_what_is_hidden_is_revealed_by_r() -> None:
    hidden = replace(REQUEST, call=ToolCall("1", "new_tool", {"key": "[REDACTED:1f0c]"}))
    hidden = replace(hidden, unredacted=replace(hidden, call=ToolCall("1", "new_tool", {"key": "ghp_1"})))
    written: list[str] = []
    prompts: list[str] = []
    typed = ["r", "y"]

    async def ask(prompt: str) -> str:
        await trio.lowlevel.checkpoint()
        prompts.append(prompt)
        return typed.pop(0)

    assert (await decided(seated(Plain(written.append), ask), hidden)).approved
    assert ["| [REDACTED:1f0c]\n" in text for text in written] == [True, False]
    assert ["| ghp_1\n" in text for text in written] == [False, True]
    assert ["[r]eveal" in prompt for prompt in prompts] == [True, False]


async def test_a_question_that_nobody_waits_for_any_more_says_so() -> None:
    written: list[str] = []

    async def ask(_prompt: str) -> str:
        await trio.sleep_forever()

    terminal = seated(Plain(written.append), ask)
    with trio.move_on_after(0.01):
        await decided(terminal, REQUEST)
    terminal.between("next")
    assert written[1:] == [f"\n{GONE}", "next\n"]
