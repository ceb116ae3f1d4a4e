"""Commands in comments: one line of its own, `/overlord …`.

`answer`, `message` and `build` take words: the rest of their line, and the lines below it with their code. A mention of Overlord's account
is words too, those of the whole comment.
"""

from dataclasses import dataclass

from overlord.domain.conversation.argument import MOST_CHARS, CommandError, word
from overlord.domain.conversation.comment_text import ADDRESSED, own_words
from overlord.domain.interface import Interface
from overlord.queries import registry as queries
from overlord.queries.registry import Question
from overlord.verbs import registry
from overlord.verbs.decide import Decide
from overlord.verbs.registry import Command

EXPLAIN = "explain"
"""The one look that a comment has: the evidence of its job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentCommand:
    """What one comment asks for."""

    command: Command | None
    """None for `explain` and for a question."""
    question: Question | None = None
    is_mention: bool = False
    """Whether it is no command, but words that mention Overlord's account: the answer to what is asked, else a message."""

    @property
    def is_delivered(self) -> bool:
        """Whether its words reach a session by themselves."""
        return self.command is not None and self.command.verb.is_delivered

    @property
    def opens_issue(self) -> bool:
        """Whether it has an issue opened."""
        return self.command is not None and self.command.verb.opens_issue


class CommentCommandError(ValueError):
    """A comment speaks to Overlord and is not understood; the message is for whoever wrote it, without their words."""


def names() -> frozenset[str]:
    """What a comment can ask for."""
    return frozenset({*registry.offered(Interface.COMMENT), *queries.offered(Interface.COMMENT), EXPLAIN})


def sentence_names() -> frozenset[str]:
    """Those that also begin a sentence about the change (`reject the second test`, `build fails here`, `why is that`): with words after
    them, commands in the form `/overlord reject` alone."""
    deciding = (
        name
        for name, verb in registry.offered(Interface.COMMENT).items()
        if verb.arguments is Decide or verb.opens_issue
    )
    return frozenset({*deciding, *queries.offered(Interface.COMMENT)})


def is_question(name: str, words: str) -> bool:
    """Whether words after a query's name are its argument where one is typed, as in `cost week`, and no sentence."""
    if name not in queries.offered(Interface.COMMENT):
        return False
    try:
        queries.question_of(name, words, Interface.CHAT)
    except CommandError:
        return False
    return True


def usage() -> str:
    """What a comment can ask for, as it is typed there."""
    typed = [
        verb.typed(name, Interface.COMMENT).usage
        for name, verb in registry.offered(Interface.COMMENT).items()
    ]
    first, *others = (*typed, *queries.offered(Interface.COMMENT), EXPLAIN)
    return f"Commands: `/overlord {first}`, {', '.join(f'`{other}`' for other in others)}."


def command_in(body: str) -> CommentCommand | None:
    """The command of a comment; None when it has none. Raises CommentCommandError for more than one, or an unknown one."""
    lines = list(own_words(body))
    found = [
        (number, match["words"] or "")
        for number, (line, may_command) in enumerate(lines)
        if may_command and (match := ADDRESSED.fullmatch(line))
    ]
    if not found:
        return None
    if len({words for _, words in found}) > 1:
        raise CommentCommandError(_ONE)
    place, words = found[0]
    name = word(words, 0).lower()
    if name not in names():
        raise CommentCommandError(f"That is no command of Overlord's. {usage()}")
    rest = words.strip()[len(name) :].strip()
    if name == EXPLAIN:
        if rest:
            raise CommentCommandError(f"`{name}` takes nothing after it. {usage()}")
        return CommentCommand(command=None)
    is_question = name in queries.offered(Interface.COMMENT)
    if not is_question and (registry.find(name).is_delivered or registry.find(name).opens_issue):
        if len(found) > 1:
            raise CommentCommandError(_ONE)
        rest = "\n".join([rest, *(line for line, _ in lines[place + 1 :])]).strip()
    if len(rest) > MOST_CHARS:
        raise CommentCommandError(f"That is too long: {MOST_CHARS:,} characters are the most.")
    try:
        if is_question:
            return CommentCommand(command=None, question=queries.question_of(name, rest, Interface.COMMENT))
        return CommentCommand(command=registry.command_of(name, rest, Interface.COMMENT))
    except CommandError as error:
        examples = " or ".join(f"`/overlord {example}`" for example in error.examples)
        raise CommentCommandError(f"{str(error).rstrip('.')}: {examples}. {usage()}") from None


_ONE = "One command in each comment, please: it is not clear which of them counts."
