"""What a call of `edit` replaces."""

from __future__ import annotations

import pytest

from hookgate.protocol.edits import Replacement, replacements
from hookgate.protocol.values import Json


def test_replacements_are_read_in_order() -> None:
    edits: list[Json] = [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "", "more": 1}]
    assert replacements({"path": "x", "edits": edits}) == (Replacement("a", "b"), Replacement("c", ""))


@pytest.mark.parametrize(
    "edits", [None, "a", {}, [], [1], [{"oldText": "a"}], [{"oldText": "a", "newText": "b"}, {"oldText": 1}]]
)
def test_a_part_of_a_change_is_not_taken_for_the_whole(edits: Json) -> None:
    assert replacements({"edits": edits}) == ()
