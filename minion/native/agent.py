"""The loop: ask the model, do what it asks for, until it submits or a limit ends it. Every ending is a Report.

A turn is one reply of the model, and puts exactly one assistant message into the conversation. Whatever the
ending, the work so far is pushed first.
"""

import threading

from minion.discipline import GIVE_RESULT
from minion.errors import Interrupted, ModelFailed, OutOfBudget, SessionApiRefused, ToolError
from minion.heartbeat import Heartbeat
from minion.native.asking import FRUITLESS_REPLIES, next_reply
from minion.native.conversation import Conversation, bounded
from minion.native.ending import interrupted, no_result, stopped, submitted
from minion.native.mailbox import NOT_ENDED, Mailbox
from minion.native.model import Flaw, Model, Reply, ToolCall
from minion.protocol import Outcome, Report
from minion.session import Session
from minion.tools.registry import perform
from minion.tools.tool import Submission

RESCUE_EVERY_TURNS = 10
WARNED_TURNS = 5

_NUDGES = {
    Flaw.NONE: "You called no tool. Go on with the task, or end it with task_complete or task_blocked.",
    Flaw.EMPTY: "Your reply was empty. Go on with a tool call, or end with task_complete or task_blocked.",
    Flaw.CUT_OFF: "Your reply was cut off at the output limit. Work in smaller steps, with tool calls.",
    Flaw.REFUSED: "You declined to reply. If the task cannot be done, say why with task_blocked; else go on.",
}
_DISCIPLINE_NUDGES = {
    Flaw.NONE: "You called no tool. Go on with the work, or end it with give_result.",
    Flaw.EMPTY: "Your reply was empty. Go on with a tool call, or end with give_result.",
    Flaw.CUT_OFF: "Your reply was cut off at the output limit. Work in smaller steps, with tool calls.",
    Flaw.REFUSED: "You declined to reply. If it cannot be done, say why with give_result, status error; else go on.",
}


class Agent:
    """One session's run through the loop."""

    def __init__(
        self, session: Session, model: Model, conversation: Conversation, beat: Heartbeat, mailbox: Mailbox
    ) -> None:
        self._session = session
        self._model = model
        self._conversation = conversation
        self._beat = beat
        self._mailbox = mailbox
        self._fruitless = 0
        self._failed_turns = 0

    def run(self) -> Report:
        """Work to an ending. Raises SessionApiGone when there is nobody left to report to."""
        try:
            return self._turns()
        except OutOfBudget:
            return self._stopped(Outcome.OUT_OF_BUDGET, "", "The session's budget is spent.")
        except Interrupted as stop:
            return interrupted(self._session, self._beat, stop)
        except (SessionApiRefused, ModelFailed) as error:
            return self._stopped(Outcome.ERROR, "model", str(error))

    def _turns(self) -> Report:
        limits = self._session.brief.limits
        for turn in range(1, limits.turns + 1):
            self._session.turn = turn
            if turn > 1 and turn % RESCUE_EVERY_TURNS == 1:
                self._push_rescue(turn - 1)
            for text in self._mailbox.take(turn):
                self._conversation.add("user", text)
            reply = next_reply(self._model, self._conversation, turn, self._session.interrupts.waiting)
            with self._session.interrupts.waiting():
                self._session.workspace.wait()
            self._conversation.add_message(reply.message)
            if not reply.calls:
                if (submission := self._said(reply)) is not None:
                    return submitted(self._session, self._beat, submission)
            elif (submission := self._do(reply)) is not None:
                return submitted(self._session, self._beat, submission)
            if self._fruitless == FRUITLESS_REPLIES:
                return self._given_up(reply)
            if self._failed_turns >= limits.tool_errors:
                summary = f"In {self._failed_turns} turns in a row every tool call failed."
                return self._stopped(Outcome.ERROR, "tool_errors", summary)
        return self._stopped(Outcome.ERROR, "turn_limit", f"The limit of {limits.turns} turns was reached.")

    def _said(self, reply: Reply) -> Submission | None:
        """A reply without a call: one of a discipline may be its result in words; any other is told how to go on."""
        told = self._nudge(reply.flaw)
        if self._session.brief.discipline is not None and reply.flaw is Flaw.NONE:
            from minion.tools.discipline import said_result  # few sessions are of a discipline

            said = said_result(self._session, reply.text)
            if isinstance(said, Submission):
                if not self._mailbox.holds_up(self._session.turn):
                    return said
                said = NOT_ENDED
            told = said or told
        self._fruitless += 1
        self._conversation.add("user", told)
        self._beat.progress(self._session.turn, reply.text or f"({reply.flaw})")
        return None

    def _nudge(self, flaw: Flaw) -> str:
        if self._session.brief.discipline is not None:
            return _DISCIPLINE_NUDGES[flaw]
        return _NUDGES[flaw].replace("task_complete", self._session.ending)

    def _given_up(self, reply: Reply) -> Report:
        last = reply.flaw or "text"
        if self._session.brief.discipline is not None:
            return self._stopped(Outcome.ERROR, "no_work", no_result(reply.text or f"({last})"))
        summary = f"{FRUITLESS_REPLIES} replies in a row called no tool (last: {last})."
        return self._stopped(Outcome.ERROR, "model", summary)

    def _do(self, reply: Reply) -> Submission | None:
        """Make every call of a reply, in order; a submission after a call that failed is not taken."""
        self._fruitless = 0
        self._beat.progress(self._session.turn, reply.in_words)
        failed = 0
        for number, call in enumerate(reply.calls, 1):
            try:
                with self._beat.timing(self._session.turn, call.name):
                    result = self._perform(call, after_failure=failed > 0)
            except ToolError as error:
                failed += 1
                result = f"Error: {error}"
            if isinstance(result, Submission):
                if not self._mailbox.holds_up(self._session.turn):
                    return result
                result = NOT_ENDED
            if number == len(reply.calls):
                result += self._warning()
            content = bounded(result, self._session.brief.limits.output_chars)
            self._conversation.add("tool", content, tool_call_id=call.id)
        self._failed_turns = self._failed_turns + 1 if failed == len(reply.calls) else 0
        return None

    def _perform(self, call: ToolCall, *, after_failure: bool) -> str | Submission:
        if after_failure and call.name in ("task_complete", "give_answer", GIVE_RESULT):
            raise ToolError(f"{call.name} was not taken: another call of the same reply failed.")
        return perform(self._session, call)

    def _warning(self) -> str:
        left = self._session.brief.limits.turns - self._session.turn
        return f"\n[{left} turns left: finish, or say why not]" if left == WARNED_TURNS else ""

    def _stopped(self, outcome: Outcome, reason: str, summary: str) -> Report:
        return stopped(self._session, self._beat, outcome, reason, summary)

    def _push_rescue(self, turn: int) -> None:
        """Push work in progress while the model thinks, so that it costs the loop nothing."""
        message = f"Work in progress, turn {turn}"
        target = self._session.workspace.rescue
        threading.Thread(target=target, args=(message,), name="rescue", daemon=True).start()
