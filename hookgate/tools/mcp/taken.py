"""The tools of one connection: what its server lists, what of it a person agreed to, what is registered of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hookgate.protocol.interfaces import Tool
from hookgate.tools.mcp.listing import Listing, Offer, Offered
from hookgate.tools.mcp.server import ServerSpec
from hookgate.tools.registry import Registry


class TakenTools:
    """`approved`: digests of the tools that a person agreed to, by the server's names; None: every tool is taken.
    `make` gives the tool to register for an offer."""

    def __init__(
        self, spec: ServerSpec, registry: Registry, approved: Mapping[str, str] | None, make: Callable[[Offer], Tool]
    ) -> None:
        self.listing = Listing(())
        self.taken: Mapping[str, Offer] = {}
        self.lost = frozenset[str]()
        """Names of the tools that went with the last loss."""
        self._spec, self._registry, self._make = spec, registry, make
        self._approved = approved
        self._known: Mapping[str, Offer] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """As a model may call them, sorted."""
        return tuple(sorted(offer.spec.name for offer in self.taken.values()))

    @property
    def offered(self) -> tuple[Offered, ...]:
        known = self._known if self._approved is None else self._approved
        return tuple(
            Offered(it, it.raw in self.taken, it.raw not in known, self._known.get(it.raw))
            for it in self.listing.offers
        )

    def others(self) -> set[str]:
        """Names that somebody else's tools have."""
        provider = self._spec.provider
        return {tool.name for tool in self._registry.snapshot().specs if tool.provider != provider}

    def begin(self, listing: Listing) -> None:
        """The first list of a connection: what the model connected itself is agreed to as it was then.
        Raises BadSpec, NameConflict."""
        if self._approved is None and self._spec.origin == "model":
            self._approved = {offer.raw: offer.digest for offer in listing.offers}
        self.take(listing)

    def approve(self, digests: Mapping[str, str]) -> None:
        """From now on the tools of these digests, by the server's names, and no others."""
        self._approved = dict(digests)

    def take(self, listing: Listing) -> None:
        """Register what is approved of the list, and nothing else. Raises BadSpec, NameConflict."""
        before = self.taken
        wanted = {offer.raw: offer for offer in listing.offers if self._may_take(offer)}
        names = {offer.spec.name for offer in wanted.values()}
        for offer in before.values():
            if offer.spec.name not in names:
                self._registry.unregister(offer.spec.name, self._spec.provider)
        # In step with the registry: what was not registered here is tried again with the next list.
        self.taken = {raw: offer for raw, offer in before.items() if offer.spec.name in names}
        for raw, offer in wanted.items():
            if before.get(raw) != offer:
                self._registry.register(self._make(offer))
            self.taken = {**self.taken, raw: offer}
        self.listing, self.taken = listing, wanted
        listed = {offer.raw for offer in listing.offers}
        self._known = {raw: offer for raw, offer in {**self._known, **wanted}.items() if raw in listed}

    def clear(self) -> None:
        """Nothing of it is registered any more."""
        self.taken = {}
        self._registry.unregister_provider(self._spec.provider)

    def lose(self) -> None:
        """As `clear`, of a connection that was up."""
        self.lost = frozenset(self.names)
        self.clear()

    def _may_take(self, offer: Offer) -> bool:
        return self._approved is None or self._approved.get(offer.raw) == offer.digest
