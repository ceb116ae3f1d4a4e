"""The end of a child process is heard without a thread that waits for it, in whichever loop asked."""

import asyncio
import sys
import threading

from overlord.adapters.process.children import watch_children


async def _ended() -> tuple[int, list[str]]:
    """A child's exit code, and the threads that waited while it ran."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "import sys; sys.exit(len(sys.stdin.read()))", stdin=asyncio.subprocess.PIPE
    )
    waiting = [thread.name for thread in threading.enumerate() if thread.name.startswith("waitpid")]
    await child.communicate(b"seven..")
    assert child.returncode is not None
    return child.returncode, waiting


async def test_no_thread_waits_for_a_child() -> None:
    watch_children()
    assert await _ended() == (7, [])


async def test_a_loop_in_another_thread_hears_of_its_own() -> None:
    watch_children()
    here, there = await asyncio.gather(_ended(), asyncio.to_thread(lambda: asyncio.run(_ended())))
    assert here == there == (7, [])
