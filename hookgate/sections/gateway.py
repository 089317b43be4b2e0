"""`[gateway]`, `[channels]`, `[[routes]]` and `[http]`: who is heard where, and which agent answers there."""

from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, field_validator, model_validator

from hookgate.sections.section import Channels, ChatTypes, Chosen, Count, Globs, Section, Several, T, Variable

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False, strict=False)]
UNITS_S = {"s": 1.0, "min": 60.0, "h": 3600.0}
MOST_RATE = 100_000
MOST_SHARDS = 1000
KEYS_OF = {
    "web": ("users", "show_trace"),
    "telegram": ("mode", "base_url"),
    "slack": ("mode", "base_url", "app_token_env", "signing_secret_env", "bots"),
    "discord": ("base_url", "shards"),
    "openai": ("on_disconnect", "approval_wait_s", "agents"),
    "webhook": ("secret_env", "url", "url_secret_env", "allow_private", "text_from", "chat_from", "events"),
}
"""Those that are not of all kinds."""
MODES = {"telegram": ("poll", "webhook"), "slack": ("socket", "webhook")}
"""The first one is usual."""
KEYED: tuple[str, ...] = ("openai",)
"""Kinds of channels that answer programs which show a key."""
USER = r"^[A-Za-z0-9_.@-]{1,64}$"
OneOrSeveral = Annotated[Several[T], BeforeValidator(lambda it: (it,) if isinstance(it, str) else it)]
Pointer = Annotated[str, Field(pattern=r"^(/([^~]|~[01])*)?$")]
"""A JSON pointer; empty: none."""
WebhookEvent = Literal[
    "turn_end", "approval_requested", "approval_decided", "hook_state", "hook_failed", "dead_letter"
]


class GatewaySection(Section):
    """`max_turns`: how many conversations are at work at once; one that waits for a person is not. `drain_s`: how
    long running turns have to end when `hookgate serve` is told to stop. `idle_s`: a conversation that rests for so
    long is in the journal alone."""

    max_turns: Count = 8
    drain_s: Seconds = 30.0
    idle_s: Seconds = 900.0


class ChannelSection(Section):
    """`allow`: who is heard, by id of a person or a chat, by name of a person or `role:NAME`; empty: nobody, but at a
    page whoever can log in, and of a webhook whoever signs. `pairing`: a stranger is given a code, by which an
    operator can let them in. `approvers`: who may approve its calls, of those that a rule names, or where it names
    nobody. `group`: of a chat with several people, what mentions the bot or answers it, or all. `rate`: how many
    messages of one person, `20/min`; empty: no limit. `busy`: what becomes of a message while a turn runs.
    `show_errors`: a provider's own words, or their class.

    Of the page: `token_env` names the variable with the token that logs in `owner`; `users`: names, and argon2 hashes
    of their passwords; with neither, hookgate makes a token and shows it. `origin`: how people reach the page where
    it is not by an address. `show_trace`: what each hook decided.

    Of platforms: `token_env` names the variable with the bot's token. `mode`: how messages come: Telegram is asked
    for them or brings them to `origin`, Slack gives them by a socket or brings them. `base_url`: of another server
    than the platform's.

    Of Slack: `app_token_env` names the variable with the app's token, for the socket, `signing_secret_env` the one
    with what it signs with where it brings them. `bots`: other bots are heard too, where they are in `allow` and
    mention this one.

    Of Discord: `shards`, among how many connections the bot's servers are divided, which several gateways share out;
    `auto`: as the platform recommends.

    Of OpenAI's API: `on_disconnect`, what becomes of the turn of a client that leaves; `approval_wait_s`, how long a
    request waits for a person before its client is told where to ask; `agents`: which can be chosen as `model`.

    Of webhooks: `secret_env` names variables with secrets of those who may send. `url`: where goes what is said,
    signed with those of `url_secret_env`, or else the same. `allow_private`: it may be reached at an address that is
    not public, and without TLS. `text_from`, `chat_from`: where JSON has the text of a message, and its chat.
    `events`: which `url` is told besides.
    """

    kind: Literal["web", "telegram", "slack", "discord", "openai", "webhook"]
    agent: str = ""
    allow: Several[Annotated[str, Field(min_length=1)]] = ()
    pairing: bool = False
    approvers: Several[Annotated[str, Field(min_length=1)]] = ()
    group: Literal["mention", "all"] = "mention"
    rate: str = ""
    busy: Literal["queue", "steer", "reject"] = "queue"
    show_tools: bool = True
    show_denials: bool = False
    show_errors: Literal["class", "full"] = "class"
    token_env: Variable = ""
    users: dict[Annotated[str, Field(pattern=USER)], Annotated[str, Field(pattern=r"^\$argon2id\$")]] = Field(
        default_factory=dict
    )
    origin: Annotated[str, Field(pattern=r"^(https?://[^/]+)?$")] = ""
    show_trace: bool = False
    mode: Literal["", "poll", "socket", "webhook"] = ""
    base_url: Annotated[str, Field(pattern=r"^(https?://[^/\s]+)?$")] = ""
    app_token_env: Variable = ""
    signing_secret_env: Variable = ""
    bots: bool = False
    shards: Literal["auto"] | Annotated[int, Field(ge=1, le=MOST_SHARDS)] = 1
    on_disconnect: Literal["cancel", "detach"] = "cancel"
    approval_wait_s: Seconds = 120.0
    agents: Chosen = ("*",)
    secret_env: OneOrSeveral[Variable] = ()
    url: str = ""
    url_secret_env: OneOrSeveral[Variable] = ()
    allow_private: bool = False
    text_from: Pointer = ""
    chat_from: Pointer = ""
    events: OneOrSeveral[WebhookEvent] = ()

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        """Keys of another kind do nothing here, and what a kind cannot do without is there."""
        own = KEYS_OF[self.kind]
        of_others = {key for keys in KEYS_OF.values() for key in keys if key not in own}
        if idle := sorted(of_others & self.model_fields_set):
            raise ValueError(f"{idle[0]} is no key of a channel of the kind {self.kind!r}")
        if self.mode and self.mode not in MODES[self.kind]:
            raise ValueError(f"a channel of the kind {self.kind!r} has the modes {' and '.join(MODES[self.kind])}")
        if missing := next((why for key, why in self._needed.items() if not getattr(self, key)), ""):
            raise ValueError(missing)
        if self.kind == "openai" and self.busy == "steer":
            raise ValueError(
                "each request has an answer of its own, so none joins another one: busy is queue or reject"
            )
        if self.kind == "web" and self.pairing:
            raise ValueError("a page has logins of its own, so nobody is paired there: add them to users")
        if self.kind == "telegram" and self.mode == "webhook" and not self.origin.startswith("https://"):
            raise ValueError("mode 'webhook' needs an origin with https, where the platform reaches this gateway")
        if self.kind == "openai" and self.token_env:
            raise ValueError("token_env is no key of a channel of the kind 'openai': programs have keys of their own")
        if problem := self._webhook_problem() if self.kind == "webhook" else "":
            raise ValueError(problem)
        return self

    def _webhook_problem(self) -> str:
        if self.token_env:
            return "token_env is no key of a channel of the kind 'webhook': it has secrets"
        if not (self.secret_env or self.url):
            return "secret_env has to name the variable with the secret of what comes in, or url where it all goes"
        if not self.url:
            return "events go to a url, and there is none" if self.events else ""
        try:
            url = urlsplit(self.url)
            is_url = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
        except ValueError:
            return "url is no URL"
        if not is_url or url.username is not None or url.fragment:
            return "url has to read https://HOST/..., without a user's name and without #"
        if url.scheme == "http" and not self.allow_private:
            return "url has to begin with https://; http:// is for allow_private = true"
        return "" if self.url_secrets else "url_secret_env has to name the variable with the secret of what goes out"

    @property
    def url_secrets(self) -> tuple[str, ...]:
        return self.url_secret_env or self.secret_env

    @property
    def _needed(self) -> dict[str, str]:
        """Keys that it cannot do without, and what to say where they are not there."""
        named = "token_env has to name the variable with the bot's token"
        if self.kind == "telegram":
            return {"token_env": f"{named}, which @BotFather gives"}
        if self.kind == "discord":
            return {"token_env": f"{named}, which the page Bot of its application gives"}
        if self.kind != "slack":
            return {}
        needed = {"token_env": f"{named} (xoxb-...)"}
        if self.mode == "webhook":
            return needed | {
                "signing_secret_env": "mode 'webhook' needs signing_secret_env: the app's signing secret"
            }
        return needed | {"app_token_env": "app_token_env has to name the variable with the app's token (xapp-...)"}

    @property
    def variables(self) -> dict[str, str]:
        """Those of the environment that it cannot do without, by their keys."""
        named = {key: getattr(self, key) for key in ("token_env", "app_token_env", "signing_secret_env")}
        several = {"secret_env": self.secret_env, "url_secret_env": self.url_secret_env}
        numbered = ((f"{key}.{n}", it) for key, variables in several.items() for n, it in enumerate(variables))
        return {key: variable for key, variable in (*named.items(), *numbered) if variable}

    @field_validator("allow")
    @classmethod
    def _lists_somebody(cls, allow: tuple[str, ...]) -> tuple[str, ...]:
        if "requester" in allow:
            raise ValueError("'requester' is whoever writes, so it would let everybody in: name people, ids or roles")
        return allow

    @field_validator("rate")
    @classmethod
    def _is_a_rate(cls, rate: str) -> str:
        most, slash, unit = rate.partition("/")
        if rate and not (slash and unit in UNITS_S and most.isdecimal() and 0 < int(most) <= MOST_RATE):
            raise ValueError(f"write how many in how long: 20/min, or one of {', '.join(UNITS_S)} behind the /")
        return rate

    @property
    def quota(self) -> tuple[int, float] | None:
        """How many messages in how many seconds."""
        most, _, unit = self.rate.partition("/")
        return (int(most), UNITS_S[unit]) if self.rate else None


class RouteSection(Section):
    """The first route that a chat fits names its agent, before its channel does."""

    channels: Channels = ()
    chats: Globs = ()
    chat_types: ChatTypes = ()
    agent: Annotated[str, Field(min_length=1)]


class HttpSection(Section):
    """Each switch but `ops` is a surface that answers programs which show a key for it: at the path of its name.
    `metrics` "key": on this machine too. `ops`: the operators' page, below the page of each web channel, for whoever
    has logged in there."""

    listen: str = "127.0.0.1:8710"
    rpc: bool = True
    ops: bool = True
    metrics: bool | Literal["key"] = True

    @property
    def surfaces(self) -> tuple[str, ...]:
        """Those for programs that are on."""
        return tuple(name for name, value in self if value in (True, "key") and name != "ops")

    @field_validator("listen")
    @classmethod
    def _is_an_address(cls, listen: str) -> str:
        host, _, port = listen.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65535:
            raise ValueError("write it ADDRESS:PORT, for example 127.0.0.1:8710")
        return listen
