"""What a Discord channel is told: its own settings. Knows no configuration file."""

from __future__ import annotations

from dataclasses import field

from hookgate.protocol.dataclasses import dataclass

API_URL = "https://discord.com/api/v10"


@dataclass(frozen=True, slots=True)
class DiscordSettings:
    """`token_name`: of the variable that `token` is from. `api_url`: of the API. `hears_all`: in servers, what is
    said to others too."""

    name: str
    token: str = field(repr=False)
    token_name: str
    api_url: str = API_URL
    hears_all: bool = False
    shards: int = 1
    """Connections that the servers are divided among; 0: as many as the platform recommends."""
