"""Makes the pictures of a terminal, a pull request and the chat: `python -m docs.pictures.make`. Each is what the program makes: printed and drawn as a terminal, or
played in an embedded world and photographed in Chromium, which has to be there.
"""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_it import MarkdownIt
from rich.console import Console
from rich.text import Text

from overlord.embedded.play import blocked, edit, read, submit
from tests.memory.talk import made_memory_talk
from tests.world import FIX, REPO

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


def photographed(address: str, picture: Path, *, width: int, height: int) -> None:
    """What a browser shows at an address, once it has had time to ask for everything."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("The pictures of pages need Chromium.")
    with tempfile.TemporaryDirectory() as profile:
        words = (
            *(browser, "--headless", "--no-sandbox", "--disable-background-networking", "--hide-scrollbars"),
            *(f"--user-data-dir={profile}", f"--window-size={width},{height}", "--timeout=5000"),
            *(f"--screenshot={picture}", address),
        )
        subprocess.run(words, check=True, capture_output=True, timeout=120)


STYLE = """body { font: 14px/1.5 "DejaVu Sans", sans-serif; color: #1f2328; margin: 24px; width: 820px }
h1 { font-size: 22px; margin: 0 0 12px } table { border-collapse: collapse } td, th { border: 1px solid #d1d9e0; padding: 6px 13px; text-align: left }
code { background: #eff1f3; border-radius: 6px; padding: 2px 5px; font-size: 12px } details { margin: 12px 0 } blockquote { color: #59636e; border-left: 4px solid #d1d9e0; margin: 0; padding: 0 16px }"""


async def played() -> None:
    """Two issues: one becomes a pull request, the other a question. The channel and the pull request are photographed."""
    async with made_memory_talk() as talk:
        await talk.world.issue("add() subtracts")
        talk.world.model_will(
            read("calc.py"), edit(*FIX), submit(summary="add() adds again; its test shows it.")
        )
        await talk.world.settle()
        [pull] = talk.world.forge.pulls(REPO)
        body = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render(pull.body)
        page = f"<!doctype html><meta charset=utf-8><style>{STYLE}</style><h1>{pull.title}</h1>{body}"
        with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as file:
            file.write(page)
            file.flush()
            await asyncio.to_thread(
                photographed, f"file://{file.name}", HERE / "pull.png", width=880, height=600
            )
        await talk.world.issue("Which rounding does divide() use?")
        talk.world.model_will(blocked("Half up, or to the nearest even number? The issue does not say."))
        await talk.world.settle()
        async with talk.chat.serve() as url:
            await asyncio.to_thread(
                photographed, talk.chat.page_url(url), HERE / "chat.png", width=1000, height=820
            )


if __name__ == "__main__":
    (HERE / "demo.svg").write_text(drawn(demo(), "make demo") + "\n", encoding="utf-8")
    asyncio.run(played())
