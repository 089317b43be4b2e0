"""What stands after an explicit opener: the end of the fragment and the calls in it. Looks for no openers."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from hookgate.tools.extract.judge import CUT, judge_arguments, judge_explicit, protocol_calls, undeclared
from hookgate.tools.extract.marks import ANOTHER, BODY, CLOSERS, FENCE_END, closing
from hookgate.tools.extract.values import Fragment, Problem, Verdict
from hookgate.tools.repair import Reading
from hookgate.tools.repair.bounds import STRING
from hookgate.tools.repair.cascade import read_lossless
from hookgate.tools.repair.spans import IN_GEMMA, IN_MARKUP, span

_UNREADABLE = Problem("what follows the opener is not JSON")
_QUOTE = '<|"|>'


def read_explicit(opener: re.Match[str], names: Collection[str]) -> Fragment | None:
    """The fragment that an opener begins; None where no body follows, so that it is only prose."""
    if opener["gemma"]:
        return _gemma(opener, names)
    body = BODY.match(opener.string, opener.end())
    if body is None:
        return None
    piece = span(opener.string, body.end(), IN_MARKUP)
    reading = read_lossless(opener.string[body.end() : piece.end]) if piece.closed else None
    if reading is None:
        return _broken(opener, body.end(), CUT if not piece.closed else _UNREADABLE)
    verdict = judge_explicit(reading, names)
    end = _past_closers(opener.string, piece.end, fenced=bool(body["fence"]))
    return _closed(opener, end) or _several(opener, (end, verdict), names)


def _closed(opener: re.Match[str], end: int) -> None:
    return None


def _several(opener: re.Match[str], first: tuple[int, Verdict], names: Collection[str]) -> Fragment:
    raise NotImplementedError
