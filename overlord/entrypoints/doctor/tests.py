"""What `overlord doctor` says of a repository's tests: whether there are any to judge work by, read from the daemon's own copy."""

from contextlib import closing

from overlord.adapters.git.mirrors import GitMirrors
from overlord.domain.checks.file import CHECKS_PATH
from overlord.domain.checks.untested import UntestedPolicy, judged
from overlord.domain.identifiers import RepositoryName
from overlord.engine.sessions.untested import look
from overlord.entrypoints.doctor.finding import Finding, warn, well
from overlord.errors import OverlordError
from overlord.home import Home
from overlord.queries import overview
from overlord.settings.load import Settings
from overlord.store.database import open_reader

NOT_FETCHED = "not looked at yet; where none are found, the first job asks how its work is judged"


async def examine_tests(settings: Settings, name: RepositoryName, branch: str) -> Finding:
    """Nothing is fetched and nothing is run for it."""
    what, home = f"{name} tests", Home(settings.home)
    if not home.mirror(name).exists():
        return well(what, NOT_FETCHED)
    git = GitMirrors(home, extent=settings.extent)
    try:
        head = await git.branch_head(name, settings.space(name).base_branch or branch)
        seen = await look(git, name, head) if head else None
    except OverlordError as error:
        return warn(what, f"the daemon's copy cannot be read: {error}")
    if seen is None:
        return well(what, NOT_FETCHED)
    if seen.has_tests:
        return well(what, f"work is judged by {seen.tests}")
    looked = judged(seen.lint, review=settings.space(name).checks.review)
    if (policy := _policy(home, name)) is not None:
        return well(what, f"none: {policy.describe()}. Judged: {looked}")
    return warn(
        what,
        f"none were found: judged are {looked}, not whether the code works. The first job asks how to go on;"
        f" or name their command in {CHECKS_PATH}",
    )


def _policy(home: Home, name: RepositoryName) -> UntestedPolicy | None:
    if not home.database.exists():
        return None
    with closing(open_reader(home.database)) as connection:
        return overview.untested(connection, name)
