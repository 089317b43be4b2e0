"""`hookgate completion`, and what a shell offers for an argument that names something. Imports click alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes a shell complete hookgate's commands.

    \b
    bash, in ~/.bashrc:   eval "$(hookgate completion bash)"
    zsh, in ~/.zshrc:     eval "$(hookgate completion zsh)"
    fish: hookgate completion fish > ~/.config/fish/completions/hookgate.fish
    """
    from click.shell_completion import BashComplete, FishComplete, ZshComplete

    kind = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}[shell]
    click.echo(kind(context.find_root().command, {}, "hookgate", "_HOOKGATE_COMPLETE").source())


def completed(names: Callable[[Path | None], Iterable[str]]) -> Complete:
    """For an argument's `shell_complete`. `names` gets what was typed at --config; whatever it raises, nothing is
    offered: a shell in the middle of a line is no place for a message."""

    def complete(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        try:
            found = sorted(set(names(context.params.get("config_file"))))
        except Exception:
            return []
        return [CompletionItem(name) for name in found if name.startswith(incomplete)]

    return complete


def extension_names(config_file: Path | None) -> Iterable[str]:
    from hookgate.cli.ext.installed import places_of
    from hookgate.extensions.discovery import look

    return (it.name for it in look(places_of(config_file))[0])


def model_names(config_file: Path | None) -> Iterable[str]:
    """Those that the configuration names, and what its providers begin with."""
    from hookgate import config as configuration

    config = configuration.load(config_file)[0]
    named = (config.agent.model, *(it.model for it in config.agents.values()))
    return (*filter(None, named), *(f"{name}/" for name in config.providers))


def kept_names(config_file: Path | None) -> Iterable[str]:
    """Conversations of this workspace that were kept by name."""
    from hookgate import config as configuration
    from hookgate.assembly.journals import conversation_files

    return (it.stem for it in conversation_files(configuration.load(config_file)[0]))


def hook_names(config_file: Path | None) -> Iterable[str]:
    from hookgate import config as configuration

    return configuration.load(config_file)[0].hooks.processes


def page_names(_config_file: Path | None) -> Iterable[str]:
    from hookgate.cli.pages import pages

    return (it.name for it in pages())
