"""What an agent's end means: its prompts in a loop until there is a report.

A program's exit says little: one ends with 0 though its model never answered, another with 1 after good work. So these count, in
this order: a tool of the session's own that ended it; a sentinel line among its words; limits and a spent budget; its exit; and,
where all that says "done", what lies in the working copy. What is doubtful is asked about once, in one more prompt. The work so far
is saved whatever the end, and the judge decides on it.
"""

from dataclasses import replace

from minion.agents.agent import Attempt, Conversation, Stopped
from minion.agents.sentinel import Sentinel, SentinelKind, sentinels, without_sentinels
from minion.agents.session_tools.server import ToolsServer
from minion.agents.surroundings import Surroundings
from minion.errors import (
    AgentFailed,
    GitFailed,
    Interrupted,
    OutOfBudget,
    SessionApiRefused,
    ToolError,
)
from minion.native.ending import interrupted, no_result, stopped, submitted
from minion.native.mailbox import NOT_ENDED, Mailbox
from minion.native.prompt import fenced
from minion.protocol import Bootstrap, Outcome, Report
from minion.tools.ask import ask_question
from minion.tools.submit import needs_change, outside_scope
from minion.tools.tool import Submission

MOST_PROMPTS = 20
LONGEST_SUMMARY = 8_000
LAST_WORDS = 4_000
_GO_ON = "Go on with the task, and end the session as you were told."


class AgentSession:
    """One session of an agent, from its first prompt to its report."""

    def __init__(
        self,
        around: Surroundings,
        conversation: Conversation,
        mailbox: Mailbox,
        tools: ToolsServer | None,
        fence: str,
    ) -> None:
        """`tools` are the session's own, where the agent has them."""
        self._around = around
        self._session = around.session
        self._conversation = conversation
        self._beat = around.beat
        self._mailbox = mailbox
        self._tools = tools
        self._fence = fence
        self._doubted: set[str] = set()
        """What it was asked about once."""
        self._scope = around.session.territory.scope
        """What its permissions were made from for this prompt."""

    def run(self, mission: str) -> Report:
        """Work to an ending. Raises GitFailed when there is no working copy, SessionApiGone when there is nobody to report to."""
        try:
            with self._session.interrupts.waiting():
                self._session.workspace.wait()
            return self._converse(mission)
        except Interrupted as stop:
            self._conversation.close()
            return interrupted(self._session, self._beat, stop)
        except OutOfBudget:
            return self._stopped(Outcome.OUT_OF_BUDGET, "", "The session's budget is spent.")
        except AgentFailed as error:
            return self._stopped(Outcome.ERROR, "agent", str(error))
        except SessionApiRefused as error:
            return self._stopped(Outcome.ERROR, "model", str(error))
        finally:
            self._conversation.close()

    def _converse(self, mission: str) -> Report:
        prompt = mission
        for _ in range(MOST_PROMPTS):
            self._scope = self._session.territory.scope
            attempt = self._conversation.ask(prompt)
            told = self._judge(attempt)
            if isinstance(told, Report):
                return told
            self._around.teller.log(f"The agent is given another prompt: {told[:300]}")
            prompt = self._next_prompt(mission, attempt, told)
        return self._stopped(Outcome.ERROR, "agent", f"It came to no end in {MOST_PROMPTS} prompts.")

    def _next_prompt(self, mission: str, attempt: Attempt, told: str) -> str:
        """What it is told next: no more than that where it knows the rest, else all of it with what it said."""
        if self._conversation.capabilities.resume and attempt.conversation:
            return told
        words = fenced(self._fence, "your last words", attempt.text, LAST_WORDS)
        return (
            f"{mission}\n\nYou have worked on this before: what you changed is in the working copy, and you ended with these "
            f"words.\n\n{words}\n\n{told}"
        )

    def _judge(self, attempt: Attempt) -> Report | str:
        """What a prompt's end means: the report, or what the agent is told next."""
        if self._tools is not None and (submission := self._tools.submission) is not None:
            if held := self._messages():
                self._tools.resume()
                return held
            return submitted(self._session, self._beat, submission)
        if self._session.brief.discipline is not None:
            return self._result(attempt)
        found = attempt.sentinel or next(reversed(list(sentinels(attempt.text))), None)
        if found is not None and found.kind is not SentinelKind.QUESTION:
            return self._said(found)
        if (report := self._cut_short(attempt)) is not None:
            return report
        if found is not None:
            return self._asked(found)
        return self._widened() or self._finished(without_sentinels(attempt.text))

    def _result(self, attempt: Attempt) -> Report | str:
        """What a prompt's end means in a session of a discipline: its result may be the last words."""
        from minion.tools.discipline import said_result  # few sessions are of a discipline

        said = said_result(self._session, attempt.text)
        if isinstance(said, Submission):
            return self._messages() or submitted(self._session, self._beat, said)
        if (report := self._cut_short(attempt)) is not None:
            return report
        told = said or "You ended without a result. Give it now, as you were told."
        return (
            self._messages()
            or self._once(f"result {said}", told)
            or self._stopped(Outcome.ERROR, "no_work", no_result(attempt.text))
        )

    def _said(self, found: Sentinel) -> Report | str:
        if found.kind is SentinelKind.PHASE_COMPLETE:
            return self._finished(found.text, found)
        if held := self._messages():
            return held
        words = f"{found.text}\n{found.more}".strip()
        if held := self._refusal(Outcome.BLOCKED, words):
            return held
        event = ""
        if (terms := self._session.brief.terms) is not None:
            from minion.tools.contract_tools import NEEDS_ESCALATION  # most sessions have no contract's terms

            wished = found.event or found.kind.lower()
            event = wished if wished in terms.events else NEEDS_ESCALATION
        return submitted(
            self._session, self._beat, Submission(outcome=Outcome.BLOCKED, summary=words, event=event)
        )

    def _cut_short(self, attempt: Attempt) -> Report | None:
        """The report of an end that is none of the agent's own."""
        limits, status = self._session.brief.limits, self._around.traffic.model_status
        failed = attempt.failed or attempt.exit_code not in (0, None) or attempt.stopped is Stopped.SILENT
        if attempt.stopped is Stopped.TURNS or (failed and self._session.turn >= limits.turns):
            self._session.turn = min(self._session.turn, limits.turns)
            return self._stopped(
                Outcome.ERROR, "turn_limit", f"The limit of {limits.turns} turns was reached."
            )
        if status == 402:
            return self._stopped(Outcome.OUT_OF_BUDGET, "", "The session's budget is spent.")
        name = self._session.brief.agent.name
        if attempt.stopped is Stopped.SILENT:
            words = f"Nothing was seen of {name} for {limits.silent_s} s, so it was ended. {attempt.error}"
            return self._stopped(Outcome.ERROR, "agent", words.strip())
        if failed:
            how = f" with exit code {attempt.exit_code}" if attempt.exit_code else ""
            words = f"{name} failed{how}: {attempt.error or attempt.text or 'it did not say why'}"
            return self._stopped(Outcome.ERROR, "model" if status >= 400 else "agent", words)
        return None

    def _asked(self, found: Sentinel) -> str:
        try:
            answer = ask_question(
                self._session,
                question=found.text,
                options=found.options,
                kind=found.question_kind,
                patterns=found.patterns,
            )
        except ToolError as error:
            answer = f"Your question was not asked: {error}"
        return f"{answer}\n{_GO_ON}"

    def _widened(self) -> str:
        """What it is told whose scope was widened in its last prompt: its own permissions are wider with the next."""
        scope, turns_left = (
            self._session.territory.scope,
            self._session.turn < self._session.brief.limits.turns,
        )
        return (
            f"You may now write: {scope.describe()}. {_GO_ON}" if scope != self._scope and turns_left else ""
        )

    def _finished(self, summary: str, found: Sentinel | None = None) -> Report | str:
        """An agent that says it is done, by a sentinel line (`found`) or by leaving in good order."""
        if told := self._unanswered(summary) or self._messages():
            return told
        outcome = found.outcome if found is not None else ""
        if told := self._outcome_doubt(outcome):
            return told
        try:
            tree = self._session.workspace.snapshot()
            changed = self._session.workspace.changed(tree)
            lists = () if found is None else (found.learnings, found.follow_ups)
            if told := self._doubt(changed, outcome or "done", found) or self._refusal(
                Outcome.COMPLETE, summary, *lists
            ):
                return told
            self._session.workspace.save(summary or "The work of the agent", tree)
        except GitFailed as error:
            words = f"The work could not be committed and pushed: {error}"
            return self._once("git", f"{words} {_GO_ON}") or self._stopped(Outcome.ERROR, "agent", words)
        made = Submission(
            outcome=Outcome.COMPLETE, summary=summary[:LONGEST_SUMMARY], result=outcome or "done"
        )
        if found is not None:
            made = replace(
                made, replies=found.replies, learnings=found.learnings, follow_ups=found.follow_ups
            )
        return submitted(self._session, self._beat, made)

    def _refusal(self, outcome: Outcome, summary: str, *lists: tuple[str, ...]) -> str:
        """Why a session of the portfolio may not end yet. An agent without tools could not do what it is told, and is not asked."""
        if self._session.brief.portfolio is None or self._tools is None:
            return ""
        from minion.tools.stopping import refusal  # few sessions are of the portfolio

        return refusal(self._session, outcome, summary[:LONGEST_SUMMARY], *lists)

    def _unanswered(self, summary: str) -> Report | str:
        """A consultation is answered by its tool and by nothing else."""
        terms = self._session.brief.terms
        if terms is None or terms.consultation is None:
            return ""
        told = "You ended without an answer. Give it with give_answer, a tool of the MCP server overlord."
        return self._once("answer", told) or self._stopped(
            Outcome.ERROR, "no_work", f"It ended without an answer: {summary}"
        )

    def _outcome_doubt(self, outcome: str) -> Report | str:
        terms = self._session.brief.terms
        known = ("done",) if terms is None else terms.outcomes
        if (outcome or "done") in known:
            return ""
        listed = ", ".join(known)
        told = f'Say how the work of this phase ended: PHASE_COMPLETE needs an "outcome", one of {listed}.'
        return self._once("outcome", told) or self._stopped(
            Outcome.ERROR,
            "agent",
            f"It ended its phase with the outcome {outcome[:100]!r}, which is none of {listed}.",
        )

    def _doubt(self, changed: tuple[str, ...], outcome: str, found: Sentinel | None) -> Report | str:
        """What an evaluator would certainly send back, asked about once."""
        terms = self._session.brief.terms
        if (
            terms is not None
            and terms.bootstrap is Bootstrap.CONTRACT
            and not self._session.is_contract_settled
        ):
            told = "No contract was proposed, or the last one is not valid. Mend its problems with propose_contract."
            if told := self._once("contract", told):
                return told
        if not changed and outcome == "done" and needs_change(terms):
            told = (
                "Nothing has changed: no file of the repository is other than it was. Do the task, or say why it cannot be done with "
                "NEEDS_ESCALATION. If no change is right, say why with PHASE_COMPLETE."
            )
            if told := self._once("unchanged", told):
                return told
            if found is None:
                return self._no_work()
        outside = outside_scope(self._session, changed)
        if outside and (
            told := self._once("outside", f"{outside} If this is as it should be, end once more.")
        ):
            return told
        return ""

    def _no_work(self) -> Report:
        words = f"{self._session.brief.agent.name} ended twice without a change, and gave no reason in a way that counts."
        return self._stopped(Outcome.ERROR, "no_work", words)

    def _once(self, name: str, told: str) -> str:
        """What it is told the first time; nothing the second, and where no turn is left for it."""
        if name in self._doubted or self._session.turn >= self._session.brief.limits.turns:
            return ""
        self._doubted.add(name)
        return told

    def _messages(self) -> str:
        """What people have written meanwhile, which has to be read before the session ends."""
        turn = self._session.turn
        if not self._mailbox.holds_up(turn):
            return ""
        return "\n\n".join((NOT_ENDED, *self._mailbox.take(turn)))

    def _stopped(self, outcome: Outcome, reason: str, summary: str) -> Report:
        self._conversation.close()
        return stopped(self._session, self._beat, outcome, reason, summary[:LONGEST_SUMMARY])
