"""What an agent says while it answers one prompt: words that come in pieces, what it does, and how it ends."""

from dataclasses import dataclass, field

from minion.agents.acp.requests import Requests
from minion.agents.acp.wire import Message
from minion.agents.agent import Said, SaidKind, Stopped
from minion.agents.drive import Words
from minion.agents.surroundings import Surroundings

MOST_REMINDED = 10
_LONGEST_LINE = 64 * 1024
_ENDS = {
    "max_tokens": "Its reply was longer than its model allows.",
    "max_turn_requests": "It stopped after as many requests to its model as it allows itself.",
    "refusal": "The agent refused to go on.",
}


@dataclass(slots=True)
class Turn:
    """How one prompt stands."""

    around: Surroundings
    words: Words = field(default_factory=Words)
    error: str = ""
    ended: str = ""
    """The protocol's word for how it ended."""
    stopped: Stopped | None = None
    leaves_at: float | None = None
    """By when it is to be over."""
    is_quiet: bool = False
    """It has said nothing since a call of its was refused."""
    _line: str = ""

    @property
    def is_decided(self) -> bool:
        """Whether a tool or a sentinel line has ended the session."""
        return self.around.is_decided() or self.words.sentinel is not None

    @property
    def needs_reminder(self) -> bool:
        """Whether it stopped only because a call was refused: some agents end their turn with that."""
        return self.is_quiet and self.ended == "end_turn" and self.stopped is None and not self.is_decided

    def update(self, update: Message, requests: Requests) -> None:
        """Take in what it tells of its turn."""
        kind, content = update.get("sessionUpdate"), update.get("content")
        if kind == "agent_message_chunk" and isinstance(content, dict):
            if isinstance(text := content.get("text"), str):
                self._speak(text)
        elif kind in ("tool_call", "tool_call_update"):
            self.end_words()
            if requests.remember(update):
                self.tell(SaidKind.ACTION, f"{update.get('kind', '')} {update.get('title', '')}".strip())
        elif kind == "plan":
            self.end_words()

    def refuse(self, why: str) -> None:
        """A call was refused."""
        self.end_words()
        self.tell(SaidKind.ACTION, f"refused: {why}")
        self.is_quiet = True

    def end(self, answer: Message) -> None:
        """Take in the answer to the prompt."""
        self.end_words()
        error, result = answer.get("error"), answer.get("result")
        if isinstance(error, dict):
            self.error = _error_text(error)
        elif isinstance(result, dict) and isinstance(result.get("stopReason"), str):
            self.ended = result["stopReason"][:100]
            self.error = _ENDS.get(self.ended, "")
        else:
            self.error = "It ended its turn in a way that the protocol does not know."

    def end_words(self) -> None:
        """It does something else than speak: what it says next are new words."""
        if self._line:
            self.tell(SaidKind.TEXT, self._line)
            self._line = ""
        self.words.end_run()
        for refused in self.words.refused:
            self.around.teller.log(refused)
        self.words.refused.clear()

    def tell(self, kind: SaidKind, text: str) -> None:
        """Tell people."""
        self.around.teller.tell(self.around.session.turn, Said(kind=kind, text=text[:_LONGEST_LINE]))

    def _speak(self, text: str) -> None:
        self.is_quiet = False
        self.words.add(text, is_partial=True)
        *lines, self._line = (self._line + text)[-_LONGEST_LINE:].split("\n")
        for line in lines:
            self.tell(SaidKind.TEXT, line)


def reminder(refused: list[str]) -> str:
    """What it is told so that it goes on after a refused call."""
    lines = "\n".join(f"- {why}" for why in dict.fromkeys(refused[-MOST_REMINDED:]))
    return (
        f"A call was refused, and was not run:\n{lines}\nGo on with your task within what you may do. "
        "If it cannot be done that way, ask, or say that you cannot go on."
    )


def _error_text(error: Message) -> str:
    more = error.get("data")
    text = f"{error.get('message', '')} {more if isinstance(more, str | dict) else ''}".strip()
    return (text or "It says that it failed, and not why.")[:4000]
