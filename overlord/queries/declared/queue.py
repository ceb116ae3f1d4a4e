"""The jobs that wait for a session, in the order they are begun, and what each waits for."""

from overlord.domain.chat.lines import issue_of, listed, paused, since, words
from overlord.domain.inquiry import Queue
from overlord.domain.text.plain import count
from overlord.domain.view.span import Mark
from overlord.domain.view.view import Note, Table, View
from overlord.queries import overview
from overlord.queries.look import Look
from overlord.queries.query import Nothing, Query


def _read(look: Look, _arguments: Nothing) -> Queue:
    return overview.queue(look.connection, look.settings, at=look.at)


def _view(_look: Look, queue: Queue) -> View:
    rows = tuple(
        (
            (str(item.job.id),),
            (*((Mark("⚡"),) if item.job.is_urgent else ()), *issue_of(item.job)),
            (words(item.why),),
            (since(item.job.created_at, queue.at),),
        )
        for item in queue.jobs
    )
    text = f"{count(len(queue.jobs), 'job')} in the queue"
    parts = (
        listed(Table(("job", "issue", "waits", "age"), rows), "Nothing is queued."),
        *paused(queue.pauses),
        Note(f"{queue.running} of {count(queue.most, 'session')} at once are taken."),
    )
    return View(summary=text, parts=parts, has_title=True)


QUERY = Query(
    read=_read, view=_view, usage="queue", means="what starts next, and what it waits for", position=2
)
