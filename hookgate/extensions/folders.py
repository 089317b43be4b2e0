"""Folders of extensions: how one is made to appear and vanish as a whole. Knows no manifest and no network."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


class InstallRefused(Exception):
    """What was asked is not done; the text is for a person, with a list under it where there is one."""

    def __init__(self, text: str, beneath: Sequence[str] = ()) -> None:
        super().__init__("\n".join((text, *beneath)))
        self.lines = (text, *beneath)


@contextmanager
def beside(destination: Path) -> Generator[Path]:
    """A path, not made yet, for what shall become the destination; what is left there in the end is removed.

    Its name begins with a dot: nobody looks for extensions there.
    """
    destination.parent.mkdir(parents=True, exist_ok=True)
    aside = destination.with_name(f".{destination.name}.{secrets.token_hex(6)}")
    try:
        yield aside
    finally:
        # Why it failed says more than why it could not be cleared away.
        with suppress(OSError):
            remove_tree(aside)


def free(destination: Path) -> None:
    """Raises InstallRefused where something has that name."""
    if os.path.lexists(destination):
        raise _exists(destination)


def settle(aside: Path, destination: Path) -> None:
    """Give it its name. Raises InstallRefused where somebody else was faster: that one stays."""
    # An empty folder would be replaced without a word.
    free(destination)
    try:
        aside.rename(destination)
    except OSError as error:
        if error.errno in _TAKEN:
            raise _exists(destination) from None
        raise


def vanish(directory: Path) -> None:
    """Remove it: away under its name at once, then file by file. Of a symbolic link the link alone."""
    aside = directory.with_name(f".{directory.name}.{secrets.token_hex(6)}")
    directory.rename(aside)
    remove_tree(aside)


def remove_tree(path: Path) -> None:
    """Also where a folder is read-only; nothing happens where there is nothing. Raises OSError."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        _open_up(path)
        shutil.rmtree(path)


def copy_tree(source: Path, destination: Path) -> None:
    """Files with their modes, links as links. Raises InstallRefused for what is neither file, folder nor link."""
    for path in _everything(source):
        if stat.S_IFMT(path.lstat().st_mode) not in _COPIED:
            raise InstallRefused(f"copy: {path} is neither a file nor a folder")
    try:
        shutil.copytree(source, destination, symlinks=True, copy_function=_copy)
    except shutil.Error as error:
        _from, at, why = error.args[0][0]
        raise InstallRefused(f"copy: {at}: {why}") from None


def _copy(source: str, destination: str) -> None:
    """With its mode. The first that fails ends it all: a full disk stays full."""
    try:
        shutil.copy(source, destination)
    except OSError as error:
        raise InstallRefused(f"copy: {source}: {error.strerror}") from None


_COPIED = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)


def keep_links_inside(tree: Path, written_in: Path) -> None:
    """Every symbolic link of the tree leads to the same place in it. Raises InstallRefused for one that leads out.

    `written_in`: the folder that they were made in; absolute links into it become relative ones.
    """
    root, here = Path(os.path.realpath(written_in)), Path(os.path.realpath(tree))
    for link in _everything(tree):
        if not link.is_symlink():
            continue
        there = link.relative_to(tree)
        target = Path(os.path.realpath(root / there.parent / os.readlink(link)))
        if not target.is_relative_to(root):
            raise InstallRefused(f"the symbolic link {there} leads outside, to {target}")
        if os.path.isabs(os.readlink(link)) or os.path.realpath(link) != str(here / target.relative_to(root)):
            link.unlink()
            link.symlink_to(os.path.relpath(target, root / there.parent))


def _everything(folder: Path) -> Iterator[Path]:
    """Below the folder, links not followed. Raises OSError for a folder that cannot be listed."""
    for here, folders, files in os.walk(folder, onerror=_raised):
        yield from (Path(here, name) for name in (*folders, *files))


def _raised(error: OSError) -> None:
    raise error


def _open_up(folder: Path) -> None:
    """What is in a read-only folder cannot be removed from it."""
    with suppress(OSError):
        folder.chmod(0o700)
    for here, folders, _files in os.walk(folder):
        for name in folders:
            if not os.path.islink(os.path.join(here, name)):
                with suppress(OSError):
                    os.chmod(os.path.join(here, name), 0o700)


def _exists(destination: Path) -> InstallRefused:
    return InstallRefused(f"destination {destination} already exists; remove it first")
