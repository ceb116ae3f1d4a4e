"""What is remembered of git's answers: once for all who ask at the same time, and no more than there is room for."""

import asyncio

import pytest

from overlord.adapters.git.content import memory
from overlord.adapters.git.content.memory import LARGEST, LARGEST_TOGETHER, MOST_ANSWERS, Memory
from overlord.errors import GitFailed


class Git:
    """Answers with a text, once it may; each question is counted."""

    def __init__(self, text: str = "said") -> None:
        self.text, self.asked, self.fails = text, 0, 0
        self.may_answer = asyncio.Event()

    async def ask(self) -> str:
        self.asked += 1
        await self.may_answer.wait()
        if self.fails:
            self.fails -= 1
            raise GitFailed("it said nothing")
        return self.text


async def recalled(found: Memory, git: Git, question: object = "q") -> str:
    git.may_answer.set()
    return await found.recall(question, git.ask, len)


async def test_what_many_ask_at_the_same_time_is_asked_once() -> None:
    found, git = Memory(), Git()
    asking = [asyncio.create_task(found.recall("q", git.ask, len)) for _ in range(5)]
    git.may_answer.set()
    assert await asyncio.gather(*asking) == ["said"] * 5
    assert git.asked == 1


async def test_a_question_that_failed_or_whose_asker_left_is_asked_by_the_next() -> None:
    found, git = Memory(), Git()
    git.fails = 1
    left, failed, answered = (asyncio.create_task(found.recall("q", git.ask, len)) for _ in range(3))
    await asyncio.sleep(0)
    left.cancel()
    git.may_answer.set()
    with pytest.raises(GitFailed):
        await failed
    assert await answered == "said"
    assert git.asked == 3


async def test_the_answers_used_last_are_kept_by_number_and_by_size() -> None:
    found, git = Memory(), Git()
    for number in range(MOST_ANSWERS + 1):
        await recalled(found, git, number)
    await recalled(found, git, MOST_ANSWERS)
    assert git.asked == MOST_ANSWERS + 1
    await recalled(found, git, 0)
    assert git.asked == MOST_ANSWERS + 2, "the oldest made room"
    large = Git("x" * LARGEST)
    for number in range(LARGEST_TOGETHER // LARGEST + 1):
        await recalled(found, large, f"large {number}")
    await recalled(found, large, "large 0")
    assert large.asked == LARGEST_TOGETHER // LARGEST + 2, "the first of them made room for the last"


async def test_what_is_too_large_is_asked_again() -> None:
    found, git = Memory(), Git("x" * (memory.LARGEST + 1))
    await recalled(found, git)
    await recalled(found, git)
    assert git.asked == 2
