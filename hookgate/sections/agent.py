"""`[agent]`, `[providers]` and `[models]`: who answers, where, and what a model is known to do."""

from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator, model_validator

from hookgate.sections.section import Chosen, Count, Milliseconds, Name, Section, Several, Variable


def _names_a_provider(model: str) -> str:
    provider, slash, name = model.partition("/")
    if model and not (provider and slash and name):
        raise ValueError("write it PROVIDER/MODEL, for example openai/gpt-5-mini")
    return model


ModelName = Annotated[str, AfterValidator(_names_a_provider)]
Temperature = Annotated[float, Field(ge=0, le=2)]


class AgentSection(Section):
    """`context_files`: whether AGENTS.md files join the system message; unset, a chat and `hookgate rpc` read them
    and a daemon does not. `delegates_to`: the agents that it may hand tasks to, itself among them if it stands there;
    none: it has no tool for that."""

    name: Name = "main"
    model: ModelName = ""
    system: str = "You are a helpful assistant."
    max_steps: Count = 50
    workspace: str = ""
    context_files: bool | None = None
    temperature: Temperature | None = None
    max_tokens: Count | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    retry_first_ms: Milliseconds = 1000
    retry_longest_ms: Milliseconds = 60_000
    show_denials: bool = False
    text_tool_calls: Literal["off", "tags", "all"] = "tags"
    compact_at: Annotated[float, Field(ge=0, le=1)] = 0.85
    delegates_to: Several[Name] = ()

    @property
    def request_options(self) -> dict[str, Any]:
        named = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {**self.options, **{name: value for name, value in named.items() if value is not None}}


class AssistantSection(Section):
    """One of several agents; what it says nothing of is as in [agent]. `tools`: names, globs, `provider:` and a glob
    over providers, of those that a request may ship; left out: all. `description`: what it is for, told to agents
    that may hand it tasks; `delegates_to`: whom it may hand tasks to itself, whatever [agent] says."""

    model: ModelName | None = None
    system: str | None = None
    tools: Chosen = ()
    max_steps: Count | None = None
    temperature: Temperature | None = None
    max_tokens: Count | None = None
    options: dict[str, Any] | None = None
    description: str = ""
    delegates_to: Several[Name] = ()

    def above(self, agent: AgentSection, name: str) -> AgentSection:
        """The whole of it."""
        own = ("tools", "description")
        said = {key: value for key, value in self if key not in own and value is not None}
        return agent.model_copy(update={**said, "name": name})


_VENDORS = {"openai": "api.openai.com", "anthropic": "api.anthropic.com"}


class ProviderSection(Section):
    """How long a call may take: until the model begins to answer, from one line of its answer to the next (or
    `least_rate` bytes a second all the while), and in all."""

    kind: Literal["openai", "anthropic", "scripted"]
    base_url: str = ""
    api_key_env: Variable = ""
    first_token_timeout_ms: Milliseconds = 600_000
    idle_timeout_ms: Milliseconds = 120_000
    total_timeout_ms: Milliseconds = 1_800_000
    least_rate: Annotated[int, Field(ge=0)] = 100
    headers: dict[str, str] = Field(default_factory=dict)
    script: str = ""

    @property
    def is_vendor(self) -> bool:
        """Whether this is the endpoint of the company whose API it speaks."""
        host = _VENDORS.get(self.kind)
        return host is not None and (not self.base_url or urlsplit(self.base_url).hostname == host)

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, url: str) -> str:
        if url and not url.startswith(("http://", "https://")):
            raise ValueError("must start with http:// or https://")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.kind == "scripted" and not self.script:
            raise ValueError('a scripted provider needs script = "FILE.json"')
        return self


Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelSection(Section):
    """What hookgate does not know of a model, or knows wrong. `prices`: US dollars for a million tokens of input,
    output, and, if they differ from input, cache reads and cache writes."""

    context_window: Count | None = None
    max_output: Count | None = None
    reasoning: bool | None = None
    pictures: bool | None = None
    prices: Annotated[Several[Dollars], Field(min_length=2, max_length=4)] | None = None
