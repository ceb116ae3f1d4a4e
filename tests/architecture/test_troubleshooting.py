"""Whatever goes wrong, the page for it has the message and what to do."""

import re

from tests.architecture.messages import messages
from tests.architecture.test_imports import ROOT

PAGE = ROOT / "docs" / "troubleshooting.md"
ENTRY = re.compile(r"^\| (`+) ?(.+?) ?\1 \| (.+) \|$", re.MULTILINE)


def test_every_message_has_an_entry_and_every_entry_a_message() -> None:
    """To write a new one: its text as `python -m tests.architecture.messages` prints it, and what a person can do."""
    entries = {found[2]: found[3] for found in ENTRY.finditer(PAGE.read_text(encoding="utf-8"))}
    said = messages()
    assert {text: where for text, where in said.items() if text not in entries} == {}
    assert entries.keys() - said.keys() == set()
    assert [text for text, advice in entries.items() if len(advice) < 10] == []
