"""A verb: what a person can have done, declared once. Terminal, chat and comments are derived from its declaration.

Each verb is one module of `verbs/declared/`: the module's name is the verb's, its docstring is its help, `VERB` its declaration.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from minion.protocol import Issue
from overlord.command_ref import CommandRef, Hint, Word, hint, with_hint
from overlord.domain.conversation.argument import SkillRef, Typed
from overlord.domain.decision import ApprovalKind, ApprovalRef, Decision
from overlord.domain.interface import Interface
from overlord.domain.job import Job
from overlord.domain.person import Person
from overlord.domain.text.reference import IssueRef, Target, space_named
from overlord.errors import NotFound, Refused
from overlord.failpoints import Failpoint
from overlord.queries.look import Look
from overlord.store import decisions, jobs, ledger
from overlord.store.portfolio import initiatives, tasks
from overlord.store.skills import skills
from overlord.verbs.right import HIGHEST, NotAllowed, Right

if TYPE_CHECKING:
    from overlord.domain.contracts.contract import Contract


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentPlace:
    """Where a comment stands, and what there is of it."""

    space: str
    number: int
    comment_id: int
    written_at: datetime
    live: Job | None
    """The open job of the issue or pull request."""
    issue: Issue | None = None
    """What there is to work on, where work is asked for and the issue is open."""
    base_branch: str = ""
    is_mention: bool = False
    """Whether its words are a message that mentions Overlord, and no command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Look):
    """One command in one transaction: who gives it, where, and what it can look at."""

    contract: Callable[[str], "Contract"]
    """The contract of a repository."""
    interface: Interface
    actor: str = ""
    """Who gives it, as the ledger names them: `cli:alice`, `slack:U123`, `github:alice`."""
    by: Person | None = None
    """The same, where the interface knows people: a comment's author is an account."""
    digest: str | None = None
    """That of what the person was shown; without one, what stands now counts as shown."""
    comment: CommentPlace | None = None

    @property
    def here(self) -> IssueRef | None:
        return IssueRef(number=self.comment.number, space=self.comment.space) if self.comment else None

    @property
    def person(self) -> Person:
        """Raises NotAllowed for a comment."""
        if self.by is None:
            raise NotAllowed("only an approver decides that: in the chat, or on the command line")
        return self.by

    def job(self, target: Target | None) -> Job:
        """The job that is meant; in a comment, the open one of its issue. Raises NotFound, Refused."""
        if target is not None:
            return jobs.meant(self.connection, target)
        if self.comment is None or self.comment.live is None:
            number = self.comment.number if self.comment is not None else 0
            raise Refused(f"no job works on #{number} now")
        return self.comment.live

    def issue(self, target: IssueRef | None) -> tuple[str, int]:
        """Repository and number of the issue that is meant. Raises NotFound, Refused."""
        if target is None:
            assert self.comment is not None, "elsewhere an issue is typed"
            return self.comment.space, self.comment.number
        return space_named(target.space, self.settings.repositories), target.number

    def skill_space(self, skill: SkillRef) -> str:
        """The repository that is named, or the one whose base has a skill of that name. Raises Refused, NotFound."""
        if skill.space is not None:
            return self.space(skill.space)
        found = skills.spaces_with(self.connection, skill.name)
        if len(found) > 1:
            raise Refused(
                f"several repositories have a skill of that name: {' and '.join(found)}; name one before it"
            )
        if not found:
            raise NotFound(
                "no repository has a skill of that name",
                hint=hint(CommandRef("skills"), " shows those that were seen"),
            )
        return found[0]

    def decision(self, ref: ApprovalRef | None) -> Decision:
        """As elsewhere; in a comment that names none, the one its job waits for since before it was written. Raises NotFound, Refused."""
        if self.comment is None:
            assert ref is not None, "elsewhere a decision is typed"
            return decisions.meant(self.connection, ref)
        if ref is not None and ref.kind is not ApprovalKind.DECISION:
            return decisions.meant(self.connection, ref)
        job = self.job(None)
        asked = decisions.waiting(self.connection, job.id)
        if ref is not None:
            if not any(item.id == ref.number for item in asked):
                raise Refused(f"job {job.id} waits for no decision {ref.number} now")
            return decisions.get(self.connection, ref.number)
        shown = [item for item in asked if item.created_at.replace(microsecond=0) <= self.comment.written_at]
        if len(shown) != 1:
            if not asked:
                raise Refused("nothing waits for an answer")
            ways = [part for item in asked for part in (" or ", CommandRef("answer", (item.ref.label, "…")))]
            raise Refused("say which decision that answers", hint=hint(*ways[1:]))
        return shown[0]

    def approval_space(self, ref: ApprovalRef | None) -> str:
        """The repository that a decision, proposal or draft is about. Raises NotFound, Refused."""
        return self.decision_space(self.decision(ref))

    def check_eyes(self, job_id: int) -> None:
        """Raises NotAllowed where four eyes are asked for and somebody would allow what their own work asks: a job's, or that of the
        initiative it is of, whose jobs nobody asks for one by one. The operator of the machine is asked by nobody."""
        job = jobs.get(self.connection, job_id)
        task = tasks.of_job(self.connection, job_id)
        of = (
            initiatives.get(self.connection, task.initiative_id)
            if task is not None
            else initiatives.of_job(self.connection, job_id)
        )
        asked = {ledger.asked_for_by(self.connection, job_id)}
        asked |= {task.created_by} if task is not None else set()
        asked |= {of.actor} if of is not None else set()
        self.check_eyes_of(job.space, asked)

    def check_eyes_of(self, space: str, asked: Collection[str]) -> None:
        """The same, where these asked for it."""
        if self.interface is Interface.TERMINAL:
            return
        if self.settings.space(space).four_eyes and self.actor in asked:
            raise NotAllowed("You asked for this work, so somebody else is to approve it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What was done, in a sentence; and what is still to be waited for."""

    text: str
    """Empty where a card or a reaction shows it."""
    hint: Hint | None = None
    """What can be done next."""
    work_request_id: int | None = None
    """What still needs an answer of the forge."""
    message_id: int | None = None
    """What was said to a job, where its session is still to read it."""
    issue_request_id: int | None = None
    """The issue that is asked for, where it is still to be opened."""
    is_refused: bool = False
    """Whether it was not done, and what was given is kept nevertheless."""
    needs_reply: bool = False
    """Whether whoever gave the verb has to read the text, also where a reaction shows that it was done."""
    secret: str = field(default="", repr=False)
    """What is shown to whoever gave it, this once, and written down nowhere: the text does not hold it."""

    def worded(self, word: Word) -> str:
        """All of it, as an interface says it."""
        said = with_hint(self.text, self.hint, word)
        return f"{said.rstrip('.')}." if self.hint is not None else said


_NOT_THERE = {
    Interface.COMMENT: "a comment shows only who may write",
    Interface.CHAT: "for whoever operates the machine, which the chat does not show",
}
"""Why nobody may do there what needs more than the place can show of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """The declaration of a verb."""

    arguments: type
    """A frozen record; each field says its kind with `argument()`."""
    act: Callable[[Context, Any], Done]
    """Does it in one transaction. Raises NotFound, Refused."""
    space: Callable[[Context, Any], str]
    """The repository it is about, whose approvers may give it; empty for everything. Raises NotFound, Refused."""
    right: Right
    usage: str
    """How it is typed in the chat, with an example: `stop #42`."""
    means: str
    """What it does, after its usage."""
    comment_usage: str = ""
    """The same in a comment; without it, the usage without the job, which the comment stands at."""
    confirm: str = ""
    """What whoever presses a button for it is told before it counts; empty where a press is enough."""
    position: int
    """Its place in lists."""
    failpoint: Failpoint
    """Where a command line can be stopped between its fact and what follows."""
    failpoint_of: Callable[[Any], Failpoint] | None = None
    """The same, where that depends on its arguments."""
    is_delivered: bool = False
    """Whether its words reach a session by themselves."""
    opens_issue: bool = False
    """Whether it has an issue opened in whose words it is given. In a comment these go on below its line, and it is written as
    `/overlord` alone: its name begins ordinary sentences."""
    terminal: str = ""
    """How the command line calls it, where that is not its name: `skills retire`."""
    mcp: str = ""
    """How MCP calls it, where that is not its name."""
    is_destructive: bool = False
    """Whether it ends something for good: clients of MCP ask their person before it."""
    makes_new: bool = False
    """Whether it makes one thing more each time it is given: a message, an issue."""
    wait_s: float = 0.0
    """How long a command line waits for what comes of it, where that is not known at once."""
    has_runs: bool = True
    """Whether it is about a repository's local runs too (`--repo`)."""
    gaps: Mapping[Interface, str] = field(default_factory=dict)
    """Interfaces that leave it out, each with why."""

    def gap(self, interface: Interface) -> str:
        """Why an interface leaves it out; empty where it does not."""
        if HIGHEST[interface] < self.right:
            return _NOT_THERE[interface]
        return self.gaps.get(interface, "")

    def typed(self, name: str, interface: Interface) -> Typed:
        """How it is typed there."""
        is_comment = interface is Interface.COMMENT
        usage = self.usage
        if is_comment:
            usage = self.comment_usage or re.sub(r" (?:on )?(?:#42|5)(?= |$)", "", usage)
        return Typed(name=name, usage=usage, is_comment=is_comment)
