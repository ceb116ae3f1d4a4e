"""What git said of commits, kept for a while: a commit's SHA stands for all that is in it, so it never gets old."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

Answer = TypeVar("Answer")
MOST_ANSWERS = 64
LARGEST = 2_000_000
"""What is larger, in characters or entries, is asked for again."""


class Memory:
    """The answers used last."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, Any] = OrderedDict()

    async def recall(
        self, question: Hashable, ask: Callable[[], Awaitable[Answer]], size: Callable[[Answer], int]
    ) -> Answer:
        """The answer to a question, asked now if it is not known."""
        if question in self._answers:
            self._answers.move_to_end(question)
            known: Answer = self._answers[question]
            return known
        answer = await ask()
        if size(answer) <= LARGEST:
            self._answers[question] = answer
            while len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)
        return answer
