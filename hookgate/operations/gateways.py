"""What each of the gateways that share a journal says of itself, and what all of them together are like.

Each keeps that in its row, a few seconds old: whoever is asked reads it there, and asks no other gateway.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import structlog
import trio

from hookgate import __version__
from hookgate import config as configuration
from hookgate.approvals.rules import revision
from hookgate.assembly.app import Runtime
from hookgate.loop.sessions.jobs import Prompt
from hookgate.operations.channels import ChannelStatus, list_channels
from hookgate.operations.hooks import HookStatus, list_hooks
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.journal.cluster import Member
from hookgate.telemetry.turns import Activity, Doing

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from hookgate.loop.sessions.session import Session

log = structlog.get_logger("hookgate.serve")

DESCRIBING_S = 2.0
"""How often a gateway puts what it is like."""
COMPARING_S = 6.0
"""How often it looks whether others have other rules."""
MOST_TURNS = 100
"""Of one gateway, that the others are told of."""
