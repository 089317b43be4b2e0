"""The groups `people`, `keys`, `approvals` and `audit`: their commands' words and options. Imports click alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hookgate.cli.completion import completed
from hookgate.cli.exits import guarded
from hookgate.cli.journal.commands import journal_option
from hookgate.cli.journal.place import JournalChoice
from hookgate.cli.names import key_names, keyed_names, person_names, request_ids, role_names
from hookgate.cli.options import ListingGroup, config_option, control_option, json_option

if TYPE_CHECKING:
    from hookgate.protocol.values import Json


@click.group(cls=ListingGroup)
def approvals() -> None:
    """Calls that wait for people: list, decide."""


@approvals.command(name="list")
@config_option
@control_option
@json_option
def approvals_list(config_file: Path | None, control: Path | None, as_json: bool) -> None:
    """What waits in the running hookgate, or else is stored."""
    from hookgate.cli.people.deciding import list_waiting

    guarded(lambda: list_waiting(config_file, control, as_json=as_json))


@approvals.command(name="decide")
@click.argument("request", metavar="ID", shell_complete=completed(request_ids))
@click.argument("word", type=click.Choice(["yes", "no"]))
@click.option("--reason", default="", help="For whoever asked.")
@click.option(
    "--grant", default="once", type=click.Choice(["once", "session", "1h", "always"]), help="How far a yes goes."
)
@config_option
@control_option
def approvals_decide(request: str, word: str, control: Path | None, **given: object) -> None:
    """A yes or a no, as the operator. Where no hookgate runs it is stored, and counts when one runs again."""
    from hookgate.cli.people.deciding import DecisionOptions, decide_request

    said = DecisionOptions(request, word == "yes", str(given["reason"]), str(given["grant"]))
    config_file = given["config_file"]
    guarded(lambda: decide_request(said, config_file if isinstance(config_file, Path) else None, control))


@click.group(cls=ListingGroup)
def audit() -> None:
    """The record of what was asked, decided and run."""


@audit.command(name="list")
@click.option("--last", type=click.IntRange(1), default=50, show_default=True, help="So many of them.")
@journal_option
@json_option
def audit_list(last: int, place: JournalChoice, as_json: bool) -> None:
    """The last records, the newest first."""
    from hookgate.cli.people.chain import list_chain

    guarded(lambda: list_chain(place, last, as_json=as_json))


@audit.command(name="verify")
@journal_option
def audit_verify(place: JournalChoice) -> None:
    """Whether it is whole, and signed. The status: 0 whole and signed, 1 broken, 2 whole with an
    unsigned end, 3 cut off."""
    from hookgate.cli.people.chain import verify_chain

    guarded(lambda: verify_chain(place))


@audit.command(name="export")
@journal_option
def audit_export(place: JournalChoice) -> None:
    """All of it as JSON lines, for a verifier of your own."""
    from hookgate.cli.people.chain import export_chain

    guarded(lambda: export_chain(place))


@click.group(cls=ListingGroup)
def people() -> None:
    """Who is known: list, let in, add, give roles, put out."""


@people.command(name="list")
@config_option
@control_option
@json_option
def people_list(config_file: Path | None, control: Path | None, as_json: bool) -> None:
    """Who is configured, who was let in, and who waits with a code."""
    from hookgate.cli.people.guests import list_people

    guarded(lambda: list_people(config_file, control, as_json=as_json))


@people.command(name="pair")
@click.argument("code")
@click.option("--name", default="", help="What to call them; may be somebody who was let in before.")
@config_option
@control_option
def people_pair(config_file: Path | None, control: Path | None, code: str, name: str) -> None:
    """Let in the stranger who was given CODE."""
    _change(config_file, control, "people.pair", code=code, name=name)


@people.command(name="add")
@click.argument("name", shell_complete=completed(person_names))
@click.argument("ids", nargs=-1, metavar="[CHANNEL:ID]...")
@click.option("--role", "roles", multiple=True, shell_complete=completed(role_names), help="May be repeated.")
@config_option
@control_option
def people_add(
    config_file: Path | None, control: Path | None, name: str, ids: tuple[str, ...], roles: tuple[str, ...]
) -> None:
    """Let somebody in by their ids, or give them more ids and roles."""
    _change(config_file, control, "people.add", name=name, ids=list(ids), roles=list(roles))


@people.command(name="role")
@click.argument("name", shell_complete=completed(person_names))
@click.argument("roles", nargs=-1, metavar="[ROLE]...", shell_complete=completed(role_names))
@config_option
@control_option
def people_role(config_file: Path | None, control: Path | None, name: str, roles: tuple[str, ...]) -> None:
    """Give NAME these roles and no others."""
    _change(config_file, control, "people.role", name=name, roles=list(roles))


@people.command(name="remove")
@click.argument("name", shell_complete=completed(person_names))
@config_option
@control_option
def people_remove(config_file: Path | None, control: Path | None, name: str) -> None:
    """NAME is a stranger from now on, in the running gateway too."""
    _change(config_file, control, "people.remove", name=name)


@click.group(cls=ListingGroup)
def keys() -> None:
    """Keys that programs show: make one, list them, revoke."""


@keys.command(name="add")
@click.argument("name")
@click.option(
    "--channel",
    default="api",
    show_default=True,
    shell_complete=completed(keyed_names),
    help="What it opens: a channel, or a surface as rpc is one.",
)
@click.option(
    "--role",
    default="",
    shell_complete=completed(role_names),
    help="For the person who has the id CHANNEL:NAME, besides those that they have.",
)
@click.option("--yes", is_flag=True, help="The person called NAME is the same, though they have other ids.")
@config_option
@control_option
def keys_add(
    config_file: Path | None, control: Path | None, name: str, channel: str, role: str, *, yes: bool
) -> None:
    """Make a key for NAME, and print it. Only now: what is kept is its hash."""
    from hookgate.cli.people.keys import add_key

    params: dict[str, Json] = {"name": name, "channel": channel, "role": role, "same_person": yes}
    guarded(lambda: add_key(config_file, control, params))


@keys.command(name="list")
@config_option
@control_option
@json_option
def keys_list(config_file: Path | None, control: Path | None, as_json: bool) -> None:
    """Whose they are, and what they open."""
    from hookgate.cli.people.keys import list_keys

    guarded(lambda: list_keys(config_file, control, as_json=as_json))


@keys.command(name="revoke")
@click.argument("name", shell_complete=completed(key_names))
@click.option(
    "--channel",
    default="",
    shell_complete=completed(keyed_names),
    help="That key alone; left out: all of NAME's.",
)
@config_option
@control_option
def keys_revoke(config_file: Path | None, control: Path | None, name: str, channel: str) -> None:
    """From now on it opens nothing. What runs for it in the running gateway ends."""
    from hookgate.cli.people.keys import revoke_key

    guarded(lambda: revoke_key(config_file, control, name, channel))


def _change(config_file: Path | None, control: Path | None, method: str, **params: Json) -> None:
    from hookgate.cli.people.guests import change_people

    guarded(lambda: change_people(config_file, control, method, params))
