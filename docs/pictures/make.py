"""Makes the pictures of the pages: `python docs/pictures/make.py`. Each is what the program prints, drawn as a terminal."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

HERE = Path(__file__).parent
WIDTH = 104
FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
"""Fonts are asked of nobody: each viewer has one of its own."""


def drawn(text: str, title: str) -> str:
    """A text with colours, as a picture of a terminal."""
    with tempfile.TemporaryFile("w") as nowhere:
        console = Console(record=True, width=WIDTH, force_terminal=True, file=nowhere)
        console.print(Text.from_ansi(text), soft_wrap=False)
        return FONT.sub("", console.export_svg(title=title))


def demo() -> str:
    """What the demo says, without what differs from machine to machine."""
    words = (sys.executable, "-m", "overlord", "demo")
    with tempfile.TemporaryDirectory() as home:
        given = {
            "OVERLORD_HOME": home,
            "FORCE_COLOR": "1",
            "COLUMNS": str(WIDTH),
            "PATH": "/usr/bin:/bin",
            "HOME": home,
        }
        said = subprocess.run(words, env=given, capture_output=True, text=True, check=True).stdout
    lines = said.splitlines()
    first = next(number for number, line in enumerate(lines) if "claimed" in line)
    last = max(number for number, line in enumerate(lines) if "is in review" in line)
    return "\n".join(lines[first : last + 1])


if __name__ == "__main__":
    (HERE / "demo.svg").write_text(drawn(demo(), "make demo") + "\n", encoding="utf-8")
