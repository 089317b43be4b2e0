"""Tools by name, how one is executed, and the ones that come with hookgate. Knows no hook and no session."""
