"""How often a message is tried and how it ends, whichever engine keeps it, in the words that people read; and how
much of what strangers cause is kept."""

from collections.abc import Mapping

from hookgate.protocol.journal.values import Outcome

MAX_ATTEMPTS = 3
GIVEN_UP = "I could not answer this: I broke off three times while I tried. An operator can see it."
BROKE_OFF = "it broke off three times while it was answered"
"""Why a message is a dead letter."""
ENDS: Mapping[Outcome, str] = {
    "answered": "the turn has ended",
    "refused": "the turn has ended",
    "dropped": "the turn was stopped",
    "dead": "the message was given up",
}
"""Why a request that was open then is void."""
NOTHING_SAID = "There is nothing more that I say to this."
UNSAID: Mapping[Outcome, str] = {
    "answered": NOTHING_SAID,
    "refused": "Stopped.",
    "dropped": "Stopped.",
    "dead": "Stopped.",
}
"""What stands in the place of a preview that nothing came of, by how its message ended."""
MOST_PAIRINGS_OF_ONE, MOST_PAIRINGS = 3, 100
"""Open codes of one stranger, and of all strangers of a channel."""
MOST_FOUND = 100
"""Of messages and of dead letters, at a time."""
MOST_TEXT = 200
"""Characters of a dead letter that operators are shown."""
