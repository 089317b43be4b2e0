"""docs/operating.md keeps its word: the families are all there are, the blocks are read by who they are for."""

from __future__ import annotations

import tomllib
from pathlib import Path

import yaml

from hookgate.operations.metrics import metrics
from hookgate.sections import Config
from hookgate.sections.telemetry import TelemetrySection
from tests.docs.page import codes, read_page
from tests.serve.gateway import configured, open_served

PAGE = read_page(Path(__file__).parents[2] / "docs" / "operating.md")
TRACED = '[telemetry]\ntraces = "http://127.0.0.1:9"\n'


async def test_the_families_of_the_table_are_all_that_there_are_with_their_labels(tmp_path: Path) -> None:
    async with open_served(configured(tmp_path, TRACED)) as served:
        found = {
            it.name: tuple(name for name in it.labels if name != "le") for it in await metrics(served.runtime, "ok")
        }
    told = {codes(row[0])[0]: tuple(codes(row[1])) for row in PAGE.one("families").rows}
    assert told == found


def test_what_the_page_configures_is_read_by_who_it_is_for() -> None:
    section = Config.model_validate(tomllib.loads(PAGE.one("traces").text)).telemetry
    assert section.model_fields_set == set(TelemetrySection.model_fields)
    [job] = yaml.safe_load(PAGE.one("prometheus").text)["scrape_configs"]
    assert (job["job_name"], job["static_configs"][0]["targets"]) == ("hookgate", ["gateway.example.org:8710"])
