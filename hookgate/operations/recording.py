"""What hooks of a running gateway are asked and say, for whoever keeps it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hookgate.hooks.recordings import Fetched, NoRecording, Recordings, TooManyRecordings
from hookgate.operations.refused import OperationRefused

WAIT_S = 20.0
Seconds = Annotated[float, Field(ge=0, le=WAIT_S, allow_inf_nan=False)]


async def begin_recording(recordings: Recordings) -> str:
    """From here on stage calls and their answers are kept for whoever fetches them, as events have them; the id to
    fetch them by. It is over when nobody fetches for a minute."""
    try:
        return recordings.begin()
    except TooManyRecordings as error:
        raise OperationRefused(str(error)) from None


async def fetch_recorded(recordings: Recordings, recording: str, wait_s: Seconds = WAIT_S) -> Fetched:
    """Stage calls since the last time, each a line of an event file; where there are none, it waits for the next."""
    try:
        return await recordings.fetch(recording, wait_s)
    except NoRecording as error:
        raise OperationRefused(str(error)) from None


async def end_recording(recordings: Recordings, recording: str) -> bool:
    """Nothing is kept any more."""
    recordings.end(recording)
    return True
