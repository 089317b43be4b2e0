"""`hookgate ext logs`: an extension's log on stdout, once or on and on."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import sleep

from hookgate.channels.printable import printable
from hookgate.cli.ext.installed import tell
from hookgate.extensions.discovery import Places, look
from hookgate.extensions.folders import InstallRefused
from hookgate.extensions.following import Follower
from hookgate.extensions.installed import named
from hookgate.extensions.logs import log_file
from hookgate.extensions.manifest import name_mistake
from hookgate.program.endings import FAILED

POLL_S = 0.2


def logs(name: str, places: Places, *, follow: bool) -> int:
    """To the end of the file; with `follow` until Ctrl-C, over rotation, and that is no failure."""
    path = log_file(places.home, name)
    try:
        follower = Follower(path if _is_there(path, name) else _of_folder(name, places))
    except (FileNotFoundError, NotADirectoryError):
        tell(f'hookgate: no log for "{name}" at {path}')
        return FAILED
    with closing(follower):
        return _shown(follower, follow=follow)


def _is_there(path: Path, name: str) -> bool:
    # A name with a slash would be a path to anywhere.
    return name_mistake(name) is None and path.is_file()


def _of_folder(name: str, places: Places) -> Path:
    """The log of the one whose folder is called so. Raises FileNotFoundError."""
    try:
        return log_file(places.home, named(name, look(places)[0]).name)
    except InstallRefused:
        raise FileNotFoundError(name) from None


def _shown(follower: Follower, *, follow: bool) -> int:
    write = _writer()
    try:
        write(follower)
        while follow:
            sleep(POLL_S)
            write(follower)
    except KeyboardInterrupt:
        return 0 if follow else 130
    except BrokenPipeError:
        # Whoever read it (`head`, say) has seen enough.
        return 0
    return 0


def _writer() -> Callable[[Follower], None]:
    """As it stands to a file or a pipe; a terminal gets no control characters."""
    output = sys.stdout.fileno()
    if not os.isatty(output):
        return lambda follower: _pass_on(follower, output)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return lambda follower: _print(follower, output, decoder)


def _pass_on(follower: Follower, output: int) -> None:
    for data in follower.news():
        _write(output, data)


def _print(follower: Follower, output: int, decoder: codecs.IncrementalDecoder) -> None:
    for data in follower.news():
        _write(output, printable(decoder.decode(data)).encode("utf-8", "replace"))


def _write(output: int, data: bytes) -> None:
    # Not through sys.stdout, which would fail once more at exit on a pipe that is gone.
    while data:
        data = data[os.write(output, data) :]
