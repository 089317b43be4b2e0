"""`[people]` and `[[approvals]]`: who is who, which calls a person is asked about, and who may decide."""

from typing import Annotated, Literal, Self, get_args

from pydantic import Field, field_validator, model_validator

from hookgate.protocol.values import Origin
from hookgate.sections.section import Globs, MatchSection, Section, Several, covering

PLACE = r"^[A-Za-z0-9_.-]+:.+$"
"""A channel's name, and what it calls somebody or a chat."""


class PersonSection(Section):
    """`ids`: `CHANNEL:ID`, as the platform or the login knows them."""

    ids: Annotated[Several[Annotated[str, Field(pattern=PLACE)]], Field(min_length=1)]
    roles: Several[Annotated[str, Field(min_length=1)]] = ()

    @field_validator("roles")
    @classmethod
    def _are_bare(cls, roles: tuple[str, ...]) -> tuple[str, ...]:
        for role in roles:
            if (bare := role.removeprefix("role:")) != role:
                raise ValueError(f"{role!r}: a role stands here by its name alone, {bare!r}")
        return roles


class ApprovalSection(MatchSection):
    """`origins`: how a call was made, `native`, `text` or `extension`; what else it covers is as in a hook's `match`.
    `self_approval` None: unless approvers are named or several are asked."""

    origins: Annotated[Globs, covering("origin of a call", (*get_args(Origin), "extension"))] = ()
    name: str = ""
    approvers: Several[Annotated[str, Field(min_length=1)]] = ()
    required: Annotated[int, Field(ge=1, le=100)] = 1
    self_approval: bool | None = None
    ask_in: Several[Annotated[str, Field(pattern=PLACE)]] = ()
    ttl_s: Annotated[float, Field(gt=0, le=604_800)] = 600.0
    on_expiry: Literal["deny", "wait", "stop"] = "deny"
    grants: Several[Literal["session", "1h", "always"]] = ("session", "1h")

    @model_validator(mode="after")
    def _names_tools(self) -> Self:
        if not self.tools:
            raise ValueError('name the tools it is about, for example tools = ["bash"] (or ["*"])')
        return self

    @model_validator(mode="after")
    def _lets_the_requester_decide_or_not(self) -> Self:
        if self.self_approval is False and "requester" in self.approvers:
            raise ValueError("approvers names the requester, and self_approval = false shuts them out")
        return self

    @property
    def may_self_approve(self) -> bool:
        return self.self_approval if self.self_approval is not None else not self.approvers and self.required == 1
