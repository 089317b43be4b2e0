"""What a gateway does, told to operators: heard from events, counted, traced."""
