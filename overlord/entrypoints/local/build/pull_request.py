"""A run's branch as a pull request at the forge its repository comes from: pushed with the user's own git credentials, and opened with
their GITHUB_TOKEN where there is one.

Nothing of this is handed to a session: the run is over by then.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from overlord.adapters.github.connection import connect
from overlord.adapters.github.forge import GitHubForge
from overlord.domain.conversation.pull_card import pull_body, pull_title
from overlord.domain.text.plain import visible
from overlord.entrypoints.local.address import users_own_git
from overlord.entrypoints.local.build.origin import REMOTE, address_of, place_of
from overlord.entrypoints.local.result import Outcome
from overlord.errors import ExternalServiceError, GitFailed, Refused
from overlord.settings.load import load

_SIGNED_IN = re.compile(r"://[^/\s]*@")
_PUSH = (
    "push",
    "--quiet",
    "--receive-pack=git-receive-pack",
    "--signed=no",
    "--recurse-submodules=no",
    "--no-follow-tags",
)
"""One branch and nothing else; no program that the repository's own configuration names for a push."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What became of it."""

    branch: str
    url: str
    """Of the pull request, or where it can be opened."""
    is_open: bool

    @property
    def sentence(self) -> str:
        if self.is_open:
            return f"Pull request: {self.url}"
        return f"{self.branch} was pushed; open the pull request at {self.url} (with GITHUB_TOKEN set, it is opened for you)"


async def settle(outcome: Outcome, environment: Mapping[str, str]) -> Outcome:
    """Make a pull request of a result that passed, where that was asked for. A refusal is told with the result."""
    is_result = outcome.passed and outcome.landed is not None and not outcome.interrupted
    if not outcome.record.proposes or not is_result:
        return outcome
    try:
        return replace(outcome, proposed=(await propose(outcome, environment)).sentence)
    except Refused as error:
        return replace(outcome, proposed=f"No pull request: {error}")


async def propose(outcome: Outcome, environment: Mapping[str, str]) -> Proposed:
    """Push the result and open a pull request onto the branch the run started from. Raises Refused, saying what to do by hand."""
    own, landed = outcome.place.checkout, outcome.landed
    if own is None or landed is None:
        raise Refused("there is no branch to make a pull request of")
    address = await address_of(own.git_dir)
    found = place_of(address)
    if found is None:
        raise Refused(
            f"{REMOTE} is {shown(address)}, which is no repository of GitHub's; push {landed.branch} by hand"
        )
    await _push(own.git_dir, landed.branch)
    name, base = found.name, outcome.record.onto
    settings = load(environment, repositories=[name])
    if not settings.forge.signs_in() or not found.is_at(settings.forge.api_url):
        url = f"{found.scheme}://{found.host}/{name}/compare/{base}...{landed.branch}?expand=1"
        return Proposed(branch=landed.branch, url=url, is_open=False)
    forge = connect(GitHubForge, settings)
    try:
        pull = await forge.open_pull(
            name,
            branch=landed.branch,
            base=base,
            title=pull_title(outcome.job),
            body=pull_body(outcome.story),
            draft=False,
        )
    except ExternalServiceError as error:
        raise Refused(f"{landed.branch} was pushed, and the pull request was not opened: {error}") from error
    finally:
        await forge.close()
    return Proposed(branch=landed.branch, url=pull.url, is_open=True)


def shown(address: str) -> str:
    """An address as it may be printed: without who signs in and with which password, and without signs a terminal obeys."""
    return _SIGNED_IN.sub("://", visible(address))


async def _push(git_dir: Path, branch: str) -> None:
    """With the user's own configuration, where their credentials are; no hook runs and nothing is asked."""
    refs = f"refs/heads/{branch}:refs/heads/{branch}"
    try:
        await users_own_git(git_dir, *_PUSH, REMOTE, refs)
    except GitFailed as error:
        raise Refused(f"{branch} could not be pushed to {REMOTE}: {error}") from error
