"""What the bot has to be allowed, as the platform names it."""

SCOPES = frozenset(
    {
        *("app_mentions:read", "chat:write", "commands", "files:read", "files:write"),
        *("channels:history", "groups:history", "im:history", "mpim:history"),
        *("channels:read", "groups:read", "im:read", "mpim:read"),
    }
)
