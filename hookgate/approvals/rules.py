"""Rules: which calls need a person's yes, whatever hooks say. They count by what they say, never by their place.

Does not know who is asked, nor how.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cached_property
from hashlib import sha256

from hookgate.protocol.approval import Lasting, Terms, Wish
from hookgate.protocol.codec import canonical
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.values import Step, ToolCall

TTL_S = 600.0


@dataclass(frozen=True)
class Rule:
    """Calls that match need a person's yes. `name` is for people; `ttl_s`: seconds until silence is a no.

    `describe` says more about a call than its arguments do: the program that it would install, say. `once`: no yes
    counts for a later call, since each may do anything; `lasting` gives what may be allowed for always all the same.
    `origins`: how the call was made, `native` or `text` by a model, `extension` by an extension itself.
    """

    name: str
    match: Matcher = field(default_factory=Matcher)
    ttl_s: float = TTL_S
    approvers: tuple[str, ...] = ()
    describe: Callable[[ToolCall], str] | None = None
    once: bool = False
    origins: Globs = field(default_factory=Globs)
    lasting: Callable[[ToolCall], Lasting | None] | None = None
    terms: Terms = field(default_factory=Terms)

    @cached_property
    def content(self) -> str:
        """SHA-256 of what it says, without its name and the order in which it says it."""
        match = {name: sorted(set(globs.patterns)) for name, globs in self.match.criteria.items()}
        said = [match, sorted(set(self.origins.patterns)), sorted(set(self.approvers)), self.ttl_s, self.once]
        terms = self.terms
        how = [terms.required, terms.self_approval, sorted(set(terms.ask_in)), terms.on_expiry, sorted(terms.grants)]
        return sha256(canonical([*said, *how])).hexdigest()

    def covers(self, step: Step, call: ToolCall) -> bool:
        origin = "extension" if step.extension else call.origin
        return self.origins.covers(origin) and self.match.matches(step, call.name)

    def wish(self, call: ToolCall) -> Wish:
        said = self.describe(call) if self.describe is not None else ""
        lasting = self.lasting(call) if self.lasting is not None else None
        more = (self.approvers, self.ttl_s, self.once, lasting, self.content, self.terms)
        return Wish(f"rule:{self.name}", "", said, *more)


def wishes(rules: Iterable[Rule], step: Step, call: ToolCall) -> tuple[Wish, ...]:
    """What the rules demand for this call; of several that say the same one is heard."""
    covering = {rule.content: rule for rule in rules if rule.covers(step, call)}
    return tuple(rule.wish(call) for rule in covering.values())


def revision(rules: Iterable[Rule]) -> str:
    """SHA-256, in hex, of what all of them say."""
    return sha256(canonical(sorted(rule.content for rule in rules))).hexdigest()


def usual_name(match: Matcher) -> str:
    """Of a rule that nobody has named: what it is about."""
    tools, channels = (match.criteria.get(name, Globs()).patterns for name in ("tools", "channels"))
    return ",".join(tools) + (f"@{','.join(channels)}" if channels else "")
