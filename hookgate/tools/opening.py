"""How a file is opened whose name somebody else may have given to something else meanwhile."""

from __future__ import annotations

import os

# O_NONBLOCK: a named pipe that has come there must not be waited for.
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
