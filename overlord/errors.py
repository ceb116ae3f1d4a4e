"""The exceptions of Overlord. The first question of each is: whose fault? Outcomes ("the tests failed") are values."""

from collections.abc import Sequence
from dataclasses import dataclass

from overlord.command_ref import Hint, Word, with_hint


class OverlordError(Exception):
    """Anything Overlord raises by itself. The message says what is wrong, as a sentence for a person. `hint`: what can be done about
    it, with commands as data. `kept`: what was left as it was, where that is worth saying. Each interface words them."""

    def __init__(self, message: str = "", *, hint: Hint | None = None, kept: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        self.kept = kept

    def worded(self, word: Word) -> str:
        """All of it, as an interface says it."""
        said = f"{str(self).rstrip('.')}; {self.kept}" if self.kept else str(self)
        return with_hint(said, self.hint, word)


class SettingsError(OverlordError):
    """The configuration is wrong; the message names the key and where it came from."""


class ImageUnusable(SettingsError):
    """An engine answers, and the image sessions run in is missing or another version's."""


class ContainersMissing(SettingsError):
    """No engine answers, and nobody said that sessions may run as plain processes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractProblem:
    """One thing that is wrong with a contract: where, what shows it, and what to do."""

    file: str
    line: int | None
    key: str
    """As `roles.backend.scope`; empty for the document as a whole."""
    rule: str
    """The number of a rule of the constitution; else `yaml`, `schema`, `names` or `usable`."""
    message: str
    counterexample: str = ""
    """A path, or phases one after the other."""
    fix: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        rule = f"rule {self.rule}" if self.rule[:1].isdigit() else ""
        example = f" (for example {self.counterexample})" if self.counterexample else ""
        fix = f"; {self.fix}" if self.fix else ""
        return ": ".join(part for part in (place, rule, self.key, f"{self.message}{example}{fix}") if part)


class AgentUnknown(OverlordError):
    """Nobody knows the agent that a session is to be worked by, or it cannot work. The message is a sentence for a person."""


class ContractError(OverlordError):
    """A contract cannot be worked by. The message has every problem, one a line; `problems` has them as values."""

    MOST_SHOWN = 50

    def __init__(self, message: str = "", *, problems: Sequence[ContractProblem] = ()) -> None:
        lines = [str(problem) for problem in problems[: self.MOST_SHOWN]]
        if len(problems) > self.MOST_SHOWN:
            lines.append(f"and {len(problems) - self.MOST_SHOWN} more")
        super().__init__("\n".join([message] * bool(message) + lines))
        self.problems = tuple(problems)


class NotFound(OverlordError):
    """A person named something that does not exist."""


class Refused(OverlordError):
    """A person asked for something that cannot be done now; the message says why and what can."""


class IllegalMove(OverlordError):
    """A fact that is not in TRANSITIONS for the state a job is in: a bug of ours or a race that was lost."""


class StoreError(OverlordError):
    """The database cannot be used: newer schema, another daemon, damage, disk."""


class Fenced(StoreError):
    """Another daemon has taken this one's place: what it began is the other's to go on with, and it must end."""


class StateReplaced(Fenced):
    """The database was replaced or removed under a running daemon; another start works on what is there now."""


class ExternalServiceError(OverlordError):
    """Something we do not own failed."""


class ForgeUnavailable(ExternalServiceError):
    """The forge did not answer, or asked us to wait. Repeating later is right."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class ForgeRefused(ExternalServiceError):
    """The forge understood and said no: permission, validation. Repeating will not help."""


class ForgeTooLarge(ForgeRefused):
    """What was asked for is more than the forge lists, or than is read here."""


class ForgeUnsupported(ForgeRefused):
    """The forge does not have what was asked for, as an older GitHub Enterprise Server has no sub-issues. Nothing was done, and
    nothing is missing: work goes on without."""


class ForgeMissing(ForgeRefused):
    """No such repository, issue or pull request, or none that we may see."""


class ForgeMoved(ForgeMissing):
    """An issue that is in another repository now. `to`: where, in the forge's words, if it says."""

    def __init__(self, message: str, *, to: str = "") -> None:
        super().__init__(message)
        self.to = to


class ChatUnavailable(ExternalServiceError):
    """The chat did not answer, or asked us to wait. Repeating later is right; a message may have been posted all the same.
    `is_away`: nothing came back at all."""

    def __init__(self, message: str, *, retry_after_s: float | None = None, is_away: bool = False) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.is_away = is_away


class ChatRefused(ExternalServiceError):
    """The chat understood and said no: a token, a permission, what it does not take. Repeating will not help."""


class ChatMissing(ChatRefused):
    """No such message, channel, person or group, or none that we may see."""


class MessageMissing(ChatMissing):
    """That very message was deleted, or the one whose thread was meant."""


class ChatExpired(ChatRefused):
    """What a person pressed was too long ago to be answered with a form, or in the place they pressed it."""


class McpUnavailable(ExternalServiceError):
    """An MCP server gave no answer that can be passed on. The message says which one, and holds nothing of what it was asked with."""


class GitFailed(ExternalServiceError):
    """A git command failed; the message has its last words. `output` and `errors`: all that it printed, where that was kept."""

    def __init__(self, message: str, *, output: bytes = b"", errors: bytes = b"") -> None:
        super().__init__(message)
        self.output = output
        self.errors = errors


class ChangeTooLong(GitFailed):
    """A change is longer than whoever asks for it takes. Repeating changes nothing."""


class GitUnavailable(ExternalServiceError):
    """This machine has no descriptor, process or memory for another program just now. It says nothing about a repository, so it
    is no GitFailed, and repeating later is right."""


class PushRejected(GitFailed):
    """The branch at the external service is not where we last saw it."""


class PushRefused(GitFailed):
    """The external service understood a push and said no: a rule, a protected branch, a hook, a permission. Repeating will not help
    before a person has changed that. `words`: all it said, which is not ours to trust; `advice`: what a person can do."""

    def __init__(self, message: str, *, words: str, advice: str) -> None:
        super().__init__(message)
        self.words = words
        self.advice = advice


class Unobtainable(ExternalServiceError):
    """What a commit names and does not hold (a submodule, an object of Git LFS) cannot be had; asking again is a person's."""


class RunnerUnavailable(ExternalServiceError):
    """The engine does not answer; what its sessions do is not known."""


class RunnerRefused(ExternalServiceError):
    """The runner will not start this session as asked."""


class ModelUnavailable(ExternalServiceError):
    """The model's endpoint gave no reply, or cut one off. `reached`: the request may have got there, and may cost; `why`: what
    was seen, in a few words, as `connection refused`."""

    def __init__(self, message: str, *, reached: bool = True, why: str = "no reply") -> None:
        super().__init__(message)
        self.reached = reached
        self.why = why


class ModelRefused(ExternalServiceError):
    """The model's endpoint, or a budget, said no to this request; repeating it will not help."""
