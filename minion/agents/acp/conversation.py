"""A conversation over the Agent Client Protocol: one program for all prompts of a session, which asks before it does anything.

What it asks is judged before it runs (`requests.py`). It is started, watched and bounded as every agent's program is. A turn that
has to end is stopped by the protocol first, so that another prompt can follow, and by ending the program where that does nothing.
"""

import time

from minion.agents.acp.requests import Requests
from minion.agents.acp.start import begin
from minion.agents.acp.turn import Turn, reminder
from minion.agents.acp.wire import Message, RequestRefused, Wire, WireClosed
from minion.agents.agent import Attempt, Capabilities, SaidKind, Stopped
from minion.agents.drive import LEAVE_S
from minion.agents.surroundings import Surroundings
from minion.errors import Interrupted

STOP_S = 5.0
"""How long a program may take to end a turn that it was told to stop."""
MOST_REMINDERS = 5
"""How often a turn that a refused call ended is gone on with."""


class AcpConversation:
    """The conversation with one agent."""

    capabilities = Capabilities(
        structured_events=True, permission_before_call=True, usage=False, resume=True, mcp=True
    )

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._wire: Wire | None = None
        self._session = ""
        self._requests: Requests

    def ask(self, prompt: str) -> Attempt:
        """Give it a prompt and see it to its end. Raises AgentFailed and Interrupted."""
        texts, given, turn = [prompt], self._around.given(), Turn(self._around)
        if self._wire is None or self._wire.program.has_ended:
            self.close()
            self._wire, self._session, self._requests = begin(self._around)
            turn.tell(SaidKind.SESSION, self._session)
            texts = [given.rules, prompt]
        wire, code = self._wire, None
        self._requests.hold(given)
        try:
            for _ in range(MOST_REMINDERS + 1):
                self._requests.refused.clear()
                self._follow(wire, texts, turn)
                if not turn.needs_reminder:
                    break
                texts = [reminder(self._requests.refused)]
        except WireClosed:
            code = self._lost(wire, turn)
        except Interrupted:
            wire.notify("session/cancel", {"sessionId": self._session})
            raise
        turn.tell(SaidKind.RESULT, turn.ended or turn.error)
        return Attempt(
            exit_code=code,
            stopped=turn.stopped,
            text=turn.words.text,
            error=turn.error,
            failed=bool(turn.error),
            conversation=self._session,
            sentinel=turn.words.sentinel,
        )

    def close(self) -> None:
        """End the program where it still runs."""
        self._end()

    def _follow(self, wire: Wire, texts: list[str], turn: Turn) -> None:
        """One prompt to its end. Raises WireClosed when the program is gone, or has to be ended."""
        session, traffic = self._around.session, self._around.traffic
        before, requests, most = session.turn, traffic.model_requests, session.brief.limits.turns
        blocks = [{"type": "text", "text": text} for text in texts if text]
        turn.is_quiet, turn.leaves_at, turn.ended = False, None, ""
        wire.health.note_active()
        number = wire.request("session/prompt", {"sessionId": self._session, "prompt": blocks})
        while True:
            message = wire.receive()
            session.turn = min(before + traffic.model_requests - requests, most + 1)
            if message is not None and "method" not in message and message.get("id") == number:
                return turn.end(message)
            if message is not None:
                self._hear(wire, message, turn)
            self._watch(wire, turn)
            self._around.tick()

    def _watch(self, wire: Wire, turn: Turn) -> None:
        """Tell it to stop where it has to, and end it where it does not."""
        session, now = self._around.session, time.monotonic()
        if turn.is_decided and turn.leaves_at is None:
            turn.leaves_at = now + LEAVE_S
        is_late = turn.leaves_at is not None and now > turn.leaves_at
        if turn.stopped is not None:
            if is_late:
                raise WireClosed
            return
        if session.turn > session.brief.limits.turns:
            turn.stopped = Stopped.TURNS
        elif is_late:
            turn.stopped = Stopped.DECIDED
        elif wire.health.is_silent():
            turn.stopped = Stopped.SILENT
        if turn.stopped is not None:
            turn.leaves_at = now + STOP_S
            wire.notify("session/cancel", {"sessionId": self._session})

    def _hear(self, wire: Wire, message: Message, turn: Turn) -> None:
        method, params = message.get("method"), message.get("params")
        params = params if isinstance(params, dict) else {}
        if not isinstance(method, str):
            return
        if "id" not in message:
            update = params.get("update")
            if method == "session/update" and isinstance(update, dict):
                turn.update(update, self._requests)
            return
        refused_before = len(self._requests.refused)
        try:
            wire.answer(message["id"], self._requests.answer(method, params))
        except RequestRefused as refused:
            wire.refuse(message["id"], refused.code, str(refused))
        for why in self._requests.refused[refused_before:]:
            turn.refuse(why)

    def _lost(self, wire: Wire, turn: Turn) -> int | None:
        """The program is gone, or has to be."""
        turn.end_words()
        code = self._end()
        if turn.stopped is None:
            turn.error = wire.last_errors or "Its program ended in the middle of a turn."
        return code

    def _end(self) -> int | None:
        wire, self._wire = self._wire, None
        if wire is None:
            return None
        with self._around.quiet():
            return wire.program.end()
