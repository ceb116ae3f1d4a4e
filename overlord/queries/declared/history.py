"""The jobs that ended last: how, at what cost, after how long."""

from overlord.domain.budgets.budget import cost_text
from overlord.domain.chat.lines import issue_of, listed, result_column, result_of, since, words
from overlord.domain.conversation.pull_card import state_of
from overlord.domain.inquiry import EndedJob, History, age_text
from overlord.domain.view.span import Bold
from overlord.domain.view.view import Table, View
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.queries.query import Nothing, Query

TITLE = "What ended lately"


def _read(look: Look, _arguments: Nothing) -> History:
    return overview.history(look.connection, at=look.at)


def _view(look: Look, history: History) -> View:
    columns = ("job", "issue", "ended", result_column(look.is_local), "cost", "took", "ago")
    rows = tuple(
        (
            (str(item.job.id),),
            issue_of(item.job),
            _how(item),
            result_of(item.job, is_local=look.is_local),
            (cost_text(item.cost),),
            (age_text(item.took_s),),
            (since(item.ended_at, history.at),),
        )
        for item in history.jobs
    )
    return View(summary=TITLE, parts=(listed(Table(columns, rows), "No job has ended yet."),), has_title=True)


def _how(item: EndedJob) -> tuple[Bold | str, ...]:
    reason = f": {words(item.job.reason)}" if item.job.reason else ""
    return (Bold(state_of(item.job)), reason)


QUERY = Query(
    read=_read, view=_view, usage="history", means="what ended lately", position=3, terminal="job history"
)
