"""Options that several groups of commands share. Imports click alone, as every group does."""

from __future__ import annotations

from pathlib import Path

import click

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(path_type=Path)
config_option = click.option("--config", "config_file", type=FILE, help="Instead of ./hookgate.toml.")
control_option = click.option("--control", type=FILE, help="The control socket's path.")
json_option = click.option("--json", "as_json", is_flag=True, help="For programs.")
yes_option = click.option("--yes", is_flag=True, help="Answer every question with yes.")
