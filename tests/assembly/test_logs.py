"""The log of a runtime holds none of its secrets, not in a field and not in a traceback."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import structlog
from hookgate.assembly.logs.opening import redacted_logs, set_up_logs
from hookgate.redaction import Redactor
from hookgate.sections import LogSection
set_up_logs(LogSection(level="info", format="{format}"))
log = structlog.get_logger("x")
with redacted_logs(Redactor(["hunter2-hunter2"], salt=b"s")):
    with redacted_logs(Redactor(["another-secret"], salt=b"s")):
        log.info("saw hunter2-hunter2", args=["another-secret"], password="p4ssw0rd-x")
    try:
        raise ValueError("bad hunter2-hunter2")
    except ValueError:
        log.exception("failed")
"""


def test_no_secret_stands_in_a_log_line_or_a_traceback() -> None:
    for form in ("text", "json"):
        command = [sys.executable, "-c", SCRIPT.replace("{format}", form)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout == ""
        assert done.stderr.count("[REDACTED:") >= 4
        for secret in ("hunter2-hunter2", "another-secret", "p4ssw0rd-x"):
            assert secret not in done.stderr
        assert "ValueError" in done.stderr
