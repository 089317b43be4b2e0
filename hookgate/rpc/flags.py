"""The command line of `hookgate rpc`: zot's flags, read as zot reads them. Starts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hookgate.embedding.reasoning import LEVELS
from hookgate.embedding.settings import Settings
from hookgate.skills import TOOL as SKILL

Kind = Literal["text", "texts", "switch", "number"]

_HELP = """Usage: {prog} rpc [FLAGS]

Speaks newline-delimited JSON on stdin and stdout: commands in, responses and events out.

  --provider NAME              one of the configuration's, or openai, or anthropic
  --model NAME                 the model; PROVIDER/MODEL works too
  --api-key KEY                instead of OPENAI_API_KEY or ANTHROPIC_API_KEY
  --base-url URL               the endpoint
  --cwd DIR                    where tools work
  --system-prompt TEXT         instead of the configured one
  --append-system-prompt TEXT  after it; may be repeated
  --reasoning LEVEL            {levels}
  --max-steps N                model calls in one prompt
  --no-tools                   no built-in tools
  --tools NAMES                only these, with commas between
  --ext, -e PATH               load this extension; may be repeated
  --no-ext                     load no other extensions
  --no-skill                   no skills
  --with-skills                skills, whatever --no-tools and --tools say
  --no-context-files           do not tell the model what AGENTS.md says
  --rpc-approvals              ask for approvals here, instead of denying what needs one
  --config FILE                instead of ./hookgate.toml
"""
_LEVELS = ("off", *LEVELS)

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
    "--no-tools": ("no_tools", "switch"),
    "--tools": ("tools", "text"),
    "--ext": ("extensions", "texts"),
    "-e": ("extensions", "texts"),
    "--no-ext": ("no_ext", "switch"),
    "--no-skill": ("no_skill", "switch"),
    "--with-skills": ("with_skills", "switch"),
    "--no-yolo": ("no_yolo", "switch"),
    "--no-context-files": ("no_context_files", "switch"),
    "--rpc-approvals": ("approvals", "switch"),
    "--config": ("config", "text"),
    "--help": ("help", "switch"),
    "-h": ("help", "switch"),
}


def usage(program: str) -> str:
    """The help, for a program of this name."""
    return _HELP.format(prog=program, levels=f"{', '.join(_LEVELS[:-1])} or {_LEVELS[-1]}")


class BadFlags(Exception):
    """The text says which flag and why."""


@dataclass(frozen=True)
class Flags:
    """As given: empty, None or False where not."""

    provider: str = ""
    model: str = ""
    api_key: str = ""
    base_url: str = ""
    cwd: str = ""
    system: str | None = None
    system_more: tuple[str, ...] = ()
    reasoning: str = ""
    max_steps: int | None = None
    no_tools: bool = False
    tools: str | None = None
    extensions: tuple[str, ...] = ()
    no_ext: bool = False
    no_skill: bool = False
    with_skills: bool = False
    no_yolo: bool = False
    no_context_files: bool = False
    approvals: bool = False
    config: str = ""
    help: bool = False

    @property
    def named_tools(self) -> tuple[str, ...] | None:
        """What `--tools` names, and `--with-skills` beside it or where there would be none; None for all."""
        if self.tools is None and not self.no_tools:
            return None
        named = tuple(name.strip() for name in (self.tools or "").split(",") if name.strip())
        return (*named, SKILL) if self.with_skills else named

    def settings(self, file: Path | None) -> Settings:
        """`file` is the configuration's, if there is one."""
        return Settings(
            config=file,
            provider=self.provider,
            model=self.model,
            api_key=self.api_key,
            base_url=self.base_url,
            system=self.system,
            system_more=self.system_more,
            reasoning=self.reasoning,
            max_steps=self.max_steps,
            tools=self.named_tools,
            no_tools=self.no_tools,
            extensions=tuple(map(Path, self.extensions)),
            find_extensions=not self.no_ext,
            skills=not self.no_skill,
            context_files=not self.no_context_files,
        )


def parse_flags(arguments: Sequence[str]) -> Flags:
    """`--flag value` and `--flag=value`. Raises BadFlags."""
    given: dict[str, Any] = {}
    waiting = list(arguments)
    while waiting:
        word, equals, value = waiting.pop(0).partition("=")
        name, kind = _known(word)
        if kind == "switch":
            given[name] = True
            continue
        if not equals and not waiting:
            raise BadFlags(f'flag "{word}" needs a value')
        value = value if equals else waiting.pop(0)
        given[name] = (*given.get(name, ()), value) if kind == "texts" else _read(word, kind, value)
    return Flags(**given)


def _known(word: str) -> tuple[str, Kind]:
    if word not in _FLAGS:
        raise BadFlags(f'unknown flag "{word}"' if word.startswith("-") else f'unexpected argument "{word}"')
    return _FLAGS[word]


def _read(word: str, kind: Kind, value: str) -> str | int:
    if kind != "number":
        return value
    if not value.isdecimal() or len(value) > 9 or int(value) < 1:
        raise BadFlags(f'flag "{word}" needs a number from 1 on, not "{value}"')
    return int(value)
