"""docs/ops.md keeps its word: every view and action that it names is there, no other, and answers as it says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx

from hookgate.config import parse
from hookgate.serve.ops import ops_parts
from tests.docs.page import codes, read_page
from tests.serve.gateway import configured, open_served
from tests.serve.test_serve_ops import PAGE, user

OPS = read_page(Path(__file__).parents[2] / "docs" / "ops.md")
REQUEST = re.compile(r"(?:GET|POST) /ops/api/([a-z.]+)")


def named(mark: str) -> dict[str, str]:
    """What is answered, by the name in the address."""
    rows = {match[1]: answer for row, answer in OPS.one(mark).rows if (match := REQUEST.match(codes(row)[0]))}
    assert len(rows) == len(OPS.one(mark).rows)
    return rows


async def test_its_views_and_actions_are_those_that_there_are(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path, PAGE)) as served, user(served) as ann:
        journal = served.runtime.journal
        parts = ops_parts(served.runtime, journal)  # pyright: ignore[reportArgumentType]
        assert named("views").keys() == parts.views.keys()
        assert named("actions").keys() == parts.actions.keys()
        for name, said in named("views").items():
            if members := re.match(r"`\{([a-z_, ]+)\}`", said):
                assert set((await shown(ann, name)).keys()) == set(members[1].split(", ")), name
            else:
                assert isinstance(await shown(ann, name), list), name


async def shown(client: httpx.AsyncClient, view: str) -> dict[str, object]:
    answer = await client.get(f"/ops/api/{view}", params={"id": "page:ann:c1/main/0"} if view == "transcript" else {})
    assert answer.status_code == 200, answer.text
    return json.loads(answer.content)


def test_its_configuration_makes_an_operator() -> None:
    [section] = [part for part in OPS.parts if part.language == "toml"]
    assert parse(section.text, Path("hookgate.toml")).people["ann"].roles == ("operator",)
