"""The command line. Imports click alone; every command imports its own parts when it runs, and a group of commands is
imported when one of them is asked for."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import click

from hookgate import __version__
from hookgate.cli.completion import completed, completion
from hookgate.cli.exits import guarded, needing_gateway, run, written
from hookgate.cli.names import kept_names, method_names, model_names, page_names
from hookgate.cli.options import FILE, FOLDER, Group, config_option, control_option, ext_option, json_option
from hookgate.cli.zot_words import ZotsChat, own_words, renamed, taken

model_option = click.option(
    "--model",
    default="",
    metavar="NAME",
    shell_complete=completed(model_names),
    help="Instead of agent.model: PROVIDER/MODEL, known or not.",
)
CONTEXT = {"help_option_names": ["-h", "--help"]}
ELSEWHERE = {
    **dict.fromkeys(("channels", "web"), "channels"),
    "config": "config.commands",
    "ext": "ext.commands",
    "hooks": "hooks.commands",
    **dict.fromkeys(("sessions", "store", "where"), "journal.commands"),
    "mcp": "mcp.commands",
    "migrate": "migrate.commands",
    **dict.fromkeys(("approvals", "audit", "keys", "people"), "people.commands"),
    "status": "status.command",
    "tools": "tools.commands",
}
"""Commands by name, each with the module of this package that has it under that name."""


class Watched(Group):
    """Every command runs under a guardian, before it has imported anything. And Ctrl-C is quiet while a command is
    still being imported, or where it has no say about it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # A shell wants to know what may follow, not what is wrong.
        with written():
            return super().parse_args(ctx, args if ctx.resilient_parsing else own_words(args, self))

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *ELSEWHERE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ELSEWHERE and cmd_name not in self.commands:
            self.add_command(getattr(import_module(f"hookgate.cli.{ELSEWHERE[cmd_name]}"), cmd_name), cmd_name)
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - as click has it
        from hookgate.processes.guardian import under_guardian

        with under_guardian(), written():
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                raise SystemExit(130) from None


@click.group(cls=Watched, context_settings=CONTEXT)
@click.version_option(__version__, "-v", "--version", message="hookgate %(version)s")
def hookgate() -> None:
    """A gateway whose every model call and tool call passes your hook processes."""


@hookgate.command(cls=ZotsChat, context_settings={"token_normalize_func": renamed})
@config_option
@control_option
@model_option
@click.option(
    "--session",
    metavar="NAME",
    shell_complete=completed(kept_names),
    help="Keep the conversation, or go on with the one kept so.",
)
@click.option("-c", "--continue", "last", is_flag=True, help="Go on where something was said last in this workspace.")
@click.option("--once", metavar="TEXT", help="Ask one question, print only the answer. -: the question is stdin.")
@click.option("--yes", is_flag=True, help="With --once: allow what you could allow yourself. No hook is overruled.")
@click.option("--fail-on-denial", is_flag=True, help="With --once: exit with 3 where any call was refused.")
@click.option("--yes-from-stdin", is_flag=True, help="Let lines of a stdin that is no terminal answer questions.")
@click.option("--plain", is_flag=True, help="Show answers as they are written, without layout and colours.")
@click.option("--trace", is_flag=True, help="Show what every hook decided, and how long it took.")
@click.option("--events", type=FILE, help="Append every event and gate decision to this file, as JSON lines.")
@click.option("--diff", is_flag=True, help="After each turn, show what it changed in the workspace.")
@ext_option
@click.option("--no-ext", is_flag=True, help="Load no extensions but those of --ext.")
@click.option("--no-skill", is_flag=True, help="Offer no skills to the model.")
@click.option("-nc", "--no-context-files", is_flag=True, help="Do not tell the model what AGENTS.md says.")
@taken
def chat(
    config_file: Path | None,
    once: str | None,
    trace: bool,
    events: Path | None,
    control: Path | None,
    yes_from_stdin: bool,
    plain: bool,
    session: str | None,
    last: bool,
    no_session: bool,
    **above: Any,  # noqa: ANN401 - flags of several kinds
) -> None:
    """Talk to the configured model."""
    from hookgate.assembly.settings import KeptConversation
    from hookgate.cli.terminal.chat import run_chat
    from hookgate.cli.terminal.flags import Flags, settled

    if session == "":
        raise click.UsageError("--session needs a name to keep the conversation by")
    if session and last:
        raise click.UsageError("--session names a conversation and --continue takes the last one: give one of them")
    for_once = {name: above.pop(name) for name in ("yes", "fail_on_denial")}
    if once is None and any(for_once.values()):
        raise click.UsageError("--yes and --fail-on-denial are for --once")
    if once is not None and yes_from_stdin:
        raise click.UsageError("--yes-from-stdin is for a chat between pipes; with --once there is --yes")
    keep = KeptConversation() if no_session else KeptConversation(session or "", last)
    flags = Flags(once, trace, events, control, yes_from_stdin, plain, keep, **for_once)

    async def main() -> int:
        return await run_chat(settled(config_file, **above), flags)

    run(main)


@hookgate.command()
@config_option
@control_option
def serve(config_file: Path | None, control: Path | None) -> None:
    """Run the gateway and its channels until told to stop.

    SIGTERM lets running turns end first; a second one does not wait. Needs hookgate[gateway].
    """

    async def main() -> int:
        with needing_gateway():
            from hookgate.serve.run import Flags, run_serve, settled
        return await run_serve(settled(config_file), Flags(click.echo, control))

    run(main)


@hookgate.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def rpc(arguments: tuple[str, ...]) -> None:
    """Speak zot's RPC on stdin and stdout."""
    from hookgate.rpc.service import run_rpc

    raise SystemExit(run_rpc(arguments))


@hookgate.command()
@click.option("--config", "config_file", type=FILE, help="A hookgate.toml; none is looked for.")
@model_option
def acp(config_file: Path | None, model: str) -> None:
    """Be the agent in an editor: ACP on stdin and stdout.

    Editors start this themselves. Without --config it takes the model whose key is set, OPENAI_API_KEY or
    ANTHROPIC_API_KEY, and asks before bash, write and edit.
    """

    async def main() -> int:
        from hookgate.acp.service import run_acp, settled

        return await run_acp(settled(config_file, model))

    run(main)


@hookgate.command()
@click.option("--interactive", is_flag=True, help="Type instead of watching.")
@click.option("--web", is_flag=True, help="As a page in the browser, with a question that waits there.")
def demo(interactive: bool, web: bool) -> None:
    """Watch a conversation pass real hooks: no network, no key."""

    async def main() -> int:
        if web:
            with needing_gateway():
                from hookgate.cli.demo.web import run_web_demo
            return await run_web_demo()
        from hookgate.cli.demo.running import run_demo

        return await run_demo(interactive=interactive)

    run(main)


@hookgate.command()
@click.option("--force", is_flag=True, help="Overwrite what is there.")
@click.option("--gateway", is_flag=True, help="For `hookgate serve`: with a page in the browser.")
@click.option(
    "--sdk",
    type=click.Choice(("python", "go", "typescript", "none")),
    default="none",
    show_default=True,
    help="What the hook is written with; none: plain Python, no SDK.",
)
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=Path())
def init(folder: Path, force: bool, gateway: bool, sdk: str) -> None:
    """Write hookgate.toml and an example hook into FOLDER, or here."""
    from hookgate.cli.init.writing import run_init

    guarded(lambda: run_init(folder, force=force, gateway=gateway, sdk=sdk))


@hookgate.command()
@config_option
@click.option("--online", is_flag=True, help="Ask each provider one tiny question too.")
@click.option("-e", "--ext", multiple=True, type=FOLDER, help="Look at the extension in this folder too.")
@json_option
def doctor(config_file: Path | None, **more: Any) -> None:  # noqa: ANN401 - flags of several kinds
    """What is there, what is missing, and what to type.

    Every hook, extension and local MCP server is started once and stopped again. The status is 0 where nothing that
    is configured is broken.
    """
    from hookgate.cli.doctor.run import DoctorFlags, run_doctor

    flags = DoctorFlags(config_file, **more)
    run(lambda: run_doctor(flags))


@hookgate.command()
@click.option("--openrpc", is_flag=True, help="As an OpenRPC document.")
def schema(openrpc: bool) -> None:
    """Print the hook protocol as JSON Schema."""
    from hookgate.cli.schema import print_schema

    guarded(lambda: print_schema(openrpc=openrpc))


@hookgate.command()
@click.argument("page", default="", shell_complete=completed(page_names))
@json_option
def docs(page: str, as_json: bool) -> None:
    """List the pages of the documentation, or show one."""
    from hookgate.cli.pages import list_pages, show_page

    guarded(lambda: show_page(page) if page else list_pages(as_json=as_json))


@hookgate.command()
@click.argument("method", shell_complete=completed(method_names))
@click.argument("params", default="{}")
@config_option
@control_option
def control(method: str, params: str, config_file: Path | None, control: Path | None) -> None:
    """Call a method of the running gateway.

    gateway.about names all methods, and which of them change something: those are asked of the gateway of this
    configuration file or workspace alone, or of the one at --control. hooks.reload compares configuration: a hook
    whose program alone has changed is started anew by hooks.restart '{"name": "..."}'.
    """
    from hookgate.cli.control import call_gateway

    guarded(lambda: call_gateway(method, params, config_file, control))


hookgate.add_command(completion)
