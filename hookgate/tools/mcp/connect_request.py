"""What a model asks for when it wants to connect to an MCP server: read, judged, and shown to whoever approves it.

Starts nothing and resolves no name.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path, PurePath
from typing import Any, cast

from hookgate.processes.interpreters import SHELLS, program_name
from hookgate.protocol.catalog import ServerRow, Transport
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import JsonObject, ToolCall
from hookgate.tools.errors import ToolError
from hookgate.tools.mcp.server import NAME
from hookgate.tools.mcp.transport.endpoint import url_problem
from hookgate.tools.schema.objects import takes

OP = "mcp_connect"
SECRET = "secret:"  # noqa: S105 - the prefix of a name
_SECRET_NAME = re.compile(r"secret:[A-Za-z_][A-Za-z0-9_]{0,127}")
_SHELLS = SHELLS | {"busybox", "toybox", "pwsh", "nu"}
# Programs whose arguments are another program.
_CARRIERS = frozenset(("env", "nohup", "timeout", "nice", "ionice", "setsid", "stdbuf", "sudo", "doas", "xargs"))
_DOWNLOADERS = frozenset(
    {"npx", "uvx", "bunx", "pnpx", "pipx", "uv", "npm", "pnpm", "yarn", "deno", "docker", "podman"}
)
_STDIO, _HTTP = ("command", "args", "env"), ("base_url", "auth_token")


@dataclass(frozen=True, slots=True)
class ConnectRequest:
    """One connection as it was asked for; values of `env` and `secret` may be `secret:NAME`, never the secret."""

    name: str
    transport: Transport
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    url: str = ""
    secret: str | None = None

    @property
    def params(self) -> JsonObject:
        """What the catalog keeps of it."""
        return {"command": list(self.command), "env": dict(self.env)} if self.command else {"url": self.url}


SCHEMA = takes(
    "name",
    "transport",
    name={"type": "string", "pattern": NAME, "description": "Short name; it prefixes the server's tools."},
    transport={"type": "string", "enum": ["stdio", "http"]},
    command={"type": "string", "minLength": 1, "description": "stdio: absolute path of the program."},
    args={"type": "array", "items": {"type": "string"}, "maxItems": 100, "description": "stdio: arguments."},
    env={
        "type": "object",
        "additionalProperties": {"type": "string"},
        "maxProperties": 50,
        "description": "stdio: environment variables; a value may be secret:NAME.",
    },
    base_url={"type": "string", "minLength": 1, "description": "http: the server's URL."},
    auth_token={"type": "string", "description": "http: secret:NAME of a token that the operator has set."},
)


def read_request(arguments: JsonObject) -> ConnectRequest:
    """Arguments that fit SCHEMA, judged. Raises ToolError(validation) with what is wrong."""
    given = cast("Mapping[str, Any]", arguments)
    stdio = given["transport"] == "stdio"
    foreign = next((name for name in (_HTTP if stdio else _STDIO) if name in given), None)
    if foreign is not None:
        raise _refusal(f"{foreign} does not belong to the transport {given['transport']}")
    asked = _stdio(given) if stdio else _http(given)
    _judge_text(asked)
    return asked


def read_row(row: ServerRow) -> ConnectRequest:
    """A catalog row. Raises ToolError where it holds nothing usable."""
    params = cast("Mapping[str, Any]", row.params)
    try:
        if row.transport == "http":
            return ConnectRequest(row.name, "http", url=str(params["url"]), secret=row.secret_ref)
        return ConnectRequest(row.name, "stdio", tuple(params["command"]), dict(params.get("env") or {}))
    except (KeyError, TypeError, ValueError):
        raise _refusal(f"the catalog's row of {row.name} is not usable") from None


def _stdio(given: Mapping[str, Any]) -> ConnectRequest:
    if "command" not in given:
        raise _refusal("command is required for the transport stdio")
    command = (str(given["command"]), *given.get("args", ()))
    if not PurePath(command[0]).is_absolute():
        raise _refusal("command must be the absolute path of a program")
    shell = _shell(command)
    if shell:
        raise _refusal(f"{shell} is a shell: name the server's own program")
    return ConnectRequest(given["name"], "stdio", command, dict(given.get("env", {})))


def _http(given: Mapping[str, Any]) -> ConnectRequest:
    if "base_url" not in given:
        raise _refusal("base_url is required for the transport http")
    problem = url_problem(given["base_url"])
    if problem:
        raise _refusal(f"base_url: {problem}")
    token = given.get("auth_token")
    if token is not None and not _SECRET_NAME.fullmatch(token):
        raise _refusal("auth_token must be secret:NAME, never the token itself")
    return ConnectRequest(given["name"], "http", url=given["base_url"], secret=token)


def _judge_text(asked: ConnectRequest) -> None:
    for name, value in asked.env.items():
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise _refusal(f"env: {name[:80]!r} is no name of a variable")
        if value.startswith(SECRET) and not _SECRET_NAME.fullmatch(value):
            raise _refusal(f"env.{name}: {value[:80]!r} names no secret")
    if any("\0" in text for text in (*asked.command, *asked.env.values())):
        raise _refusal("a command cannot hold a NUL character")


def _shell(command: tuple[str, ...]) -> str:
    """The shell that would run: as the program itself, under another name, or behind `env`."""
    for word in _programs(command):
        names = (word, Path(word).resolve()) if "/" in word else (word,)
        if any(program_name(name) in _SHELLS for name in names):
            return word
    return ""


def _programs(command: tuple[str, ...]) -> tuple[str, ...]:
    if PurePath(command[0]).name not in _CARRIERS:
        return command[:1]
    # Options and assignments are no programs, but no server is named like a shell either; `env -S` splits one word.
    return tuple(word.split()[0] for word in command if word.strip())


def _refusal(reason: str) -> ToolError:
    return ToolError("validation", OP, reason)


# --- for whoever approves -----------------------------------------------------------------------------------


def approval_text(call: ToolCall) -> str:
    """What a person should know before such a call runs; whatever the arguments are, it never raises."""
    if call.name == "mcp_disconnect":
        return f"Ends the MCP connection {plain(call.arguments.get('name'))} and takes its tools away."
    try:
        asked = read_request(call.arguments)
    except (ToolError, KeyError, TypeError, ValueError, AttributeError):
        return f"This call will be refused: its arguments do not fit. {plain(dict(call.arguments))}"
    return what_it_does(asked)


def what_it_does(asked: ConnectRequest) -> str:
    """The whole command or URL, and what to know of it."""
    return _stdio_text(asked) if asked.transport == "stdio" else _http_text(asked)


def _stdio_text(asked: ConnectRequest) -> str:
    lines = [
        f"Starts a program here, with your rights and outside the sandbox, as the MCP server {asked.name}:",
        f"  {plain(shlex.join(asked.command))}",
        *(f"  {name}={plain(value)}" for name, value in asked.env.items()),
        *_remarks(asked.command),
        "All tools that it offers then can be called; what they return is given to the model as data.",
    ]
    return "\n".join(lines)


def _remarks(command: tuple[str, ...]) -> tuple[str, ...]:
    """Programs that run something else than themselves."""
    names = [PurePath(word).name for word in command]
    if any(name in _DOWNLOADERS for name in (names if names[0] in _CARRIERS else names[:1])):
        return ("It downloads and runs code that is not on this machine yet, whatever is published at that moment.",)
    if any(word in ("-c", "-e", "--eval", "-p", "--print", "-m") for word in command[1:]):
        return ("It is an interpreter: the program is in its arguments.",)
    return ()


def _http_text(asked: ConnectRequest) -> str:
    token = f", with the token {asked.secret}" if asked.secret else ", without a token"
    return (
        f"Connects to the MCP server {asked.name} at {plain(asked.url)}{token}.\n"
        "What the model passes to its tools is sent there."
    )


def plain(value: object) -> str:
    """Nothing hidden: what cannot be printed is written out."""
    text = value if isinstance(value, str) else repr(value)
    return "".join(it if it.isprintable() else it.encode("unicode_escape").decode() for it in text)
