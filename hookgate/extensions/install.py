"""Puts an extension into the user's folder, whole or not at all. Starts nothing of it, also no build."""

from __future__ import annotations

import os
from pathlib import Path

from hookgate.extensions.folders import InstallRefused, beside, copy_tree, free, keep_links_inside, settle
from hookgate.extensions.git import Git, clone, clone_name, is_url
from hookgate.extensions.manifest import BadManifest, NoManifest, name_mistake, read_manifest
from hookgate.extensions.sdk import bring_sdks


def install(source: str, own: Path, git: Git) -> Path:
    """Where it is now. `source` is a path or a URL for git; `own` is the folder that gets it.

    Raises InstallRefused, or OSError (no space, no permission); either way nothing is left behind.
    """
    return _cloned(source, own, git) if is_url(source) else _copied(source, own)


def _copied(source: str, own: Path) -> Path:
    folder = Path(os.path.abspath(source))
    if not folder.is_dir():
        raise InstallRefused(f"not a directory: {source}")
    try:
        read_manifest(folder)
    except NoManifest:
        raise InstallRefused("source lacks extension.json") from None
    except BadManifest as error:
        raise InstallRefused(f"{folder}: {error}") from None
    destination = _destination(own, folder.name, source)
    real = Path(os.path.realpath(folder))
    if Path(os.path.realpath(own)).is_relative_to(real):
        raise InstallRefused(f"{folder} holds the folder that extensions are installed to")
    with beside(destination) as aside:
        copy_tree(real, aside)
        _checked(aside, real)
        settle(aside, destination)
    return destination


def _cloned(url: str, own: Path, git: Git) -> Path:
    destination = _destination(own, clone_name(url), url)
    with beside(destination) as aside:
        clone(url, aside, git)
        _checked(aside, aside)
        settle(aside, destination)
    return destination


def _checked(aside: Path, written_in: Path) -> None:
    bring_sdks(aside)
    try:
        keep_links_inside(aside, written_in)
        read_manifest(aside)
    except NoManifest:
        raise InstallRefused("installed dir lacks extension.json; aborted and rolled back") from None
    except (BadManifest, InstallRefused) as error:
        # It names a folder that will be gone.
        text = str(error).replace(f"{aside}{os.sep}", "")
        raise InstallRefused(f"{text}; aborted and rolled back") from None


def _destination(own: Path, name: str, source: str) -> Path:
    mistake = name_mistake(name) if name else "must not be empty"
    if mistake is not None:
        raise InstallRefused(f"{source}: the name of its folder would be {name!r}, which {mistake}")
    destination = own / name
    free(destination)
    return destination
