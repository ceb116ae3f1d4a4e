"""Where a contract asks for it: a person says what may be written for an issue that says nothing of it.

Their word is about the text they saw. When another text counts, they are asked again.
"""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256

from minion.protocol import Issue, Scope, ScopeError, ScopeMode
from overlord.domain.decision import Decision, Subject, Verb
from overlord.domain.scope.reason import Inference, Reason

MOST_PATTERNS = 50
EXAMPLE = "src/** tests/**"
_ANSWERS = (Verb.LIMIT, Verb.UNRESTRICTED)


def text_key(issue: Issue) -> str:
    """What an answer is bound to: the title and text it was given for."""
    return sha256(json.dumps([issue.title, issue.body]).encode()).hexdigest()[:16]


def patterns_in(words: str) -> tuple[str, ...]:
    """The patterns of an answer: `src/** tests/**`, each with a plus or not, with commas or not. Raises ValueError, saying what
    is wrong."""
    lines = [word.strip("`,").removeprefix("+") for word in words.replace(",", " ").split()]
    if not any(lines):
        raise ValueError(f"say which files may be written, as '{EXAMPLE}'")
    if len(lines) > MOST_PATTERNS:
        raise ValueError(f"name at most {MOST_PATTERNS} patterns")
    try:
        return Scope.parse(json.dumps(list(dict.fromkeys(filter(None, lines))))).patterns
    except ScopeError as error:
        raise ValueError(str(error).replace("MINION_SCOPE", "what was said", 1)) from None


def approved(answered: Iterable[Decision], issue: Issue) -> Inference | None:
    """What a person said may be written for this text, and that they did; None where nobody was asked, or about another text."""
    key = text_key(issue)
    found = [
        item
        for item in answered
        if item.subject is Subject.SCOPE_UNKNOWN and item.verb in _ANSWERS and key in item.options[:1]
    ]
    if not found:
        return None
    last = found[-1]
    if last.verb is Verb.UNRESTRICTED:
        reason = Reason(pattern="any file", why=f"approved by {last.answered_by}")
        return Inference(scope=Scope.unrestricted(), reasons=(reason,))
    patterns = patterns_in(last.answer)
    why = f"limited to this by {last.answered_by}"
    return Inference(
        scope=Scope(mode=ScopeMode.DIRECTORY, patterns=patterns),
        reasons=tuple(Reason(pattern=pattern, why=why) for pattern in patterns),
    )


def question(issue: Issue, why: Sequence[str], suggested: str) -> str:
    """What a person is asked."""
    text = "".join(f"\n- {item}" for item in why)
    examples = f" Where this repository keeps its code: `{suggested}`." if suggested else ""
    return (
        f"Issue {issue.number} would be worked on with every file open for writing.{text or ' Nothing says less.'}\n\n"
        f"Its contract asks a person first. Say which files are meant, as `{EXAMPLE}`, let it write any file, or drop it."
        f"{examples} What no session writes (.git, .nebulus, unnamed workflows) stays closed either way."
    )
