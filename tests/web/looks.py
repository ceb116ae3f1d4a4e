"""Sample pages with every part of the design, filled with what is hard to lay out: for people to look at, and for the browser.

`python -m tests.web.looks DIRECTORY` writes them with the static files beside, to be served by any web server.
"""

import shutil
import sys
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

WEB = Path(__file__).parents[2] / "overlord" / "entrypoints" / "web"
STATIC = WEB / "static"
PAGES = ("now", "inbox", "job", "history")

LONG_WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 3
LONG_PATH = "src/" + "/".join(f"a_rather_long_package_name_{n}" for n in range(9)) + "/module.py"
MARKUP = '<script>alert("1")</script><b hx-get="/x">bold</b>{{ 7 * 7 }}'
WRITING = "\u202egnitirw tfel ot thgir\u202c العربية 日本語テキスト 👩‍👩‍👧‍👦 zero\u200bwidth"
SENTENCES = "The slug of a title with two blanks has two dashes. " * 9
STATES = (
    "queued",
    "running",
    "evaluating",
    "delivering",
    "in_review",
    "waiting",
    "completed",
    "cancelled",
    "failed",
)
HOSTILE: dict[str, Any] = {
    "long_word": LONG_WORD,
    "long_path": LONG_PATH,
    "markup": MARKUP,
    "writing": WRITING,
    "sentences": SENTENCES,
    "states": STATES,
}


def environment() -> Environment:
    """The pages' own templates, and those of the samples."""
    loader = FileSystemLoader([Path(__file__).parent / "looks", WEB / "templates"])
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined)


def page(name: str, *, events: str = "/events", round: int = 0) -> str:
    """One sample page; `round` is how often its live parts have changed."""
    given = {
        "title": name.capitalize(),
        "here": "now" if name == "job" else name,
        "waiting": 3,
        "waiting_url": "",
        "csrf": "a-token",
        "person": "ada",
        "events": events,
        "version": "0.1.0",
        "round": round,
    }
    return environment().get_template(f"{name}.html").render(HOSTILE | given)


def part(name: str, *, round: int) -> str:
    """What a live part of a sample page is now."""
    return (
        environment().get_template(f"{name}_part.html").render(HOSTILE | {"round": round, "csrf": "a-token"})
    )


def write(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copytree(STATIC, directory / "static", dirs_exist_ok=True)
    for name in PAGES:
        (directory / f"{name}.html").write_text(page(name, events=""), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
