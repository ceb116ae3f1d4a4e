"""`overlord demo` at a terminal, with its page in a browser: the whole story as whoever tries it first sees it."""

import asyncio
import os
import pty
import re
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.web.browser import opened

pytestmark = [pytest.mark.chromium, pytest.mark.asyncio(loop_scope="session")]

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{43}")
STAYS = "The page is open, until Ctrl-C:"


class Terminal:
    """A program at a terminal: what it has said so far, and Ctrl-C."""

    def __init__(self, master: int, program: asyncio.subprocess.Process) -> None:
        self.said = ""
        self._master, self._program = master, program
        self._more = asyncio.Event()
        os.set_blocking(master, False)
        asyncio.get_running_loop().add_reader(master, self._read)

    def _read(self) -> None:
        try:
            self.said += os.read(self._master, 65_536).decode(errors="replace")
        except OSError:  # the program is gone
            asyncio.get_running_loop().remove_reader(self._master)
        self._more.set()

    async def until(self, words: str) -> None:
        """Until it says so."""
        while words not in self.said:
            self._more.clear()
            await self._more.wait()

    async def interrupted(self) -> int:
        """Press Ctrl-C; how it ended."""
        self._program.send_signal(signal.SIGINT)
        return await self._program.wait()


@asynccontextmanager
async def demo(place: str) -> AsyncIterator[Terminal]:
    """The demo at a terminal of its own."""
    master, slave = pty.openpty()
    environment = {"PATH": "/usr/bin:/bin", "HOME": place, "TMPDIR": place, "TERM": "xterm", "COLUMNS": "200"}
    environment |= {"DOCKER_HOST": "unix:///nonexistent/docker.sock", "LANG": "C.UTF-8"}
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "overlord", "demo", "--runner", "process"),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=environment,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Terminal(master, program)
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
        asyncio.get_running_loop().remove_reader(master)
        os.close(master)


async def test_the_demo_is_watched_in_a_browser_and_its_page_stays_open_until_ctrl_c(
    browser: Browser,
) -> None:
    with tempfile.TemporaryDirectory(prefix="od-", dir="/tmp") as place:
        async with demo(place) as terminal, opened(browser) as tab:
            await terminal.until("Watch it in a browser:")
            await terminal.until("claimed")
            address = ADDRESS.findall(terminal.said)[0]
            await tab.goto(address)
            await expect(tab.locator("[data-live=on]")).to_have_text("live")
            await expect(tab.locator("#now")).to_contain_text("Ten percent off makes everything free")
            await terminal.until(STAYS)
            await expect(tab.locator("[data-state=in_review]")).to_have_count(2)
            await tab.get_by_role("link", name="Ten percent off makes everything free").click()
            await expect(tab.locator(".timeline")).to_contain_text("is in review")
            await tab.get_by_role("link", name="Transcript").click()
            await expect(tab.locator("#turn-1")).to_contain_text("You are a Minion")
            await tab.get_by_role("link", name="Diff").click()
            await expect(tab.locator("tr.add").first).to_be_visible()
            await tab.get_by_role("button", name="Stop").click()
            await tab.get_by_role("button", name="Yes, go on").click()
            await expect(tab.locator(".flash")).to_contain_text("Stopped job")
            await terminal.until("stopped:")
            await tab.goto("about:blank")
            assert await terminal.interrupted() == 0, terminal.said
        assert ADDRESS.findall(terminal.said.partition(STAYS)[2]) == [address]
        assert len(list(Path(place).glob("overlord-demo-*"))) == 1
