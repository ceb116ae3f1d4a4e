"""The dashboard asks for what a scrape has, and leaves nothing of it out."""

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.architecture.test_imports import ROOT
from tests.listener.test_metrics import PRICES, played, scraped
from tests.listener.wire import heard_world

DASHBOARD = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text(encoding="utf-8"))
PANELS: list[dict[str, Any]] = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
NAME = re.compile(r"\b(?:overlord|process)_\w+")
PARTS = re.compile(r"_(?:bucket|sum|count|total|created)$")


def queries() -> Iterator[tuple[str, str]]:
    for panel in PANELS:
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["query"]["query"], ""


async def test_each_query_names_what_a_played_story_has_and_each_number_is_asked_for() -> None:
    async with heard_world(prices=PRICES) as (world, place):
        await played(world)
        samples = await scraped(place)
    labels: dict[str, set[str]] = {}
    for sample in samples:
        name, _, rest = sample.partition("{")
        labels.setdefault(name, set()).update(re.findall(r'(\w+)="', rest))
    for query, legend in queries():
        names = NAME.findall(query)
        assert names and set(names) <= labels.keys(), query
        grouped = re.findall(r"by \(([^)]*)\)", query)
        used = {word.strip() for group in grouped for word in group.split(",")}
        used |= set(re.findall(r"\{\{(\w+)\}\}", legend)) | set(re.findall(r"(\w+)=~", query)) - {"instance"}
        assert used <= labels[names[0]], query
        assert query.count("(") == query.count(")")
    asked = {PARTS.sub("", name) for query, _ in queries() for name in NAME.findall(query)}
    there = {PARTS.sub("", name) for name in labels if name.startswith("overlord_")}
    assert there - asked == set()


def test_it_can_be_imported_into_any_grafana() -> None:
    assert DASHBOARD["schemaVersion"] >= 36 and DASHBOARD["uid"] == "overlord"
    assert DASHBOARD["templating"]["list"][0] | {"current": {}} == {
        "name": "datasource",
        "label": "Prometheus",
        "type": "datasource",
        "query": "prometheus",
        "current": {},
        "hide": 0,
        "includeAll": False,
        "multi": False,
    }
    uids = {target["datasource"]["uid"] for panel in PANELS for target in panel["targets"]}
    assert uids == {"${datasource}"}
    numbers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(numbers)) == len(numbers)


def test_no_panel_lies_on_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= 24, panel["title"]
        taken |= cells
