"""`hookgate web password`, and what is said where the gateway's extra is missing."""

from __future__ import annotations

import subprocess
import sys

from hookgate.channels.web.access.passwords import is_right
from hookgate.program.endings import ending


def test_a_password_on_stdin_is_printed_as_its_hash_and_a_short_one_refused() -> None:
    command = (sys.executable, "-m", "hookgate", "web", "password")
    printed = subprocess.run(
        command, input="right one\n", capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert is_right(printed.strip(), "right one")
    assert not is_right(printed.strip(), "wrong")
    refused = subprocess.run(command, input="sevench\n", capture_output=True, text=True, timeout=60, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "at least 8 characters" in refused.stderr


def test_a_missing_extra_is_named_and_any_other_module_is_our_own_mistake() -> None:
    text, status = ending(ModuleNotFoundError(name="hypercorn.config")) or ("", 0)
    assert ('pip install "hookgate[gateway]"' in text, status) == (True, 2)
    assert ending(ModuleNotFoundError(name="hookgate.nothing")) is None
