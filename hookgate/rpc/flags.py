"""The command line of `hookgate rpc`: zot's flags, read as zot reads them. Starts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

from hookgate.assembly.settings import KeptConversation
from hookgate.assembly.vendors import VENDORS
from hookgate.embedding.above import Above, row
from hookgate.mistakes import close
from hookgate.program.help import Help
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values.reasoning import LEVELS
from hookgate.skills import TOOL as SKILL

Kind = Literal["text", "texts", "paths", "on", "off", "number", "taken"]
"""`paths`: from where it is typed, which `--cwd` leads away from. `taken`: for zot's sake; it changes nothing."""

_REPEATED = ("texts", "paths")
_ABOUT = "Speaks newline-delimited JSON on stdin and stdout: commands in, responses and events out."
_LEVELS = ("off", *LEVELS)
_HELP = (
    ("--provider NAME", f"of the configuration, or {', '.join(VENDORS)}"),
    ("--model NAME", "the model; PROVIDER/MODEL works too"),
    ("--api-key KEY", "instead of OPENAI_API_KEY, ANTHROPIC_API_KEY or KIMI_API_KEY"),
    ("--base-url URL", "the endpoint"),
    ("--cwd DIR", "where tools work"),
    ("--system-prompt TEXT", "instead of the configured one"),
    ("--append-system-prompt TEXT", "after it; may be repeated"),
    ("--reasoning LEVEL", f"{', '.join(_LEVELS[:-1])} or {_LEVELS[-1]}"),
    ("--max-steps N", "model calls in one prompt"),
    ("--no-tools", "no built-in tools"),
    ("--tools NAMES", "only these, with commas between"),
    ("--ext, -e PATH", "load this extension; may be repeated"),
    ("--no-ext, --no-extensions", "load no other extensions"),
    ("--no-skill, --no-skills", "no skills"),
    ("--with-skills, --with-skill", "skills, whatever --no-tools and --tools say"),
    ("--no-context-files, -nc", "do not tell the model what AGENTS.md says"),
    ("--rpc-approvals", "ask for approvals here, instead of denying"),
    ("--compact-done", "`done` after a compaction too, unlike zot"),
    ("--session NAME", "keep the conversation, or go on with this one"),
    ("--continue, -c", "go on with the one kept last in this folder"),
    ("--no-session", "keep none, whatever else is said"),
    ("--config FILE", "instead of ./hookgate.toml"),
    ("--list-models", "print the known models, and exit"),
    ("--version, -v", "print the version, and exit"),
    ("--help, -h", "print this, and exit"),
    ("--no-yolo, --resume, -r", "taken for zot's sake; they change nothing"),
)

_FLAGS: Mapping[str, tuple[str, Kind]] = {
    "--provider": ("provider", "text"),
    "--model": ("model", "text"),
    "--api-key": ("api_key", "text"),
    "--base-url": ("base_url", "text"),
    "--cwd": ("cwd", "text"),
    "--system-prompt": ("system", "text"),
    "--append-system-prompt": ("system_more", "texts"),
    "--reasoning": ("reasoning", "text"),
    "--max-steps": ("max_steps", "number"),
    "--no-tools": ("no_tools", "on"),
    "--tools": ("tools", "text"),
    "--ext": ("extensions", "paths"),
    "--no-ext": ("find_extensions", "off"),
    "--no-skill": ("skills", "off"),
    "--with-skills": ("with_skills", "on"),
    "--no-yolo": ("no_yolo", "on"),
    "--no-context-files": ("context_files", "off"),
    "--rpc-approvals": ("approvals", "on"),
    "--compact-done": ("compact_done", "on"),
    "--session": ("session", "text"),
    "--continue": ("last", "on"),
    "--config": ("config", "text"),
    "--list-models": ("list_models", "on"),
    "--version": ("version", "on"),
    "--help": ("help", "on"),
    "--no-session": ("unkept", "on"),
    "--resume": ("resume", "on"),
    "--rpc": ("", "taken"),
    "--experimental-oauth": ("", "taken"),
}
_ALIASES: Mapping[str, str] = {
    "-c": "--continue",
    "-e": "--ext",
    "-h": "--help",
    "-nc": "--no-context-files",
    "-r": "--resume",
    "-v": "--version",
    "--no-extensions": "--no-ext",
    "--no-skills": "--no-skill",
    "--with-skill": "--with-skills",
}
"""zot's other names."""
_MODES: Mapping[str, str] = {
    "-p": "one question is for `{prog} chat --once TEXT`",
    "--print": "one question is for `{prog} chat --once TEXT`",
    "--json": "send a prompt on stdin: what comes back has these events",
    "--stats": "`get_state` and every `usage` event say what the conversation has cost",
    "--insecure": "certificates are always checked; SSL_CERT_FILE names the file of an authority of your own",
    "--codemode": "hookgate has no such mode, and the model calls tools one by one",
}
"""Flags of zot that want something else than RPC, and who has that."""
_OWN = (
    *("cwd", "config", "approvals", "no_yolo", "help", "session", "last", "compact_done"),
    *("list_models", "version", "resume", "unkept"),
)
_USUAL = Above(find_extensions=True, skills=True, context_files=True)


def usage(program: str) -> str:
    """The help, for a program of this name, laid out as that of the other commands."""
    help_ = Help()
    help_.write_usage(f"{program} rpc", "[FLAGS]")
    help_.write_paragraph()
    with help_.indentation():
        help_.write_text(_ABOUT)
    with help_.section("Flags"):
        help_.write_dl(_HELP)
    return help_.getvalue()


class BadFlags(Exception):
    """The text says which flag and why."""


@dataclass(frozen=True)
class Flags:
    """`above`: what is said above the configuration; the rest is the process's. Empty or False where not given."""

    above: Above
    cwd: str = ""
    config: str = ""
    approvals: bool = False
    no_yolo: bool = False
    help: bool = False
    session: str = ""
    last: bool = False
    compact_done: bool = False
    list_models: bool = False
    version: bool = False
    resume: bool = False
    unkept: bool = False

    @property
    def keep(self) -> KeptConversation:
        return KeptConversation() if self.unkept else KeptConversation(self.session, self.last, lenient=True)

    @property
    def tools(self) -> tuple[str, ...]:
        """The built-in tools that it names."""
        return row(self.above.get("tools") or ()) if not self.above.get("no_tools") else ()


def parse_flags(arguments: Sequence[str], program: str = "hookgate") -> Flags:
    """`--flag value` and `--flag=value`. Raises BadFlags."""
    given: dict[str, Any] = dict(_USUAL)
    waiting = list(arguments)
    while waiting:
        word, equals, value = waiting.pop(0).partition("=")
        name, kind = _known(word, program)
        if kind == "taken":
            continue
        if kind in ("on", "off"):
            given[name] = kind == "on"
            continue
        if not equals and not waiting:
            raise BadFlags(f"{word} requires a value")
        value = value if equals else waiting.pop(0)
        value = str(Path(value).absolute()) if kind == "paths" else value
        given[name] = (*given.get(name, ()), value) if kind in _REPEATED else _read(word, kind, value)
    if (tools := _tools(given.pop("tools", None), given)) is not None:
        given["tools"] = tools
    own = {name: given.pop(name) for name in _OWN if name in given}
    if "session" in own and "last" in own and "unkept" not in own:
        raise BadFlags("--session names a conversation and --continue takes the last one: give one of them")
    return Flags(cast("Above", given), **own)


def takes(word: str) -> bool:
    """Whether it is a flag of rpc; zot's that nothing here reads are none."""
    return _FLAGS.get(_ALIASES.get(word, word), ("", "taken"))[1] != "taken"


def _tools(listed: str | None, given: dict[str, Any]) -> tuple[str, ...] | None:
    """What `--tools` names, and `--with-skills` beside it or where there would be none; None for all."""
    skilled = given.pop("with_skills", False)
    if listed is None and not given.get("no_tools"):
        return None
    named = tuple(name.strip() for name in (listed or "").split(",") if name.strip())
    return (*named, SKILL) if skilled else named


def _known(word: str, program: str) -> tuple[str, Kind]:
    word = _ALIASES.get(word, word)
    if word in _MODES:
        raise BadFlags(f"{word} is no flag of rpc: {_MODES[word].format(prog=program)}")
    if word not in _FLAGS:
        if not word.startswith("-"):
            raise BadFlags(f'unexpected argument "{word}"')
        known = (name for name, (_, kind) in _FLAGS.items() if kind != "taken")
        raise BadFlags(f'unknown flag "{word}"{close(word, (*known, *_ALIASES))}')
    return _FLAGS[word]


def _read(word: str, kind: Kind, value: str) -> str | int:
    if word == "--session" and ("/" in value or value.endswith(".jsonl")):
        raise BadFlags(
            f"--session {value}: conversations are kept by a name here, and zot's files of them are not read"
        )
    if word == "--session" and not value:
        raise BadFlags("--session needs a name to keep the conversation by")
    if kind != "number":
        return value.lower() if word == "--reasoning" else value
    if not value.isdecimal() or len(value) > 9 or int(value) < 1:
        raise BadFlags(f'{word} must be a positive integer, not "{value}"')
    return int(value)
