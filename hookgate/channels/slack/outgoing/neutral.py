"""Markdown that Slack is given as it is: without the signs of Slack's own in it, which would mention somebody, or
hide where a link leads. Pure."""

from __future__ import annotations

import re

from hookgate.channels.platforms.markdown import clean

JOINT = "\u200b"
"""Behind a sign, which is none to Slack with it."""
_SIGN = re.compile(r"<(?=[@!#]|[^<>\n]*\|)")
_FENCE = re.compile(r"`{3,}[\w+#.-]*")


def neutral(markdown: str) -> str:
    """Plainly fenced code stays as it was written. Where a fence could be read in two ways nothing after it counts as
    code. What is there already seldom changes when more is written behind it."""
    lines, fence, sure = list[str](), "", True
    for line in clean(markdown).split("\n"):
        is_code = False
        if sure and ("```" in line or "~~~" in line):
            sure = line.rstrip() == fence if fence else bool(_FENCE.fullmatch(line.rstrip()))
            fence = "" if fence else "`" * line.count("`")
        else:
            is_code = sure and bool(fence)
        lines.append(line if is_code else _SIGN.sub(f"<{JOINT}", line))
    return "\n".join(lines)
