"""The `hookgate ext` group: its commands' words and options. Imports click alone, as main does."""

from __future__ import annotations

from pathlib import Path

import click

from hookgate.cli.completion import completed
from hookgate.cli.exits import guarded, run
from hookgate.cli.names import extension_names
from hookgate.cli.options import Group, config_option, json_option


class ExtGroup(Group):
    """Help goes to stderr, as zot's does."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if self.get_command(ctx, args[0]) is None:
            click.echo(ctx.get_help(), err=True)
            click.echo(f"hookgate: unknown ext subcommand: {args[0]}", err=True)
            ctx.exit(1)
        return super().resolve_command(ctx, args)


@click.group(cls=ExtGroup, invoke_without_command=True)
@click.pass_context
def ext(context: click.Context) -> None:
    """Extensions of zot: install, list, switch, trust, remove."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)


@ext.command(name="help", hidden=True)
@click.pass_context
def ext_help(context: click.Context) -> None:
    """Show this."""
    click.echo(context.parent.get_help() if context.parent else "", err=True)


@ext.command(name="list")
@config_option
@json_option
def ext_list(config_file: Path | None, as_json: bool) -> None:
    """What is installed, in load order."""
    from hookgate.cli.ext.installed import list_extensions

    guarded(lambda: list_extensions(config_file, as_json=as_json))


@ext.command(name="install")
@click.argument("source", metavar="PATH|URL", required=False, type=click.Path())
@config_option
def ext_install(source: str | None, config_file: Path | None) -> None:
    """Copy a folder or clone a git repository."""
    given = _needed(source, "install", "<path|git-url>")

    from hookgate import config as configuration
    from hookgate.cli.ext.installed import install, places_of
    from hookgate.extensions.git import Git

    guarded(lambda: install(given, places_of(config_file), Git(configuration.git_environment())))


@ext.command(name="enable")
@click.argument("name", required=False, shell_complete=completed(extension_names))
@config_option
def ext_enable(name: str | None, config_file: Path | None) -> None:
    """Load it again from the next start on."""
    _switch(_needed(name, "enable"), config_file, enabled=True)


@ext.command(name="disable")
@click.argument("name", required=False, shell_complete=completed(extension_names))
@config_option
def ext_disable(name: str | None, config_file: Path | None) -> None:
    """Keep it, but do not load it."""
    _switch(_needed(name, "disable"), config_file, enabled=False)


def _switch(name: str, config_file: Path | None, *, enabled: bool) -> None:
    from hookgate.cli.ext.installed import places_of, switch

    guarded(lambda: switch(name, places_of(config_file), enabled=enabled))


@ext.command(name="trust")
@click.argument("name", metavar="NAME|DIR", required=False, shell_complete=completed(extension_names))
@config_option
def ext_trust(name: str | None, config_file: Path | None) -> None:
    """Run a project's extension unasked, as long as it stays as it is."""
    given = _needed(name, "trust", "<name|dir>")

    from hookgate import config as configuration
    from hookgate.cli.ext.installed import places_of, trust
    from hookgate.extensions.trust import Trust

    guarded(lambda: trust(given, places_of(config_file), Trust(configuration.trust_folder())))


@ext.command(name="untrust")
@click.argument("name", metavar="NAME|DIR", required=False, shell_complete=completed(extension_names))
@config_option
def ext_untrust(name: str | None, config_file: Path | None) -> None:
    """Ask about it again."""
    given = _needed(name, "untrust", "<name|dir>")

    from hookgate import config as configuration
    from hookgate.cli.ext.installed import places_of, untrust
    from hookgate.extensions.trust import Trust

    guarded(lambda: untrust(given, places_of(config_file), Trust(configuration.trust_folder())))


@ext.command(name="remove")
@click.argument("name", required=False, shell_complete=completed(extension_names))
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@config_option
def ext_remove(name: str | None, yes: bool, config_file: Path | None) -> None:
    """Delete its folder; also `rm`."""
    given = _needed(name, "remove")

    from hookgate.cli.ext.installed import places_of, remove

    guarded(lambda: remove(given, places_of(config_file), yes=yes))


ext.add_command(
    click.Command("rm", callback=ext_remove.callback, params=list(ext_remove.params), hidden=True),
)


@ext.command(name="logs")
@click.argument("name", required=False, shell_complete=completed(extension_names))
@click.option("--follow", "-f", is_flag=True, help="Go on with what is written from now on.")
@config_option
def ext_logs(name: str | None, follow: bool, config_file: Path | None) -> None:
    """Its stderr, and what hookgate says of it.

    hookgate's own lines begin with [zot].
    """
    given = _needed(name, "logs")

    from hookgate.cli.ext.installed import places_of
    from hookgate.cli.ext.logs import logs

    guarded(lambda: logs(given, places_of(config_file), follow=follow))


@ext.command(name="doctor")
@click.option("--ext", "-e", "named", multiple=True, type=click.Path(path_type=Path), help="This folder too.")
@config_option
@json_option
def ext_doctor(named: tuple[Path, ...], config_file: Path | None, as_json: bool) -> None:
    """Start each once and say what is odd.

    What loads and how it is ready, what it registers, which names are taken, where its log is.
    """
    from hookgate.cli.ext.doctor import doctor

    run(lambda: doctor(config_file, named, as_json=as_json))


def _needed(given: str | None, command: str, what: str = "<name>") -> str:
    if given is None:
        click.echo(f"hookgate: usage: hookgate ext {command} {what}", err=True)
        raise SystemExit(1)
    return given
