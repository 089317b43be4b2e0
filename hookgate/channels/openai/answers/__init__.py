"""The answer of a turn: while it is made, on its way to one client, as it is stored."""
