"""What we don't own, on one page: the forge, git, the runner, the model, the chat and the clock.

Each has one implementation that speaks the real thing (`adapters/`) and one conformance suite. Engine and routines
see only these. A failure of the external service is an exception of `errors.py` that says whose fault it was.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from minion.protocol import Comment
from overlord.domain.chat.message import ChatIdentity, ChatMessage, ChatUser, Form, Posted
from overlord.domain.conversation.comment import Labelling, PostedComment, Reaction
from overlord.domain.identifiers import ChannelId, MessageTs, UserId
from overlord.domain.identifiers import RepositoryName as RepositoryName  # noqa: PLC0414
from overlord.domain.identifiers import SessionId as SessionId  # noqa: PLC0414
from overlord.domain.identifiers import Sha as Sha  # noqa: PLC0414
from overlord.domain.launch import Launch as Launch  # noqa: PLC0414
from overlord.domain.launch import Remote as Remote  # noqa: PLC0414
from overlord.domain.launch import RunnerCapabilities as RunnerCapabilities  # noqa: PLC0414
from overlord.domain.launch import Running as Running  # noqa: PLC0414
from overlord.domain.repositories.extent import Mirror
from overlord.domain.repositories.forge import HeadChecks, PulledFile, Review, ReviewComment, TreeEntry
from overlord.domain.repositories.forge import IssueState as IssueState  # noqa: PLC0414
from overlord.domain.repositories.forge import Pull as Pull  # noqa: PLC0414
from overlord.domain.repositories.forge import Repository as Repository  # noqa: PLC0414
from overlord.domain.scope.check import Change, Merge
from overlord.domain.scope.occurrences import Occurrences
from overlord.domain.session import Account
from overlord.domain.session import Ending as Ending  # noqa: PLC0414
from overlord.domain.session import EndKind as EndKind  # noqa: PLC0414


class Clock(Protocol):
    """Time as a parameter. `now` is for records and leases; `monotonic` for durations within one process."""

    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back; comparable only within this process."""
        ...


class Forge(Protocol):
    """GitHub, or what speaks like it. Every call raises ForgeUnavailable (worth repeating later),
    ForgeRefused (repeating the same call will not help) or ForgeMissing (no such thing)."""

    async def repository(self, name: RepositoryName) -> Repository: ...
    async def remote(self, name: RepositoryName) -> Remote:
        """A clone URL and a credential fresh enough for one git operation."""
        ...

    def renew_sign_in(self, name: RepositoryName) -> None:
        """Somebody may have granted more: the next call is made with what is granted then, not with a token from before."""

    async def activity(self, name: RepositoryName) -> str:
        """A mark of the repository's issues and pull requests as they are: another one once any was changed, labelled,
        commented on, reviewed, closed or merged. Costs one request."""

    async def issues_labelled(self, name: RepositoryName, label: str) -> Sequence[IssueState]:
        """Every open issue (no pull requests) with this label, oldest first, without comments. All pages or an exception."""

    async def issues_since(self, name: RepositoryName, since: datetime) -> Sequence[IssueState]:
        """Issues, closed ones too, that were changed at `since` or later, in that order. All pages or an exception."""

    async def issue(self, name: RepositoryName, number: int) -> IssueState: ...
    async def labelling(self, name: RepositoryName, number: int, label: str) -> Labelling | None:
        """Who put this label on last; None when nobody did."""
        ...

    async def edited_at(self, name: RepositoryName, number: int) -> datetime | None:
        """When an issue's title or text was last changed, if it ever was."""
        ...

    async def may_write(self, name: RepositoryName, login: str) -> bool:
        """Whether an account may push to the repository. Raises ForgeMissing for one the forge does not know."""
        ...

    async def comments_since(self, name: RepositoryName, since: datetime) -> Sequence[PostedComment]:
        """As `issues_since`, comments on all issues and pull requests."""
        ...

    async def react(self, name: RepositoryName, comment_id: int, reaction: Reaction) -> None: ...
    async def comments(self, name: RepositoryName, number: int) -> Sequence[tuple[int, Comment]]:
        """Comments on an issue or pull request with their ids, oldest first."""
        ...

    async def add_comment(self, name: RepositoryName, number: int, body: str) -> int:
        """Post, and return the new comment's id."""
        ...

    async def edit_comment(self, name: RepositoryName, comment_id: int, body: str) -> None: ...
    async def add_label(self, name: RepositoryName, number: int, label: str) -> None:
        """Put a label on an issue; GitHub makes a label that does not exist yet."""
        ...

    async def remove_label(self, name: RepositoryName, number: int, label: str) -> None: ...
    async def pulls_from(self, name: RepositoryName, branch: str) -> Sequence[Pull]:
        """Pull requests whose head is `branch` of this repository, open and closed, newest first."""
        ...

    async def pull(self, name: RepositoryName, number: int) -> Pull: ...
    async def open_pull(
        self, name: RepositoryName, *, branch: str, base: str, title: str, body: str, draft: bool
    ) -> Pull: ...
    async def edit_pull(self, name: RepositoryName, number: int, *, title: str, body: str) -> None: ...
    async def login(self, name: RepositoryName) -> str:
        """As whom comments are written; empty where the forge does not say."""

    async def open_pulls(self, name: RepositoryName) -> Sequence[Pull]:
        """Every open pull request, those from forks too, oldest first."""

    async def pull_files(self, name: RepositoryName, number: int) -> Sequence[PulledFile]:
        """Every path a pull request changes. Raises ForgeRefused for more than the forge lists."""

    async def folder(self, name: RepositoryName, commit: Sha, path: str) -> Mapping[str, TreeEntry]:
        """What a directory of a commit has, by name: nothing where it is none."""

    async def blob(self, name: RepositoryName, sha: str) -> bytes: ...
    async def mark_ready(self, pull: Pull) -> None:
        """Turn a draft into a pull request ready for review."""
        ...

    async def open_issue(self, name: RepositoryName, *, title: str, body: str) -> int: ...
    async def close_issue(self, name: RepositoryName, number: int) -> None:
        """Close an issue as completed; also one that is closed. As `delete_branch`, for a branch that is not there."""
        ...

    async def delete_branch(self, name: RepositoryName, branch: str) -> None: ...
    async def reviews(self, name: RepositoryName, number: int) -> Sequence[Review]:
        """The submitted reviews of a pull request, oldest first."""
        ...

    async def review_comments(self, name: RepositoryName, number: int) -> Sequence[ReviewComment]:
        """The comments on a pull request's diff, oldest first."""
        ...

    async def answer_review_comment(
        self, name: RepositoryName, number: int, comment_id: int, body: str
    ) -> int:
        """Write into the thread that `comment_id` began, and return the new comment's id."""
        ...

    async def checks_of(self, name: RepositoryName, sha: Sha, *, but: Collection[str]) -> HeadChecks:
        """The newest run of each check, and the newest status of each context but some, of a commit."""
        ...

    async def check_log(self, name: RepositoryName, log: int, *, limit_bytes: int) -> str:
        """The end of a failed check's log; empty where it cannot be had."""
        ...

    async def set_status(
        self, name: RepositoryName, sha: Sha, *, state: str, context: str, description: str
    ) -> None:
        """A commit status: state `pending`, `success`, `failure` or `error`; description at most 140 characters."""
        ...


class Git(Protocol):
    """Git on bare repositories of our own; never in a tree a session could write. Raises GitFailed, or
    GitUnavailable when this machine has no room for another program just now."""

    async def refresh_mirror(
        self,
        name: RepositoryName,
        remote: Remote,
        *,
        branches: Sequence[str] = (),
        commits: Collection[Sha] = (),
    ) -> None:
        """Make or update the bare mirror: of these branches and the Minions' own, or of all when none is named. A mirror
        that began with a part of the history gets all of it when one of `commits` is not in that part."""

    async def branch_head(self, name: RepositoryName, branch: str) -> Sha | None:
        """What the mirror last saw this branch at."""

    async def prepare_session(
        self, name: RepositoryName, session: SessionId, refs: Mapping[str, Sha], writable: str | None
    ) -> None:
        """Make a session's bare repository with these branches, the base branch first, and one that may be pushed.
        It holds their history and nothing else."""

    async def ready_copy(
        self, name: RepositoryName, base: Sha, remote: Callable[[], Awaitable[Remote]] | None = None
    ) -> Path | None:
        """A directory sessions on this base commit begin with, for reading only (`Launch.ready`). Made once, which may
        take seconds. None when git will not lay this commit out, or it is too large: a session clones it then.

        With a `remote`, it holds what the space's settings say is fetched beside the commit (submodules, Git LFS).
        Raises Unobtainable when that cannot be had, or is too large to lay out, and ForgeUnavailable when the forge does not
        give it now."""

    async def forget_ready(self, name: RepositoryName, *, keep: Collection[Sha]) -> None:
        """Let go of all but the newest few ready copies, and of none whose commit is in `keep`: what sessions use."""

    async def session_tree(self, session: SessionId, branch: str) -> Sha | None:
        """The tree a session last pushed to its branch, or None."""

    async def excess(self, session: SessionId, *, tree: Sha, parent: Sha) -> str:
        """In what the tree a session pushed is larger, seen from the commit it was made on, than anything here reads: the
        end of a sentence; empty when it is not. Asked before it is made a commit."""

    async def canonical_commit(
        self, name: RepositoryName, session: SessionId, *, tree: Sha, parent: Sha, message: str, at: datetime
    ) -> Sha:
        """One commit of our own making over a session's tree, brought into the mirror. Same arguments, same SHA."""

    async def drop(
        self,
        name: RepositoryName,
        commit: Sha,
        *,
        base: Sha,
        paths: Collection[str],
        parent: Sha,
        message: str,
        at: datetime,
    ) -> Sha:
        """A commit of our own over `commit`'s tree with `paths` as they are at `base`. Same arguments, same SHA."""

    async def merge_base(self, name: RepositoryName, one: Sha, other: Sha) -> Sha | None:
        """The newest commit that both have in their history."""

    async def merge(
        self, name: RepositoryName, head: Sha, other: Sha, *, message: str, at: datetime
    ) -> Merge:
        """A commit of our own that brings `other` into `head`, made without a working copy. Same arguments, same SHA."""

    async def tree_of(self, name: RepositoryName, commit: Sha) -> Sha: ...
    async def changes(self, name: RepositoryName, base: Sha, head: Sha) -> Sequence[Change]:
        """Every path that differs, with modes and line counts, renames detected."""

    async def diff(self, name: RepositoryName, base: Sha, head: Sha, *, limit_bytes: int) -> str:
        """The unified diff, cut at a limit with a line that says so."""

    async def sizes(self, name: RepositoryName, commit: Sha) -> Mapping[str, int]:
        """The bytes of every file of a commit, by path."""

    async def read_file(self, name: RepositoryName, commit: Sha, path: str) -> bytes | None:
        """A file's content at a commit, or None when it is not a file there."""

    async def listing(self, name: RepositoryName, commit: Sha) -> Mapping[str, str]:
        """Every file of a commit with the name of its content (a blob's SHA); names that are no UTF-8 left out."""

    async def read_files(
        self, name: RepositoryName, commit: Sha, paths: Sequence[str], *, limit_bytes: int = 1_000_000
    ) -> Mapping[str, bytes]:
        """Those of the paths that are files at a commit, each with its content up to a limit; one call for many."""

    async def occurrences(self, name: RepositoryName, commit: Sha, words: Sequence[str]) -> Occurrences:
        """Where the code of a commit defines symbols, and has them or whole phrases; what a bounded search does not come to is left
        out."""

    async def push(
        self, name: RepositoryName, remote: Remote, *, sha: Sha, branch: str, expected: Sha | None
    ) -> None:
        """Push to `refs/heads/minion/…` and nowhere else, if the branch still is at `expected` (None: absent).
        Raises PushRejected when it is not, PushRefused when the external service declines it (a rule, a hook, a permission)."""

    async def remote_head(self, name: RepositoryName, remote: Remote, branch: str) -> Sha | None:
        """Where the branch is at the external service now."""

    async def remove_session(self, session: SessionId) -> None: ...
    async def mirrors(self) -> Sequence[Mirror]:
        """Every repository that was fetched and not removed since."""

    async def tidy_mirror(self, name: RepositoryName, *, keep: Collection[Sha], before: datetime) -> None:
        """Let go of what a mirror holds beyond the forge's branches, but for `keep` and what was made since `before`."""

    async def remove_mirror(self, name: RepositoryName) -> None:
        """Let go of a mirror and all that was made from it; it is fetched anew when it is needed."""


class Runner(Protocol):
    """Processes, Docker, Swarm. Raises RunnerUnavailable when the engine does not answer (nothing is known then),
    RunnerRefused when it will not start this launch (no such image, a profile that does not hold)."""

    name: str
    capabilities: RunnerCapabilities

    async def start(self, launch: Launch) -> None:
        """Start it. A session that was started already, running or ended, is left as it is: the call may be repeated."""

    async def find(self, session: SessionId) -> Running | None:
        """What became of a session; None when this runner has no trace of ever starting it."""

    async def sessions(self) -> Sequence[Running]:
        """Every session of this instance the runner still holds, running or ended, also from before a restart."""

    async def stop(self, session: SessionId, *, grace_s: float) -> None:
        """TERM, and KILL what is left after `grace_s`, the whole process tree. Ended or unknown is no error."""

    async def logs(self, session: SessionId, *, limit_bytes: int) -> str:
        """The end of what it printed, control characters made harmless; empty when nothing is known."""

    async def remove(self, session: SessionId) -> None:
        """Forget an ended session and free what it held. A running one is killed first."""

    async def ground(self, image: str, *, space: str = "") -> str:
        """What tells what an environment would be made on from anything else: the image (empty: the runner's own), the
        machine. Raises RunnerRefused for an image that cannot be had."""

    async def prepare_layer(self, key: str, *, image: str, packages: Sequence[str], space: str = "") -> None:
        """Make the ground an environment is set up on: a system with these packages. Runs nothing of the repository's.
        May take minutes, and may be repeated. Raises RunnerRefused with the telling part of the log when it cannot be."""

    async def keep_layer(self, session: SessionId, key: str) -> int:
        """Make what an ended setup session left the environment of this key; its size in bytes. May be repeated."""

    async def has_layer(self, key: str) -> bool:
        """Whether an environment of this key is there to run in."""

    async def remove_layer(self, key: str) -> None:
        """Remove an environment, finished or not, and its ground. One that is not there is no error."""

    async def downloads(self) -> Sequence[str]:
        """The repositories, in small letters, whose setups left downloads for the next ones."""

    async def remove_downloads(self, space: str) -> None:
        """Remove a repository's downloads. None there, or in use just now, is no error."""

    def follow(self) -> AsyncIterator[SessionId]:
        """Sessions that ended, as it happens. A hint only: the tick asks `find` all the same."""

    async def close(self) -> None:
        """Let go of what watches; sessions go on and can be found by the next daemon."""


class ModelResponse(Protocol):
    """A reply as it arrives."""

    status: int
    headers: Mapping[str, str]

    def chunks(self) -> AsyncIterator[bytes]:
        """The body; raises ModelUnavailable when the stream is cut."""


class Model(Protocol):
    """An OpenAI-compatible endpoint. Raises ModelUnavailable when there was no reply at all."""

    def complete(self, body: bytes) -> AbstractAsyncContextManager[ModelResponse]:
        """Send one chat completion request, JSON as given; the key is the adapter's to add."""

    def models(self, *, signed: bool = True) -> AbstractAsyncContextManager[ModelResponse]:
        """Ask which models there are, which costs nothing; without the key where not `signed`."""


class Assistant(Protocol):
    """A metered call without tools, for code that needs a model's opinion: the gateway's own way in for the engine."""

    async def answer(self, account: Account, messages: Sequence[Mapping[str, str]]) -> str:
        """The text of one reply, on an account, by the model that is named for its kind. Raises
        ModelUnavailable when there was none, ModelRefused when the endpoint or a budget said no."""
        ...


class Chat(Protocol):
    """Slack, or what speaks like it. Every call raises ChatUnavailable (worth repeating later), ChatRefused (repeating
    will not help) or ChatMissing (no such message, channel, person or group)."""

    async def identity(self) -> ChatIdentity:
        """Who we are there. The cheapest call: it tells whether the token is good."""

    async def post(
        self, channel: ChannelId, message: ChatMessage, *, key: str, thread: MessageTs | None = None
    ) -> Posted:
        """Post a message, into the thread of another if one is named. `key` goes with it, unseen by people: `find` finds it."""

    async def find(
        self, channel: ChannelId, key: str, *, since: datetime, thread: MessageTs | None = None
    ) -> MessageTs | None:
        """A message of ours posted at `since` or later with this key, in the channel or in one of its threads."""

    async def edit(self, posted: Posted, message: ChatMessage) -> None:
        """Show something else in its place, buttons too. Raises MessageMissing for one that was deleted."""

    async def ephemeral(self, channel: ChannelId, user: UserId, message: ChatMessage) -> None:
        """Show something to one person in a channel. It cannot be found, edited or counted on to last."""

    async def respond(self, address: str, message: ChatMessage) -> None:
        """Answer a command or a press for its giver's eyes: `address` came with it, good for half an hour and five answers.
        Raises ChatExpired after that, ChatRefused for an address that is not the chat's."""

    async def ask(self, trigger: str, form: Form) -> None:
        """Open a form for who has just pressed or commanded: `trigger` came with that. Raises ChatExpired after 3 s."""

    async def publish(self, user: UserId, message: ChatMessage) -> None:
        """Show this in somebody's Home tab, in place of what it showed. Raises ChatRefused where the app has none."""

    async def person(self, user: UserId) -> ChatUser: ...
    async def group(self, group: str) -> Collection[UserId]:
        """Who is in a user group."""
