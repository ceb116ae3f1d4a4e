"""What git said of commits, kept for a while: a commit's SHA stands for all that is in it, so it never gets old.

Many jobs of one repository begin at the same commit and ask the same at the same time; each answer is a git or two. So whoever asks
what is being asked waits for that answer, and there is room for the questions of many repositories: bounded by their size together,
since one answer may be a file mode or a megabyte.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

Answer = TypeVar("Answer")
MOST_ANSWERS = 1_000
LARGEST = 2_000_000
"""What is larger, in characters or entries, is asked for again."""
LARGEST_TOGETHER = 32_000_000
"""Of all that is kept, in the same measure."""


class Memory:
    """The answers used last."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._together = 0
        self._asking: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    async def recall(
        self, question: Hashable, ask: Callable[[], Awaitable[Answer]], size: Callable[[Answer], int]
    ) -> Answer:
        """The answer to a question, asked now if it is not known."""
        turn = self._asking.setdefault(question, asyncio.Lock())
        async with turn:  # one that fails or is cancelled leaves it to the next
            if question in self._answers:
                self._answers.move_to_end(question)
                known: Answer = self._answers[question][0]
                return known
            answer = await ask()
            self._keep(question, answer, size(answer))
            return answer

    def _keep(self, question: Hashable, answer: Any, size: int) -> None:
        if size > LARGEST:
            return
        self._answers[question] = answer, size
        self._together += size
        while len(self._answers) > MOST_ANSWERS or self._together > LARGEST_TOGETHER:
            self._together -= self._answers.popitem(last=False)[1][1]
