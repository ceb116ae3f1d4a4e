"""The page, the manifest and the code agree on what Overlord needs at GitHub."""

import json
import re
from urllib.parse import parse_qs

from overlord.adapters.github.permission import EVENTS, PERMISSIONS, shown
from tests.architecture.test_imports import ROOT

PAGE = (ROOT / "deploy" / "github-app.md").read_text(encoding="utf-8")
MANIFEST = json.loads((ROOT / "deploy" / "github-app-manifest.json").read_text(encoding="utf-8"))


def test_the_manifest_asks_for_what_is_needed() -> None:
    assert MANIFEST["default_permissions"] == dict(PERMISSIONS)
    assert MANIFEST["default_events"] == sorted(EVENTS)
    assert MANIFEST["public"] is MANIFEST["hook_attributes"]["active"] is False


def test_the_table_of_the_page_has_the_permissions_that_are_needed() -> None:
    rows = re.findall(r"^\| ([A-Z][a-z ]+) \| (read-only|read and write) \|", PAGE, re.MULTILINE)
    assert ", ".join(f"{name}: {level}" for name, level in rows) == shown(PERMISSIONS)


def test_the_links_of_the_page_fill_in_the_permissions_that_are_needed() -> None:
    links = re.findall(r"`https://github\.com/\S*settings/apps/new\?(\S+)`", PAGE)
    assert len(links) == 2
    for link in links:
        filled = {name: values[0] for name, values in parse_qs(link).items()}
        assert {name: filled.get(name) for name in PERMISSIONS} == dict(PERMISSIONS)
        assert set(filled) - set(PERMISSIONS) == {"public", "webhook_active", "url"}


def test_the_events_of_the_page_are_those_of_the_code() -> None:
    assert set(re.findall(r"`([a-z_]+)`", PAGE)) >= set(EVENTS)
    assert f"\n{' '.join(f'`{name}`' for name in sorted(EVENTS))}\n" in PAGE


def test_the_readme_leads_there() -> None:
    assert "(deploy/github-app.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
