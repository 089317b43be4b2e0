"""Passwords that stand beside a user's name or a short flag in a shell command, where only the command tells.

`-u A:B` is a login for curl, and a user and group, a branch or a file for most others: so the command comes first. A
line is taken once from the command on, whatever it holds, which keeps that linear.
"""

from __future__ import annotations

import re

from hookgate.redaction.found import CODE, Found, Hide, within

NEEDLES = ("curl", "wget", "http ", "https ", "mysql", "mariadb")
"""What is in lower case in every text that holds such a command."""
COMMAND = (
    r"(?<![\w-])(?:(?P<web>(?:curl|wget)(?:\.exe)?(?=[\s\"'\\])|https?(?= ))"
    r"|(?P<sql>(?:mysql|mariadb)(?:-?(?:dump|admin|import|check|show))?(?=[\s\"'\\])))"
)
LINE = rf"{COMMAND}(?:[^\\\n]++|\\(?:\r?\n|(?!))?+|(?!))*+"
"""To the end of the line; a backslash there leads on to the next one."""

# A name, a colon, a password; what begins like a URL is another option's.
_LOGIN = re.compile(
    r"(?<![\w-])(?:-[sSkLfiIvgGNOqZ]{0,8}[uU](?:=|[ \t]{0,3})|(?:--(?:proxy-)?user|--auth|-a)(?:=|[ \t]{1,3}))"
    r"(?:\"(?P<double_user>[^\"\s:\[]{1,64}+):(?P<double>(?:[^\"\\\n]|\\.){4,}+)"
    r"|'(?P<single_user>[^'\s:\[]{1,64}+):(?P<single>[^'\n]{4,}+)"
    r"|(?P<bare_user>[\w.@$][\w.@%+$-]{0,63}+):(?P<bare>(?!//)[^\s\"'`;&|<>]{4,}+))",
    re.ASCII,
)
_SQL = re.compile(r"(?<![\w-])-p(?P<bare>[^\s\"'`;&|<>\\-][^\s\"'`;&|<>\\]++)", re.ASCII)


def hidden(found: Found, hide: Hide) -> str:
    """The command line without its passwords."""
    if found["web"]:
        return _LOGIN.sub(lambda login: _login(login, hide), found.group())
    return _SQL.sub(lambda flag: _password(flag, hide), found.group())


def _login(found: Found, hide: Hide) -> str:
    """A user and group in numbers, or of one name, is no password; nor is a variable of the shell."""
    group = next(name for name in ("double", "single", "bare") if found[name] is not None)
    user, value = found[f"{group}_user"], found[group]
    if value == user or (user.isdigit() and value.isdigit()) or CODE.match(value):
        return found.group()
    return within(found, group, hide(value))


def _password(found: Found, hide: Hide) -> str:
    return found.group() if CODE.match(found["bare"]) else within(found, "bare", hide(found["bare"]))
