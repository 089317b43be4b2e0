"""Slack's own marks in a text become what people see: mentions, channels, links, escaped characters. Pure."""

from __future__ import annotations

import re

_MARK = re.compile(r"<([^<>|]{1,3000})(?:\|([^<>]{0,1000}))?>")
_ESCAPES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


def mentions(text: str, user: str) -> bool:
    return any(mark[1] == f"@{user}" for mark in _MARK.finditer(text))


def spoken(text: str, me: str) -> str:
    """As it is read; whoever is meant by it (`me`) is left out at its beginning."""
    text = re.sub(rf"^\s*(?:<@{re.escape(me)}(?:\|[^<>]*)?>[\s,:]*)+", "", text)
    shown = _MARK.sub(_shown, text)
    for escape, char in _ESCAPES:
        shown = shown.replace(escape, char)
    return shown


def _shown(mark: re.Match[str]) -> str:
    what, label = mark[1], mark[2] or ""
    if what.startswith("@"):
        return f"@{label or what[1:]}"
    if what.startswith("#"):
        return f"#{label or what[1:]}"
    if what.startswith("!"):
        return label or f"@{what[1:].partition('^')[0]}"
    url = what.removeprefix("mailto:")
    return url if not label or label in (url, what) or url.endswith(f"//{label}") else f"{label} ({url})"
