"""Where hookgate's own plugins lie, and the SDKs among them that an extension gets beside it. Starts none of them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

SDKS = ("hookgate_extension.py", "hookgate_plugin.py")
_PACKAGE = Path(__file__).parents[1]


def plugins_folder() -> Path | None:
    """In the installed package, or beside it in a clone; None where they were not installed."""
    folders = (_PACKAGE / "_share" / "plugins", _PACKAGE.parent / "plugins")
    return next((folder for folder in folders if (folder / "python" / SDKS[0]).exists()), None)


def bring_sdks(tree: Path) -> None:
    """A link out of the tree that is named as an SDK becomes hookgate's own file of that name.

    The link itself is never followed: whatever it leads to, nothing of that is copied.
    """
    if (plugins := plugins_folder()) is None:
        return
    root = os.path.realpath(tree)
    for link in (tree / name for name in SDKS):
        if link.is_symlink() and not Path(os.path.realpath(link)).is_relative_to(root):
            link.unlink()
            shutil.copy(plugins / "python" / link.name, link)
