"""The first page of an exported job: its story in plain sentences, with links to the files beside it.

Words of people, models and repositories are made safe for whatever shows the page: they link to nothing and end nothing.
"""

from collections.abc import Iterator

from minion.protocol import Report, SessionKind
from overlord.domain.budgets.budget import Cost, cost_text
from overlord.domain.conversation.pull_card import state_in_words
from overlord.domain.decision_history import told
from overlord.domain.evaluation import describe, overall
from overlord.domain.event import OVERLORD
from overlord.domain.session import Session, SessionState
from overlord.domain.text.plain import count, defused_line, quoted
from overlord.entrypoints.export.record import FINAL, Kept, check_directory, directory_of
from overlord.entrypoints.export.writing import Bundle

SHOWN_CHARS = 300
MOST_FINDINGS = 20


def readme(kept: Kept, bundle: Bundle) -> str:
    """The page."""
    parts = (
        _outcome(kept),
        _contract(kept, bundle),
        _phases(kept),
        _sessions(kept, bundle),
        _checks(kept),
        _gates(kept, bundle),
        _beside(bundle),
    )
    return "\n".join(line for part in parts for line in part) + "\n"


def _words(text: str, limit: int = SHOWN_CHARS) -> str:
    line = defused_line(text)
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"


def _outcome(kept: Kept) -> Iterator[str]:
    job = kept.job
    yield f"# Job {job.id}: {_words(job.issue.title) or 'no title'}"
    yield ""
    reason = f": {_words(job.reason)}" if job.reason else ""
    when = f"{job.updated_at:%Y-%m-%d %H:%M} UTC"
    about = f"Call {job.call_ref}" if job.call_ref else f"Issue {job.issue.number}"
    yield f"{about} of {_words(job.space)}, by {_words(job.issue.author)}. It is **{state_in_words(job.state)}**{reason}, since {when}."
    pull = f" The pull request is number {job.pull_number}." if job.pull_number is not None else ""
    yield (
        f"The work is on the branch `{job.branch}`, from {(job.base_sha or 'no commit')[:12]} to {(job.head_sha or 'no commit')[:12]}.{pull}"
    )
    took = count(len(kept.sessions), "session")
    yield f"It had {took} and cost {cost_text(kept.cost)}."
    yield from ("", "## The issue", "", quoted(job.issue.body or "(no text)"))


def _contract(kept: Kept, bundle: Bundle) -> Iterator[str]:
    yield from ("", "## The contract", "")
    if kept.contract is None:
        yield f"It went by the contract {_words(kept.job.contract)}, of which no copy was kept."
        return
    yield (
        f"It went by [contract.yaml](contract.yaml): {_words(kept.job.contract)}, from {_words(kept.contract.source)}, digest {kept.contract.digest}."
    )
    plan = [path for path in bundle.files if path.startswith("plan/")]
    if plan:
        yield "Its plan, as it stands in the end: " + ", ".join(f"[{path}]({path})" for path in plan) + "."


def _phases(kept: Kept) -> Iterator[str]:
    yield from ("", "## What happened")
    section = ""
    for item in told(kept.facts):
        if item.section != section:
            section = item.section
            yield from ("", f"### {_words(section)}", "")
        who = "" if item.actor == OVERLORD else f"{_words(item.actor)}: "
        yield f"- {item.at:%Y-%m-%d %H:%M:%S} {who}{_words(item.sentence)}"


def _sessions(kept: Kept, bundle: Bundle) -> Iterator[str]:
    yield from ("", "## Sessions", "")
    for number, session in enumerate(kept.sessions, 1):
        place = directory_of(number, session)
        there = [path for path in bundle.files if path.startswith(f"{place}/")]
        links = ", ".join(f"[{path.rpartition('/')[2]}]({path})" for path in there) or "nothing is kept of it"
        yield f"- **{session.id}**{_who(session)}, {_ended(session)}, {_cost(kept, session)}: {links}"
        if isinstance(session.report, Report) and session.report.summary:
            yield f"  It said: {_words(session.report.summary)}"
    if not kept.sessions:
        yield "None was begun."


def _who(session: Session) -> str:
    return f" as {_words(session.role)}" if session.kind is SessionKind.WORK else ""


def _ended(session: Session) -> str:
    if session.state is not SessionState.ENDED:
        return "which has not ended"
    if session.started_at is None or session.ended_at is None:
        return f"ended: {_words(session.ending)}"
    took = (session.ended_at - session.started_at).total_seconds()
    return f"{max(took, 0):,.0f} s, ended: {_words(session.ending)}"


def _cost(kept: Kept, session: Session) -> str:
    return cost_text(kept.costs.get(session.id, Cost(tokens=0)))


def _checks(kept: Kept) -> Iterator[str]:
    yield from ("", "## Checks", "")
    for number, row in enumerate(kept.evaluations, 1):
        place = check_directory(number, row)
        verdict = overall(row.checks).replace("_", " ") if row.closed else "cut off before its verdict"
        made = "; ".join(
            f"{check.name} {check.score or 'not made'} ({_words(check.summary)})" for check in row.checks
        )
        yield f"- [evaluation {number}]({place}/evaluation.json) of {row.head_sha[:12]}: **{verdict}**. {made}"
        findings = [finding for check in row.checks for finding in check.findings]
        for finding in findings[:MOST_FINDINGS]:
            yield f"  - {_words(describe(finding))}"
        if len(findings) > MOST_FINDINGS:
            yield f"  - and {len(findings) - MOST_FINDINGS} more"
    if not kept.evaluations:
        yield "Nothing was judged."


def _gates(kept: Kept, bundle: Bundle) -> Iterator[str]:
    yield from ("", "## Gates and questions", "")
    for place in kept.gates:
        shown = f"{place}/inputs.json"
        what = (
            f"[what it showed]({shown})" if shown in bundle.files else "what it showed is not kept any more"
        )
        yield f"- Gate shown, {kept.gates[place].at:%Y-%m-%d %H:%M} UTC: {what}, [its answer]({place}/answer.json)"
    for item in kept.decisions:
        answer = (
            f"{_words(item.answered_by)} said {item.verb}: {_words(item.answer)}"
            if item.answered_at
            else f"no answer ({item.state})"
        )
        yield f"- Decision {item.id}, {_words(item.title)}: {answer}"
    yield from ("", "All of them in full: [decisions.json](decisions.json).")


def _beside(bundle: Bundle) -> Iterator[str]:
    yield from ("", "## Beside this page", "")
    yield "- [ledger.jsonl](ledger.jsonl): every event of this job, with its number and its hash"
    if f"{FINAL}.json" in bundle.files:
        yield f"- [{FINAL}.json]({FINAL}.json): what the job was when it ended, with every file of its head"
    yield "- [manifest.json](manifest.json): the SHA-256 of each file, and which evidence is not here"
    if bundle.redacted:
        yield f"- the contract's `redact` patterns changed {count(len(bundle.redacted), 'file')}; the manifest names them"
    for item in (*bundle.removed, *bundle.missing):
        whose = f" of {item['session']}" if item["session"] else ""
        yield f"- not here: the {_words(item['kind'])}{whose}: {_words(item['why'])}"
