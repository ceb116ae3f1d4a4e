"""Makes the pictures of the operator's page: `python -m docs.pictures.page`. Three months of a small repository are played, and each page
is photographed in Chromium: by day, in the dark and on a phone.
"""

import asyncio
import base64
import contextlib
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

from playwright.async_api import Error
from playwright.async_api import Page as Tab

from overlord.embedded.play import Turn, blocked, call, edit, read, run, submit, write
from tests.memory.world import MemoryWorld
from tests.web.browser import View, launched, opened
from tests.web.paging import made_page
from tests.world import REPO

HERE = Path(__file__).parent
MOST_BYTES = 120_000
"""Of one picture: they are part of the repository."""
QUALITY = 75
TRIES = 20
VIEWS: Mapping[str, View] = {
    "light": View(height=860),
    "dark": View(scheme="dark", height=860),
    "phone": View(width=390, height=844),
}
PAGES: Mapping[str, str] = {
    "now": "",
    "inbox": "inbox",
    "job": "jobs/{job}",
    "transcript": "jobs/{job}/transcript",
    "diff": "jobs/{job}/diff",
    "checks": "jobs/{job}/checks",
    "cost": "jobs/{job}/cost",
    "spaces": "spaces",
    "space": f"spaces/{REPO}",
    "trends": "trends?days=90",
    "history": "history",
}

MONEY = '''"""Sums of money, in cents."""


def total(prices, discount=0):
    """What a basket costs, with a discount in percent."""
    return sum(prices) * (100 - discount) // 100
'''
BROKEN = MONEY.replace("(100 - discount) // 100", "(discount - 100) // 100")
TEST = "from money import total\n\n\ndef test_no_discount():\n    assert total([200, 300]) == 500\n"
MORE = TEST + "\n\ndef test_ten_percent_off():\n    assert total([1000], discount=10) == 900\n"
FILES = {
    ".gitignore": ".pytest_cache/\n__pycache__/\n",
    "README.md": "# money\n\nSums of money.\n",
    "money.py": MONEY,
    "tests/test_money.py": TEST,
}
PAST = (
    ("The README does not say how to round", ("README.md",)),
    ("Sums over a million have no separators", ("README.md", "money.py")),
    ("An empty basket raises an error", ("money.py",)),
    ("Name the units in the docstring", ("money.py",)),
    ("Prices below zero are accepted", ("money.py", "README.md")),
)
WEEKS = 12
FIXES = (
    read("money.py"),
    run("python -m pytest -q"),
    edit("money.py", "(discount - 100) // 100", "(100 - discount) // 100"),
    write("tests/test_money.py", MORE),
    run("python -m pytest -q"),
    submit("A discount is taken off again. Added a test for ten percent."),
)


async def past(world: MemoryWorld) -> None:
    """Weeks of work: most of it is merged, some is stopped or dropped."""
    for number in range(WEEKS * 2):
        title, paths = PAST[number % len(PAST)]
        await world.issue(f"{title}" if number < len(PAST) else f"{title} ({number // len(PAST) + 1})")
        turns: tuple[Turn, ...] = tuple(
            write(path, f"{FILES[path]}\n# Note {number}: {title}.\n") for path in paths
        )
        ends = (
            blocked("The issue contradicts the README.") if number % 7 == 5 else submit("Done, with a note.")
        )
        world.model_will(read(paths[0]), *turns, ends, when=title)
        await world.settle()
        world.clock.move(timedelta(hours=3 + number % 5).total_seconds())
        newest = max(world.forge.pulls(REPO), key=lambda pull: pull.number)
        if newest.open and not newest.draft and number % 9 != 8:
            await world.forge.merge(REPO, newest.number)
        await world.settle()
        if number % 9 == 8:
            await world.stop_job((await world.jobs())[-1].id)
        for decision in await world.decisions():
            await world.answer(decision, decision.verbs[-1])
        await world.settle()
        world.clock.move(timedelta(days=3, hours=number % 4).total_seconds())
    await world.push({"money.py": BROKEN, "tests/test_money.py": TEST})


async def present(world: MemoryWorld) -> int:
    """What goes on now: one is in review, one is a question, two are at work and one is queued; gives the first."""
    await world.issue(
        "Ten percent off makes everything free", "`total([1000], discount=10)` is 0 and should be 900."
    )
    world.model_will(*FIXES, when="Ten percent off")
    await world.settle()
    job = (await world.jobs())[-1].id
    world.clock.move(2_400)
    await world.issue("Which rounding does total() use?", "Half a cent goes down. Is that meant?")
    world.model_will(
        read("money.py"),
        blocked("Half up, or to the nearest even number? The issue does not say."),
        when="Which rounding",
    )
    await world.settle()
    world.clock.move(1_500)
    asks = call(
        "ask_question",
        question="Is 100 percent off allowed, or is it refused too?",
        kind="question",
        options=["allowed", "refused"],
    )
    also = call(
        "ask_question", question="Which currency is the default?", kind="question", options=["EUR", "USD"]
    )
    await world.issue("Discounts above 100 percent are accepted")
    world.model_will(read("money.py"), run("python -m pytest -q"), asks, when="Discounts above")
    await world.issue("total() knows no currency")
    world.model_will(read("money.py"), read("README.md"), also, when="knows no currency")
    await world.issue("Say in the README how to install it")
    before = len(await world.decisions())
    await world.make_due()

    async def both_ask() -> bool:
        return len(await world.decisions()) == before + 2

    await world.until(both_ask)
    world.clock.move(260)
    await world.overlord.turn()  # a daemon whose loop stands still is not well
    return job


async def photographed(tab: Tab, name: str) -> bytes:
    """What the tab shows, as a picture that is small enough to keep."""
    session = await tab.context.new_cdp_session(tab)
    taken = None
    for _ in range(TRIES):
        with contextlib.suppress(Error):  # a page that is being drawn cannot be taken
            taken = await session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
            break
    if taken is None:
        raise SystemExit(f"Chromium took no picture of {name}")
    content = base64.b64decode(taken["data"])
    if len(content) > MOST_BYTES:
        raise SystemExit(f"{name} has {len(content):,} bytes; at most {MOST_BYTES:,} are kept")
    return content


async def main(directory: Path) -> None:
    async with (
        made_page(FILES, sessions={"concurrent": 2}, budget={"job_tokens": 60_000}) as page,
        launched() as browser,
    ):
        world = page.world
        await past(world)
        job = await present(world)
        for name, view in VIEWS.items():
            async with opened(browser, view) as tab:
                await tab.clock.set_fixed_time(world.clock.now())
                await tab.goto(f"{page.address}?token={page.token}")
                for what, path in PAGES.items():
                    await tab.goto(f"{page.address}{path.format(job=job)}")
                    content = await photographed(tab, f"{what}-{name}")
                    await asyncio.to_thread((directory / f"page-{what}-{name}.webp").write_bytes, content)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE))
