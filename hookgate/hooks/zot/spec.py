"""How an extension is started and mounted: its spec, its environment, its rules among the hooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from typing import TYPE_CHECKING

from hookgate.hooks.children.mounts import Plan
from hookgate.hooks.rules import AnyPolicy, Rules
from hookgate.hooks.zot.roster import Roster
from hookgate.processes.child import Late, Recheck
from hookgate.processes.rounds import Rounds
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.hook.hello import Hello
from hookgate.protocol.hook.match import Matcher, Observed
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.zot.heard import OBSERVED
from hookgate.protocol.zot.names import EXTENSION
from hookgate.protocol.zot.surface import Journal

if TYPE_CHECKING:
    from hookgate.hooks.zot.extension import ZotExtension

STAGES = frozenset({Stage.BEFORE_LLM, Stage.AFTER_LLM, Stage.BEFORE_TOOL})
TOKEN = "ZOTCORE_RPC_TOKEN"  # noqa: S105 - the variable's name
HOME = "ZOT_HOME"
# One for all of them: it compiles its names when it is first asked.
_OBSERVED = Observed(OBSERVED)


@dataclass(frozen=True)
class ExtensionSpec:
    """Two equal specs mean the same running process. `name` is the manifest's, and wins over the hello's.

    `directory`: the extension's own; `project_dir`: where the user works; `rank`: its place in the load order from
    0; `generation`: another number restarts an extension in which nothing else has changed. `hello_timeout_s`: from
    then on nobody waits for its hello, after `start_timeout_s` it has failed. `guarded`: where it stood when it
    was last up, so that nothing passes there before it is up again; `learn` is told what it intercepts in this run.
    """

    name: str
    command: tuple[str, ...]
    directory: str
    environment: Mapping[str, str]
    project_dir: str
    provider: str
    model: str
    zot_version: str
    roster: Roster = field(compare=False)
    journal: Journal = field(compare=False)
    recheck: Recheck | None = field(default=None, compare=False)
    fail_closed: bool = False
    rank: int = 0
    hello_timeout_s: float = 10.0
    start_timeout_s: float = 300.0
    guarded: Callable[[], frozenset[Stage]] = field(default=frozenset[Stage], compare=False)
    learn: Callable[[frozenset[str]], None] = field(default=lambda _intercepts: None, compare=False)
    generation: int = 0

    @property
    def hook_name(self) -> str:
        """Apart from the names of configured hooks."""
        return f"{EXTENSION}{self.name}"

    def resting(self, last: Hello | None) -> Hello:
        """Down, it stands where it stood; one that fails closed also before every tool call."""
        before = self.guarded() if last is None else last.stages or frozenset[Stage]()
        stages = before | {Stage.BEFORE_TOOL} if self.fail_closed else before
        return replace(last or Hello(), stages=stages)

    def guards(self, stage: Stage) -> bool:
        return stage in self.guarded()

    def open(self, rounds: Rounds, late: Late = lambda _why: None) -> AbstractAsyncContextManager[ZotExtension]:
        from hookgate.hooks.zot.start import open_extension

        return open_extension(self, rounds, late)


def extension_plan(spec: ExtensionSpec, *, priority: int = 0, match: Matcher | None = None) -> Plan:
    """Among hooks of its priority it stands first, in load order; a reload stops it before it starts it again."""
    rules = extension_rules(fail_closed=spec.fail_closed, priority=priority, match=match)
    return Plan(spec, rules, rank=spec.rank, alone=True)


def extension_rules(*, fail_closed: bool, priority: int = 0, match: Matcher | None = None) -> Rules:
    """Asked wherever its `subscribe` says; a failure lets things pass unless it fails closed."""
    policy: AnyPolicy = "deny" if fail_closed else "continue"
    on_failure: dict[Stage, AnyPolicy] = dict.fromkeys(STAGES, policy)
    if fail_closed:
        on_failure[Stage.AFTER_LLM] = "withhold"
    return Rules(
        stages=STAGES,
        observe=_OBSERVED,
        match=match or Matcher(),
        priority=priority,
        on_failure=on_failure,
    )


def extension_environment(base: Mapping[str, str], home: str, configured: Mapping[str, str]) -> dict[str, str]:
    """The base set, ZOT_HOME and what is configured for it; the RPC token never."""
    together = {**base, HOME: home, **configured}
    return {name: value for name, value in together.items() if name != TOKEN}
