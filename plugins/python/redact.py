"""A hook that masks secrets in what a tool answered, before the model or the chat sees them.

REDACT_PATTERNS, one regular expression a line, replaces its list. A pattern with a group keeps the text of that
group, so that `password=` stays readable.
"""

from __future__ import annotations

import os
import re

from hookgate_plugin import Finished, Plugin

PATTERNS = r"""
\bsk-[A-Za-z0-9_-]{16,}
\b(?:AKIA|ASIA)[0-9A-Z]{16}\b
\bgh[pousr]_[A-Za-z0-9]{20,}
\bxox[abprs]-[A-Za-z0-9-]{10,}
(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----
(?i)((?:password|passwd|pwd|secret|token|api[_-]?key)["']?\s*[=:]\s*["']?)[^\s"',;&]+
"""
MASK = "[redacted]"

plugin = Plugin("redact")
patterns = [re.compile(line) for line in os.environ.get("REDACT_PATTERNS", PATTERNS).splitlines() if line.strip()]


@plugin.after_tool
def mask(done: Finished) -> object:
    texts = {name: done.result.get(name) or "" for name in ("for_llm", "for_user")}
    masked = {name: masked_text(text) for name, text in texts.items()}
    changed = {name: text for name, text in masked.items() if text != texts[name]}
    return plugin.modify(**changed) if changed else None


def masked_text(text: str) -> str:
    for pattern in patterns:
        text = pattern.sub(r"\g<1>" + MASK if pattern.groups else MASK, text)
    return text


if __name__ == "__main__":
    plugin.run()
