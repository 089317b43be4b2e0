"""`[guards]`: the guards that come with hookgate, each off or on in one line."""

from typing import Annotated, Literal, get_args

from pydantic import Field, field_validator, model_validator

from hookgate.sections.section import Count, Globs, Later, Mode, Section, Several, nested


class GuardSection(Section):
    mode: Mode = "enforce"

    @model_validator(mode="before")
    @classmethod
    def _or_one_word(cls, given: object) -> object:
        """`loop = "off"` is short for `loop = { mode = "off" }`; true and false do as well."""
        if isinstance(given, bool):
            return {"mode": "enforce" if given else "off"}
        return {"mode": given} if isinstance(given, str) else given


class LoopGuard(GuardSection):
    """How often the same call may fail before advice and refusal, the same tool with other arguments, and how much
    advice one turn gets; `repeats`: successes of one read-only call before advice."""

    same_advice: Count = 3
    same_refuse: Count = 4
    tool_advice: Count = 4
    tool_refuse: Count = 8
    advice_limit: Count = 5
    repeats: Count = 5


class FanOutGuard(GuardSection):
    """Calls of one tool in one turn; a tool that is not named is not limited."""

    limits: dict[str, Count] = Field(default_factory=lambda: {"ls": 20, "grep": 30, "glob": 20})


class ReadBeforeWriteGuard(GuardSection):
    strict: bool = False


class PlanFirstGuard(GuardSection):
    mode: Mode = "off"
    plan_tools: Annotated[Globs, Field(min_length=1)] = ("plan",)


class TestEditGuard(GuardSection):
    mode: Mode = "off"
    refuse: bool = False


class ShellGuard(GuardSection):
    profile: Literal["relaxed", "standard", "read_only"] = "relaxed"

    @model_validator(mode="before")
    @classmethod
    def _or_its_profile(cls, given: object) -> object:
        """`shell = "read_only"` is short for `shell = { profile = "read_only" }`."""
        return {"profile": given} if isinstance(given, str) and given not in get_args(Mode) else given


class RedactionGuard(GuardSection):
    """`secret_env` names variables whose values are replaced wherever they turn up, besides the providers' keys."""

    secret_env: Several[str] = ()
    keys: Several[str] = ()

    @field_validator("mode")
    @classmethod
    def _is_on_or_off(cls, mode: Mode) -> Mode:
        if mode == "audit":
            raise ValueError('redaction is "enforce" or "off": what it only noted would have left')
        return mode


class GuardsSection(Section):
    """The guards that come with hookgate; `schema` is always on."""

    loop: Later[LoopGuard] = nested(LoopGuard)
    fan_out: Later[FanOutGuard] = nested(FanOutGuard)
    read_before_write: Later[ReadBeforeWriteGuard] = nested(ReadBeforeWriteGuard)
    plan_first: Later[PlanFirstGuard] = nested(PlanFirstGuard)
    test_edit: Later[TestEditGuard] = nested(TestEditGuard)
    shell: Later[ShellGuard] = nested(ShellGuard)
    redaction: Later[RedactionGuard] = nested(RedactionGuard)
