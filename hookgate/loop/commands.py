"""Slash commands that extensions bring: which text is one, running it, and what its answer does in the chat.

Commands act at once, beside the turn that may be running. Knows no process; the gateway queues what they submit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import trio

from hookgate.hooks.zot.roster import Command
from hookgate.loop.surface import Surfaces, noted
from hookgate.protocol.values import Chat, Inbound
from hookgate.protocol.zot.answers import CommandAnswer
from hookgate.protocol.zot.roster import CommandSource

RESERVED = frozenset({"stop", "new", "compact", "help", "tools", "hooks", "quit", "exit", "reload-ext"})
"""hookgate's own, here or at the terminal: an extension's command of such a name is never invoked."""
