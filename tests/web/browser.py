"""A real browser: Debian's Chromium, one for each worker, driven by Playwright. It reaches loopback, and nothing else."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from playwright.async_api import Browser, Page, async_playwright, expect

from tests.required import missing

DEADLINE_MS = 30_000
ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]


@dataclass(frozen=True, kw_only=True)
class View:
    """How somebody looks at a page."""

    scheme: Literal["light", "dark"] = "light"
    width: int = 1280
    height: int = 800


VIEWS = {
    "light": View(),
    "dark": View(scheme="dark"),
    "phone": View(width=320, height=640),
}


def chromium() -> str:
    """Where Chromium is; the test is skipped where it is not, and failed where it is required."""
    found = shutil.which("chromium")
    if found is None:
        missing("chromium", "there is no chromium here (Debian: apt install chromium)")
    return found


@asynccontextmanager
async def launched() -> AsyncIterator[Browser]:
    path = chromium()
    expect.set_options(timeout=DEADLINE_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


@asynccontextmanager
async def opened(
    browser: Browser, view: View = VIEWS["light"], *, javascript: bool = True, bypass_csp: bool = False
) -> AsyncIterator[Page]:
    """An empty page in a context of its own. Whatever its console says that is no news fails the test."""
    context = await browser.new_context(
        color_scheme=view.scheme,
        viewport={"width": view.width, "height": view.height},
        java_script_enabled=javascript,
        bypass_csp=bypass_csp,
        reduced_motion="reduce",
        timezone_id="Europe/Berlin",
        locale="en-GB",
    )
    said: list[str] = []
    page = await context.new_page()
    page.set_default_timeout(DEADLINE_MS)
    page.on(
        "console",
        lambda message: (
            said.append(f"{message.type}: {message.text}") if message.type in {"error", "warning"} else None
        ),
    )
    page.on("pageerror", lambda error: said.append(str(error)))
    try:
        yield page
        assert said == [], said
    finally:
        await context.close()
