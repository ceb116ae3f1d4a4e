"""Commands in a chat: what follows `/overlord`, or a mention. What is not understood is told with what to type instead, and
never with the words that were not understood."""

import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from minion.protocol import Scope, ScopeError
from overlord.domain.text.plain import visible
from overlord.domain.text.reference import (
    Target,
    draft_in,
    issue_in,
    number_in,
    proposal_in,
    repository_in,
    target_in,
)

MOST_CHARS = 4000
_MOST_PATTERNS = 20


class ChatVerb(StrEnum):
    """What people can ask for."""

    WORK = "work"
    STOP = "stop"
    RETRY = "retry"
    PAUSE = "pause"
    RESUME = "resume"
    STATUS = "status"
    QUEUE = "queue"
    HISTORY = "history"
    WHY = "why"
    COST = "cost"
    SCOPE = "scope"
    SPACE = "space"
    DECISIONS = "decisions"
    PROPOSALS = "proposals"
    DRAFTS = "drafts"
    SKILLS = "skills"
    APPROVE = "approve"
    REJECT = "reject"
    RETIRE = "retire"
    ANSWER = "answer"
    MESSAGE = "message"
    BRIEF = "brief"
    HELP = "help"


class Span(StrEnum):
    """What a cost is asked of."""

    TODAY = "today"
    WEEK = "week"
    JOB = "job"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatCommand:
    """One command, understood. Which fields count is the verb's matter."""

    verb: ChatVerb
    target: Target | None = None
    """The job or issue of `stop`, `retry`, `why`, `scope`, and of `cost` when it is asked of a job; of `work` always an issue."""
    space: str | None = None
    """The repository to pause, resume or show, as it was named; None for everything. Of `retire`: the skill's, None for the one
    that has it."""
    span: Span = Span.TODAY
    patterns: tuple[str, ...] = ()
    decision: int | None = None
    proposal: int | None = None
    """Of `approve` and `reject`, where it is no decision."""
    draft: int | None = None
    """Of the same."""
    skill: str = ""
    """The name of the one to retire."""
    text: str = ""
    """The reason, the answer, or the message."""


class ChatCommandError(ValueError):
    """A command is not understood. The message is a sentence for whoever gave it, `examples` what to type instead; neither
    holds a word of theirs."""

    def __init__(self, message: str, *examples: str) -> None:
        super().__init__(message)
        self.examples = examples


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """How a verb is typed, and what it does."""

    form: str
    means: str


USAGES: Mapping[ChatVerb, Usage] = {
    ChatVerb.WORK: Usage(form="work on #42", means="work on an issue, label or not"),
    ChatVerb.STOP: Usage(form="stop #42", means="end its job; what it made stays"),
    ChatVerb.RETRY: Usage(form="retry #42", means="try again what its job waits for"),
    ChatVerb.SCOPE: Usage(form="scope #42 +src/**", means="let its job write more"),
    ChatVerb.PAUSE: Usage(
        form="pause owner/repo", means="begin nothing new there; `pause everything` for all"
    ),
    ChatVerb.RESUME: Usage(form="resume owner/repo", means="go on there; `resume everything` for all"),
    ChatVerb.STATUS: Usage(form="status", means="what is going on"),
    ChatVerb.QUEUE: Usage(form="queue", means="what starts next, and what it waits for"),
    ChatVerb.HISTORY: Usage(form="history", means="what ended lately"),
    ChatVerb.WHY: Usage(form="why #42", means="where its job stands, and how it came there"),
    ChatVerb.COST: Usage(form="cost week", means="what was spent: `today`, `week`, or `#42`"),
    ChatVerb.SPACE: Usage(
        form="space list",
        means="the repositories in my care; `space show owner/repo` what one is worked on by",
    ),
    ChatVerb.DECISIONS: Usage(form="decisions", means="what waits for a person"),
    ChatVerb.PROPOSALS: Usage(form="proposals", means="what Overlord would improve, and waits to be told"),
    ChatVerb.SKILLS: Usage(form="skills", means="the skills there are, and how work goes that loads them"),
    ChatVerb.DRAFTS: Usage(
        form="drafts", means="skills that are drafted, and wait for a person or are under way"
    ),
    ChatVerb.APPROVE: Usage(
        form="approve 5", means="say yes to a decision; `approve p3` to a proposal, `approve d3` to a draft"
    ),
    ChatVerb.REJECT: Usage(
        form="reject 5 too risky", means="say no to one; `reject p3` or `reject d3` as well"
    ),
    ChatVerb.RETIRE: Usage(
        form="retire say-why",
        means="draft that a skill goes; `retire owner/repo say-why` where several have it",
    ),
    ChatVerb.ANSWER: Usage(form="answer 5 use the second one", means="answer one in words"),
    ChatVerb.MESSAGE: Usage(
        form="message #42 use port 8080", means="say something to its Minion, which reads it as it works"
    ),
    ChatVerb.BRIEF: Usage(form="brief", means="the morning briefing, now"),
    ChatVerb.HELP: Usage(form="help", means="this list"),
}
"""In the order people are shown them."""


def chat_command(text: str) -> ChatCommand:
    """What somebody asks for: the text after `/overlord`, or a mention without the name. Raises ChatCommandError."""
    if len(text) > MOST_CHARS:
        raise ChatCommandError(f"That is too long: {MOST_CHARS:,} characters are the most.", "help")
    command_text = typed(text)
    word = _word(command_text, 0).casefold().removeprefix("/") or ChatVerb.HELP
    if word in set(ChatVerb):
        return _READERS[ChatVerb(word)](ChatVerb(word), _after(command_text, 1))
    if near := get_close_matches(word[:40], list(ChatVerb), n=1, cutoff=0.7):
        raise ChatCommandError("I do not know that one. Did you mean this?", USAGES[ChatVerb(near[0])].form)
    raise ChatCommandError("I do not know that one.", "help")


_ANGLES = re.compile(r"<([^<>|]{1,2000})(?:\|([^<>]{0,2000}))?>")
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "‚": "'", "\u00a0": " "})


def typed(text: str) -> str:
    """What was typed, before the chat dressed it up: its links, mentions and escapes as words, straight quotes, nothing unseen."""
    return html.unescape(_ANGLES.sub(_typed, visible(text))).translate(_QUOTES)


def _typed(found: re.Match[str]) -> str:
    """What stands for `<…>`: an address for what is about an issue or repository, else the words that are seen."""
    what, label = found[1], found[2] or ""
    if what[0] in "@#!":
        return f"{what[0] if what[0] != '!' else '@'}{(label or what[1:]).lstrip('@#')}"
    if issue_in(html.unescape(what)) or not label:
        return what
    return label


def _word(text: str, index: int) -> str:
    """One of the words; nothing where there are fewer."""
    return next(iter(text.split()[index : index + 1]), "")


def _after(text: str, words: int) -> str:
    """What follows so many words, with its own line breaks."""
    return next(iter(text.split(None, words)[words:]), "").rstrip()


def _unquoted(word: str) -> str:
    return word.strip("`'\"")


def _without_quotes(word: str) -> str:
    """A word without what people put around it."""
    return word.strip("`'\"(),:;.?!")


def _misread(verb: ChatVerb, why: str, *examples: str) -> ChatCommandError:
    return ChatCommandError(why, *(examples or (USAGES[verb].form,)))


def _alone(verb: ChatVerb, text: str) -> ChatCommand:
    if text:
        raise _misread(verb, "That one takes nothing after it.")
    return ChatCommand(verb=verb)


def _help(verb: ChatVerb, _text: str) -> ChatCommand:
    return ChatCommand(verb=verb)


def _work(verb: ChatVerb, text: str) -> ChatCommand:
    word = _after(text, 1) if _word(text, 0).casefold() == "on" else text
    found = issue_in(_without_quotes(word))
    if found is None:
        why = "Say which issue: with the #, with its repository where there are several, or by its address."
        raise _misread(verb, why, "work on #42", "work on owner/repo#42")
    return ChatCommand(verb=verb, target=found)


def _about_a_job(verb: ChatVerb, text: str) -> ChatCommand:
    target, rest = _target(verb, text)
    if rest and verb is not ChatVerb.STOP:
        raise _misread(verb, "That one takes nothing after the job or issue.")
    return ChatCommand(verb=verb, target=target, text=rest)


def _target(verb: ChatVerb, text: str) -> tuple[Target, str]:
    """The job or issue that comes first, and what follows it."""
    skipped = int(_word(text, 0).casefold() == "job")
    found = target_in(_without_quotes(_word(text, skipped)))
    if found is None:
        form = USAGES[verb].form
        examples = (form.replace("#42", "7"), form, form.replace("#42", "owner/repo#42"))
        raise _misread(verb, "Say which: a job by its number, or an issue with the #.", *examples)
    return found, _after(text, skipped + 1)


_ALL = frozenset({"everything", "all", "*"})


def _of_a_space(verb: ChatVerb, text: str) -> ChatCommand:
    first, rest = _word(text, 0), _after(text, 1)
    is_all = not first or first.casefold() in _ALL
    name = None if is_all else repository_in(_without_quotes(first))
    if not is_all and name is None:
        raise _misread(
            verb, "Say what: a repository, or everything.", USAGES[verb].form, f"{verb} everything"
        )
    if rest and verb is ChatVerb.RESUME:
        raise _misread(verb, "That one takes nothing after the repository.")
    return ChatCommand(verb=verb, space=name, text=rest)


def _shown_space(verb: ChatVerb, text: str) -> ChatCommand:
    word, rest = _word(text, 0).casefold(), _after(text, 1)
    name = repository_in(_without_quotes(rest)) if word == "show" else None
    if ((word or "list") != "list" and name is None) or (word in {"", "list"} and rest):
        raise _misread(verb, "Say what is to be seen.", "space list", "space show owner/repo")
    return ChatCommand(verb=verb, space=name)


def _read_message(verb: ChatVerb, text: str) -> ChatCommand:
    target, rest = _target(verb, text)
    if not rest:
        raise _misread(verb, "Say what its Minion is to read.")
    return ChatCommand(verb=verb, target=target, text=rest)


def _cost(verb: ChatVerb, text: str) -> ChatCommand:
    if not text or text.casefold() in (Span.TODAY, Span.WEEK):
        return ChatCommand(verb=verb, span=Span(text.casefold() or Span.TODAY))
    word = _after(text, 1) if _word(text, 0).casefold() == Span.JOB else text
    found = target_in(_without_quotes(word))
    if found is None:
        raise _misread(verb, "Say of what.", "cost today", "cost week", "cost job 7", "cost #42")
    return ChatCommand(verb=verb, span=Span.JOB, target=found)


def _scope(verb: ChatVerb, text: str) -> ChatCommand:
    target, rest = _target(verb, text)
    words = [_unquoted(word) for word in rest.split()]
    patterns = [_unquoted(word[1:]) for word in words if word.startswith("+")]
    if not patterns or len(patterns) != len(words):
        why = "Say which files may be written too, each with a plus."
        raise _misread(verb, why, "scope #42 +src/** +README.md")
    if len(patterns) > _MOST_PATTERNS:
        raise _misread(verb, f"A scope takes at most {_MOST_PATTERNS} patterns at once.")
    try:
        parsed = Scope.parse(json.dumps(patterns)).patterns
    except ScopeError:
        raise _misread(verb, "One of these patterns is none that a scope can have.") from None
    return ChatCommand(verb=verb, target=target, patterns=parsed)


def _on_a_decision(verb: ChatVerb, words: str) -> ChatCommand:
    skipped = int(_word(words, 0).casefold() in {"decision", "proposal", "draft"})
    proposed = proposal_in(_without_quotes(_word(words, skipped)))
    if proposed is not None and verb is not ChatVerb.ANSWER:
        return ChatCommand(verb=verb, proposal=proposed, text=_after(words, skipped + 1))
    drafted = draft_in(_without_quotes(_word(words, skipped)))
    if drafted is not None and verb is not ChatVerb.ANSWER:
        return ChatCommand(verb=verb, draft=drafted, text=_after(words, skipped + 1))
    number, text = number_in(_without_quotes(_word(words, skipped))), _after(words, skipped + 1)
    if number is None:
        raise _misread(verb, "Say which decision, by its number.", USAGES[verb].form, "decisions")
    if verb is ChatVerb.ANSWER and not text:
        raise _misread(verb, "Say what the answer is.")
    return ChatCommand(verb=verb, decision=number, text=text)


_SKILL = re.compile(r"[a-z0-9-]{1,100}")


def _retire(verb: ChatVerb, words: str) -> ChatCommand:
    first = _without_quotes(_word(words, 0))
    space = repository_in(first) if "/" in first else None
    skipped = int(space is not None)
    name, text = _without_quotes(_word(words, skipped)), _after(words, skipped + 1)
    if not _SKILL.fullmatch(name):
        raise _misread(verb, "Say which skill, by its name.", USAGES[verb].form, "skills")
    return ChatCommand(verb=verb, space=space, skill=name, text=text)


_READERS: Mapping[ChatVerb, Callable[[ChatVerb, str], ChatCommand]] = {
    ChatVerb.WORK: _work,
    ChatVerb.STOP: _about_a_job,
    ChatVerb.RETRY: _about_a_job,
    ChatVerb.WHY: _about_a_job,
    ChatVerb.PAUSE: _of_a_space,
    ChatVerb.RESUME: _of_a_space,
    ChatVerb.COST: _cost,
    ChatVerb.SPACE: _shown_space,
    ChatVerb.SCOPE: _scope,
    ChatVerb.APPROVE: _on_a_decision,
    ChatVerb.REJECT: _on_a_decision,
    ChatVerb.ANSWER: _on_a_decision,
    ChatVerb.RETIRE: _retire,
    ChatVerb.MESSAGE: _read_message,
    ChatVerb.STATUS: _alone,
    ChatVerb.QUEUE: _alone,
    ChatVerb.HISTORY: _alone,
    ChatVerb.DECISIONS: _alone,
    ChatVerb.PROPOSALS: _alone,
    ChatVerb.DRAFTS: _alone,
    ChatVerb.SKILLS: _alone,
    ChatVerb.BRIEF: _alone,
    ChatVerb.HELP: _help,
}
