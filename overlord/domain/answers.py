"""The answers of a decision: what the button of each says, and what comes of it."""

from collections.abc import Mapping

from overlord.domain.decision import SCOPE_GRANT_LIFETIME, Subject, Verb

_LABELS = {
    Verb.RETRY: "Try again",
    Verb.ONE_MORE: "One more revision",
    Verb.INSTALL: "Install and check",
    Verb.TAKE_OVER: "Take over",
    Verb.DROP: "Drop it",
    Verb.ADD_BUDGET: "Add budget",
    Verb.ONCE: "Allow once",
    Verb.GRANT: "Allow for this job",
    Verb.REFUSE: "Refuse",
    Verb.LIMIT: "Only these files",
    Verb.UNRESTRICTED: "Any file",
    Verb.ACCEPT: "Accept as it is",
    Verb.WITHOUT_TESTS: "Accept without tests",
    Verb.WRITE_TESTS: "Write tests first",
    Verb.RECHECK: "Check again",
    Verb.REDELIVER: "Deliver again",
    Verb.REPLY: "Reply",
    Verb.ADOPT: "Work on the new text",
    Verb.KEEP: "Go on with the old text",
    Verb.APPROVE: "Approve",
    Verb.REJECT: "Reject",
}


def label_of(verb: Verb) -> str:
    """What an answer is called."""
    return _LABELS[verb]


_LABELS_ABOUT: Mapping[tuple[Subject, Verb], str] = {
    (Subject.DISCOVERY, Verb.ACCEPT): "Accept what is proposed",
    (Subject.DISCOVERY, Verb.REPLY): "Answer",
    (Subject.ESCALATED, Verb.REPLY): "Answer",
    (Subject.ESCALATED, Verb.DROP): "Do without",
    (Subject.STALE_TASK, Verb.RETRY): "Still wanted",
    (Subject.TASK_ENDED, Verb.RETRY): "Begin again",
    (Subject.TASK_MERGED, Verb.ACCEPT): "It is done",
    (Subject.TASK_MERGED, Verb.ONE_MORE): "Begin again",
    (Subject.PLANNING_ENDED, Verb.RETRY): "Plan again",
    (Subject.CONFLICT, Verb.KEEP): "Keep both",
}
"""What is called otherwise there."""


def label_for(subject: Subject, verb: Verb) -> str:
    """What a button says, of what is asked about a subject."""
    return _LABELS_ABOUT.get((subject, verb), label_of(verb))


_CONSEQUENCES: Mapping[Verb, str] = {
    Verb.RETRY: "it is tried again, as things stand now",
    Verb.ONE_MORE: "another session gets the findings and revises the work",
    Verb.INSTALL: "the dependencies are installed, and the work is checked with them",
    Verb.TAKE_OVER: "the job ends, and the branch is yours to go on with",
    Verb.DROP: "the job ends; branch, pull request and evidence stay",
    Verb.ADD_BUDGET: "the job may spend so much more, and goes on",
    Verb.ONCE: "this session may write these paths, and no later one",
    Verb.GRANT: f"sessions of this job may write these paths, for {SCOPE_GRANT_LIFETIME.days} days",
    Verb.REFUSE: "the session goes on without it",
    Verb.LIMIT: "sessions may write what you name, and nothing else",
    Verb.UNRESTRICTED: "sessions may write any file that is not protected; it is asked again only if the issue's text changes",
    Verb.ACCEPT: "the work goes on as it is",
    Verb.WITHOUT_TESTS: "changes here pass without tests, until there are some",
    Verb.WRITE_TESTS: "changes here have to bring tests of their own",
    Verb.RECHECK: "the same work is checked again",
    Verb.REDELIVER: "the same work is pushed and proposed again",
    Verb.REPLY: "your words go to the session that reads them next",
    Verb.ADOPT: "sessions work on the text as it is now",
    Verb.KEEP: "sessions work on the text as it was",
    Verb.APPROVE: "an issue is opened for it and worked on; a skill is drafted first",
    Verb.REJECT: "it comes back only with twice the evidence",
}
_ABOUT: Mapping[tuple[Subject, Verb], str] = {
    (Subject.GATE, Verb.APPROVE): "the work goes on as its contract says",
    (Subject.GATE, Verb.REJECT): "the work goes back, and your words with it",
    (Subject.DISCOVERY, Verb.ACCEPT): "what is proposed counts as your answer to each of them",
    (Subject.DISCOVERY, Verb.REPLY): "your words are the answers; what you leave out is asked again",
    (
        Subject.ESCALATED,
        Verb.REPLY,
    ): "your words go to the session that asked; but for credentials, they are noted for those that ask the same",
    (Subject.ESCALATED, Verb.DROP): "the session goes on without an answer",
    (Subject.ESCALATED, Verb.APPROVE): "the session goes on as it proposes",
    (Subject.ESCALATED, Verb.REJECT): "the session does not do that; your words say what it does instead",
    (
        Subject.NOTE_PROMOTION,
        Verb.APPROVE,
    ): "the note counts in all repositories, and takes the place of both",
    (Subject.NOTE_PROMOTION, Verb.REJECT): "each counts in its own repository, as before",
    (Subject.INITIATIVE, Verb.APPROVE): "it is planned, and you are asked about the plan",
    (Subject.INITIATIVE, Verb.REJECT): "nobody works on it, and it is not proposed again",
    (Subject.DISCOVERED_TASK, Verb.APPROVE): "it is worked on as a task of its initiative",
    (Subject.DISCOVERED_TASK, Verb.REJECT): "nobody works on it",
    (
        Subject.STALE_TASK,
        Verb.RETRY,
    ): "it keeps its place, and you are asked again only once it has waited as long again",
    (Subject.STALE_TASK, Verb.DROP): "the task is cancelled",
    (Subject.TASK_ENDED, Verb.RETRY): "the task is begun again",
    (Subject.TASK_ENDED, Verb.DROP): "the task is cancelled; others go on",
    (Subject.TASK_MERGED, Verb.ACCEPT): "the task is done",
    (Subject.TASK_MERGED, Verb.ONE_MORE): "the task is begun again, for what is missing",
    (Subject.TASK_MERGED, Verb.DROP): "the task is cancelled; what was merged stays",
    (Subject.PLANNING_ENDED, Verb.RETRY): "another session plans it",
    (Subject.PLANNING_ENDED, Verb.DROP): "the initiative is cancelled",
    (Subject.CONFLICT, Verb.KEEP): "both stay as they are",
    (Subject.CONTRACT_INVALID, Verb.ONE_MORE): "the architect tries once more",
    (Subject.EXHAUSTED, Verb.APPROVE): "the role has as many sessions again",
    (Subject.SPACE_GONE, Verb.DROP): "every job of this repository ends",
    (Subject.SPACE_DOUBLED, Verb.DROP): "every job of this repository ends",
    (Subject.RESTING_PROPOSAL, Verb.APPROVE): "it is taken up again",
    (
        Subject.SKILL_DRAFT,
        Verb.APPROVE,
    ): "a Minion changes the one file, as it is shown, and a pull request waits",
    (Subject.SKILL_DRAFT, Verb.REJECT): "nothing is changed, and its proposal rests",
}
"""What is meant otherwise there."""


def consequence_of(subject: Subject, verb: Verb) -> str:
    """What comes of an answer, as a half sentence."""
    return _ABOUT.get((subject, verb), _CONSEQUENCES[verb])
