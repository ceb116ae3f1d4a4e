"""Every repository managed by Overlord, how it came there, and what it is at."""

from overlord.command_ref import CommandRef
from overlord.domain.chat.lines import listed, words
from overlord.domain.inquiry import ManagedRepository
from overlord.domain.view.span import Bold, Command
from overlord.domain.view.view import Table, View
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.queries.query import Nothing, Query

_COLUMNS = ("repository", "by", "sessions", "open jobs", "state")
_ADD = Command(CommandRef("space add", ("owner/repo",)))


def _read(look: Look, _arguments: Nothing) -> tuple[ManagedRepository, ...]:
    return overview.managed_repositories(look.connection, look.settings)


def _view(_look: Look, found: tuple[ManagedRepository, ...]) -> View:
    rows = tuple(
        (
            (Bold(item.name),),
            (words(item.by),),
            (f"{item.running} of {item.most}",),
            (str(item.open_jobs),),
            (words(item.state),),
        )
        for item in found
    )
    text = f"{len(found)} managed {'repository' if len(found) == 1 else 'repositories'}"
    return View(
        summary=text,
        parts=(
            listed(Table(_COLUMNS, rows), "No repository is managed by Overlord; ", _ADD, " puts one there."),
        ),
        has_title=True,
    )


QUERY = Query(
    read=_read,
    view=_view,
    usage="space list",
    aliases=("space", "space list"),
    means="the managed repositories; `space show owner/repo` what one is worked on by",
    position=7,
    terminal="space list",
    has_runs=False,
)
