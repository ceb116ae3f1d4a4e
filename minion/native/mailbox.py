"""What people say to this session while it works: asked for at the session API before each turn, and acknowledged once it is taken.

The session API is asked and never calls: a session has one way out and none in.
"""

from minion.errors import Interrupted, SessionApiRefused
from minion.interrupt import Interrupts
from minion.native.prompt import message_text
from minion.protocol import MESSAGES_PATH, Message, Messages, MessagesTaken, decode, encode
from minion.session_api import SessionApi

NOT_ENDED = (
    "The session has not ended: a person has written to you meanwhile. Read that first, then end it again."
)


class Mailbox:
    """The messages of one session, each given to its model once."""

    def __init__(
        self, session_api: SessionApi, fence: str, interrupts: Interrupts, *, last_turn: int
    ) -> None:
        self._session_api = session_api
        self._fence = fence
        self._interrupts = interrupts
        self._last_turn = last_turn
        self._seen: set[int] = set()
        self._unread: list[str] = []

    def take(self, turn: int) -> list[str]:
        """What the model is to read before this turn. Raises Interrupted or SessionApiGone."""
        self._look(turn)
        unread, self._unread = self._unread, []
        return unread

    def holds_up(self, turn: int) -> bool:
        """Whether a session that is about to end has something to read first, and a turn left for it. Raises SessionApiGone."""
        if turn >= self._last_turn:
            return False
        try:
            self._look(turn)
        except Interrupted:
            return False  # it had ended by itself before it was told to
        return bool(self._unread)

    def _look(self, turn: int) -> None:
        """Take what was said since, which tells whoever said it."""
        taken: tuple[int, ...] = ()
        with self._interrupts.waiting():
            while found := [item for item in self._ask(turn, taken) if item.id not in self._seen]:
                self._unread += [message_text(item, self._fence) for item in found]
                taken = tuple(item.id for item in found)
                self._seen.update(taken)

    def _ask(self, turn: int, taken: tuple[int, ...]) -> list[Message]:
        body = encode(MessagesTaken(turn=turn, taken=taken))
        try:
            return list(decode(Messages, self._session_api.post(MESSAGES_PATH, body).body).messages)
        except SessionApiRefused:
            return []  # a session that is over learns it from its next call to the model
