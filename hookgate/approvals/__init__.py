"""Who may run a sensitive tool: the rules, the grants, and the question to a person."""
