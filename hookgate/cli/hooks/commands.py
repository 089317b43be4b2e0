"""The `hookgate hooks` group: its commands' words and options. Imports click alone, as main does."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hookgate.cli.completion import completed
from hookgate.cli.exits import guarded, run
from hookgate.cli.names import agent_names, channel_names, hook_names, model_names, role_names, tool_names
from hookgate.cli.options import FILE, ListingGroup, config_option, control_option, json_option

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from hookgate.cli.hooks.subjects import Named
    from hookgate.cli.hooks.trying import About

FOLDER_THERE = click.Path(exists=True, file_okay=False)
STAGES = ("on_message", "before_llm", "after_llm", "before_tool", "approve_tool", "after_tool", "before_send")

STAGE_HELP = f"{', '.join(STAGES[:-1])} or {STAGES[-1]}; before_tool, where nothing else is said."


@click.group(cls=ListingGroup)
def hooks() -> None:
    """Hook processes: look, put to the test, replay."""


@hooks.command(name="list")
@config_option
@control_option
@json_option
def hooks_list(config_file: Path | None, control: Path | None, as_json: bool) -> None:
    """The hooks that run, or else those that would: state and times."""
    from hookgate.cli.hooks.listing import list_hooks

    guarded(lambda: list_hooks(config_file, control, as_json=as_json))


@hooks.command(name="reload")
@config_option
@control_option
@click.option("--here", is_flag=True, help="Of several gateways that share a journal the one that is asked, alone.")
@json_option
def hooks_reload(config_file: Path | None, control: Path | None, here: bool, as_json: bool) -> None:
    """Take over the configuration, on all gateways in turn."""
    from hookgate.cli.hooks.reloading import reload_hooks

    guarded(lambda: reload_hooks(config_file, control, here=here, as_json=as_json))


@hooks.command(name="explain")
@config_option
@click.option("--channel", default="cli", show_default=True, shell_complete=completed(channel_names))
@click.option("--chat", default="terminal", show_default=True)
@click.option("--chat-type", default="direct", show_default=True)
@click.option("--sender", default="user", show_default=True)
@click.option("--thread", default="")
@click.option(
    "--role",
    default=None,
    shell_complete=completed(role_names),
    help="That the sender has, instead of those of [people]; several between commas.",
)
@click.option(
    "--agent",
    default="",
    shell_complete=completed(agent_names),
    help="Instead of the one that answers in that chat.",
)
@click.option("--tool", default="", shell_complete=completed(tool_names), help="A tool call of this name.")
@click.option("--model", default="", shell_complete=completed(model_names), help="Instead of agent.model.")
@json_option
def hooks_explain(config_file: Path | None, role: str | None, as_json: bool, **call: str) -> None:
    """Which hooks a call would pass, and why each is in or out."""
    from hookgate.cli.hooks.explain import explain

    guarded(lambda: explain(config_file, call, role, as_json=as_json))


class NameOrProgram(click.Command):
    """A command about one hook: a name of the configuration, or a program and its arguments behind `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" not in args:
            return super().parse_args(ctx, args)
        at = args.index("--")
        ctx.meta[PROGRAM] = program = tuple(args[at + 1 :])
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        ours = {name for it in self.get_params(ctx) for name in it.opts if name.startswith("-")}
        for word in program:
            if (name := word.partition("=")[0]) in ours:
                click.echo(f"note: {name} stands behind -- and goes to the program", err=True)
        return super().parse_args(ctx, args[:at])


PROGRAM = "hookgate.program"
"""What stands behind `--`."""


def offered(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """One name; behind the dashes what a shell knows itself."""
    if PROGRAM not in context.meta:
        return completed(hook_names, once=True)(context, parameter, incomplete)
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def about_hook(command: Callable[..., None]) -> Callable[..., None]:
    """Gives it `named`: which hook it is about."""

    @config_option
    @click.argument(
        "words",
        nargs=-1,
        type=click.UNPROCESSED,
        metavar="NAME | -- COMMAND...",
        shell_complete=offered,
    )
    @click.option("--dir", "directory", type=FOLDER_THERE, help="Where a COMMAND runs.")
    @click.option("--env", multiple=True, metavar="NAME=VALUE", help="For a COMMAND; may be repeated.")
    @click.option(
        "--hello-timeout",
        "hello_s",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="So long a COMMAND may take to start; 60, where nothing else is said.",
    )
    @wraps(command)
    def with_hook(
        config_file: Path | None,
        words: tuple[str, ...],
        directory: str | None,
        env: tuple[str, ...],
        hello_s: float | None,
        **rest: object,
    ) -> None:
        from hookgate.cli.hooks.subjects import Named

        program = click.get_current_context().meta.get(PROGRAM, ())
        if len(words) + bool(program) != 1:
            several = ", not both" if words else ""
            raise click.UsageError(f"NAME or -- COMMAND{several}: one name, or a program behind `--`")
        name = "".join(words)
        command(named=Named(name, program, config_file, directory or "", env, hello_s), **rest)

    return with_hook


@hooks.command(name="check", cls=NameOrProgram)
@about_hook
@json_option
def hooks_check(named: Named, as_json: bool) -> None:
    """Put a hook to the test."""
    from hookgate.cli.hooks.check import check_hook

    run(lambda: check_hook(named, as_json=as_json))


def about_call(command: Callable[..., None]) -> Callable[..., None]:
    """Gives it `about`: the question that is asked."""

    @click.option("--stage", type=click.Choice(STAGES), metavar="STAGE", help=STAGE_HELP)
    @click.option("--tool", default="", help="bash, where nothing else is said.")
    @click.option("--args", "arguments", default="", metavar="JSON", help="The call's arguments.")
    @click.option("--text", default=None, help="Of the message, the reply, or the tool's result.")
    @click.option("--error", "failed", is_flag=True, help="after_tool: the tool has failed.")
    @click.option("--channel", default="cli", show_default=True)
    @click.option("--chat", default="terminal", show_default=True)
    @click.option("--chat-type", default="direct", show_default=True)
    @click.option("--sender", default="user", show_default=True)
    @click.option("--thread", default="")
    @click.option("--role", default=None, help="That the sender has; several between commas.")
    @click.option("--agent", default="", help="Instead of the one that answers in that chat.")
    @click.option("--model", default="", help="Instead of agent.model.")
    @click.option("--from", "file", type=FILE, help="A recording or an event file: ask what stands there.")
    @click.option("--line", type=click.IntRange(1), help="Of that file; without it the last stage call.")
    @wraps(command)
    def with_call(**given: Any) -> None:  # noqa: ANN401 - click's own
        from hookgate.cli.hooks.trying import About

        call = {name: given.pop(name) for name in CALL}
        words = {name: given.pop(name) for name in QUESTION}
        command(about=About(**words, call=call), **given)

    return with_call


CALL = ("channel", "chat", "chat_type", "sender", "thread", "agent", "model")
QUESTION = ("stage", "tool", "arguments", "text", "failed", "role", "file", "line")


@hooks.command(name="try", cls=NameOrProgram)
@about_hook
@about_call
@json_option
def hooks_try(named: Named, about: About, as_json: bool) -> None:
    """Ask one hook one question, as the gate would.

    Ends with 0 where it goes on, with 1 where it is denied, with 3 where a person would be asked.
    """
    from hookgate.cli.hooks.trying import try_hook

    run(lambda: try_hook(named, about, as_json=as_json))


@hooks.command(name="record")
@click.argument("file", type=FILE)
@config_option
@control_option
@click.option("--from", "events", type=FILE, help="An event file, instead of a running gateway.")
@click.option("--hook", "names", multiple=True, metavar="NAME", help="Only what this one is asked; may be repeated.")
@click.option("--calls", "most", type=click.IntRange(1), help="End after so many.")
def hooks_record(
    file: Path,
    config_file: Path | None,
    control: Path | None,
    events: Path | None,
    names: tuple[str, ...],
    most: int | None,
) -> None:
    """Keep what hooks are asked, and say."""
    from hookgate.cli.hooks.record import Wanted, record_events, record_gateway

    wanted = Wanted(file, names, most)
    guarded(lambda: record_events(wanted, events) if events else record_gateway(wanted, config_file, control))


@hooks.command(name="replay", cls=NameOrProgram)
@click.argument("file", type=FILE)
@about_hook
@click.option("--hook", "of", default="", metavar="NAME", help="Whose calls, where the file has those of several.")
@click.option("--strict", is_flag=True, help="Whatever differs ends with 1.")
@click.option("--allow-broken", "broken", is_flag=True, help="Lines that cannot be read do not end with 1.")
@json_option
def hooks_replay(file: Path, named: Named, of: str, strict: bool, broken: bool, as_json: bool) -> None:
    """Ask a hook again what was recorded.

    Prints what it decides differently. Ends with 1 where anything that was denied, asked about, or answered without
    being run, goes on now, and where a line cannot be read.
    """
    from hookgate.cli.hooks.replay import Passing, replay_file

    run(lambda: replay_file(file, named, of, Passing(strict, broken), as_json=as_json))


@hooks.command(name="bench", cls=NameOrProgram)
@about_hook
@about_call
@click.option("--calls", type=click.IntRange(1, 1_000_000), default=2000, show_default=True)
@json_option
def hooks_bench(named: Named, about: About, calls: int, as_json: bool) -> None:
    """Time a hook, beside its floor."""
    from hookgate.cli.hooks.bench import bench_hook

    run(lambda: bench_hook(named, about, calls, as_json=as_json))
