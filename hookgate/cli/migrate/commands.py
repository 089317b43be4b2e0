"""The `hookgate migrate` group: its commands' words and options. Imports click alone, as main does."""

from __future__ import annotations

from pathlib import Path

import click

from hookgate.cli.exits import guarded
from hookgate.cli.options import FILE, FOLDER, Group


@click.group(cls=Group)
def migrate() -> None:
    """Take over another gateway's configuration."""


@migrate.command(name="claude")
@click.argument("file", type=FILE, default=Path(".claude/settings.json"))
def migrate_claude(file: Path) -> None:
    """Print Claude Code's command hooks as hookgate.toml. Notices go to stderr."""
    from hookgate.cli.migrate.claude import migrate_file

    guarded(lambda: migrate_file(file))


@migrate.command(name="picoclaw")
@click.argument("file", type=FILE)
@click.option("--inherit-env", is_flag=True, help="Let hooks see the whole environment, as picoclaw does.")
def migrate_picoclaw(file: Path, inherit_env: bool) -> None:
    """Print picoclaw's hooks as hookgate.toml. Notices go to stderr."""
    from hookgate.cli.migrate.picoclaw_toml import migrate_file

    guarded(lambda: migrate_file(file, inherit_env=inherit_env))


@migrate.command(name="zot")
@click.argument("folder", type=FOLDER, required=False)
def migrate_zot(folder: Path | None) -> None:
    """Print zot's models and choice as hookgate.toml. Notices go to stderr.

    FOLDER has zot's config.json and models.json: without one it is $ZOT_HOME, else zot's usual folder. No key is
    read or written.
    """
    from hookgate.cli.migrate.zot_toml import migrate_folder

    guarded(lambda: migrate_folder(folder))
