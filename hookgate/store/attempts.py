"""How often a message is tried, whichever engine keeps it, and what its chat is told in the end."""

MAX_ATTEMPTS = 3
GIVEN_UP = "I could not answer this: I broke off three times while I tried. An operator can see it."
