"""A ledger event as a sentence for people: the job's story on the command line, and wherever else it is told."""

from collections.abc import Callable, Mapping

from minion.protocol import NATIVE
from overlord.domain.event import EventName as E
from overlord.domain.event import Json
from overlord.domain.portfolio.event_sentences import SENTENCES as PORTFOLIO
from overlord.domain.text.plain import count, visible

SHOWN = 3
"""Findings told in one sentence."""
SHOWN_CHARS = 160
"""Of a list of patterns."""

_Sentence = str | Callable[[Mapping[str, Json]], str]


def _findings_line(findings: Json) -> str:
    lines = [str(finding) for finding in findings] if isinstance(findings, list) else []
    more = f" and {len(lines) - SHOWN} more" if len(lines) > SHOWN else ""
    return "; ".join(lines[:SHOWN]) + more or "a revision on the same branch"


def _joined(what: Json) -> str:
    return "; ".join(map(str, what)) if isinstance(what, list) else str(what)


def _how_many(what: Json, noun: str) -> str:
    return count(len(what), noun) if isinstance(what, list) else f"some {noun}s"


def _number(what: Json, noun: str) -> str:
    return count(what, noun) if isinstance(what, int) else f"some {noun}s"


def _begins(data: Mapping[str, Json]) -> str:
    """Where a job begins that mends another."""
    if not data.get("mends"):
        return ""
    if data.get("afresh"):
        return f"; it begins at phase {data['phase']}: {data['afresh']}"
    return f"; it begins at phase {data['phase']}, where job {data['mends']} failed"


def _edited(data: Mapping[str, Json]) -> str:
    if data["edition"] is None:
        return "the issue says again what is worked on"
    return "the issue was edited; the work goes on with the text it began with"


def _megabytes(size: Json) -> str:
    return f"{size / 1e6:.0f} MB" if isinstance(size, int) else "of unknown size"


def _where(data: Mapping[str, Json]) -> str:
    return f" in {data['space']}" if data.get("space") else ""


def _skills(data: Mapping[str, Json]) -> str:
    text = f"the Minion may load {_joined(data['offered'])}" if data["offered"] else "no skill fits"
    return f"{text}; left out: {_joined(data['left_out'])}" if data["left_out"] else text


def _removed(data: Mapping[str, Json]) -> str:
    return f"; gone: {_joined(data['removed'])}" if data.get("removed") else ""


def _why(data: Mapping[str, Json]) -> str:
    return f": {data['why']}" if data.get("why") else ""


def _notes(data: Mapping[str, Json]) -> str:
    return f": {data['notes'] or data.get('text') or ''}" if data.get("notes") or data.get("text") else ""


def _because(data: Mapping[str, Json]) -> str:
    return f": {data['reason']}" if data.get("reason") else ""


def _decision(data: Mapping[str, Json]) -> str:
    return str(data.get("about") or f"decision {data['decision']}")


def _for_role(data: Mapping[str, Json]) -> str:
    return f" for {data['role']}" if data.get("role") and data.get("kind") == "work" else ""


def _agent(data: Mapping[str, Json]) -> str:
    """Which coding agent works, where it is not the native one."""
    if not data.get("agent"):
        return ""
    model = f" and {data['model']}" if data.get("model") else ""
    by = f" ({data['agent_by']})" if data.get("agent_by") else ""
    return f" with {data['agent']}{model}{by}"


def _at_gate(data: Mapping[str, Json]) -> str:
    return f" at gate {data['gate']}" if data.get("gate") else ""


def _verb(data: Mapping[str, Json]) -> str:
    """Which answer it was, where words alone would not say it."""
    return f" with {data['verb']}" if data.get("gate") else ""


def _otherwise(data: Mapping[str, Json]) -> str:
    return f", and not as it was approved: {data['note']}" if data.get("note") else ""


def _message_sentence(data: Mapping[str, Json]) -> str:
    message = " ".join(str(data["text"]).split())
    message = message if len(message) <= SHOWN_CHARS else f"{message[: SHOWN_CHARS - 1]}…"
    where = (
        f"the Minion of {data['session']} reads it before its next turn"
        if data["session"]
        else "no session is at work, so it goes into the next brief"
    )
    return f"message {data['message']} from a person: “{message}”; {where}"


def _worker(data: Mapping[str, Json]) -> str:
    agent = data.get("agent")
    return "the Minion" if agent in (None, "", NATIVE) else str(agent)


def _with(data: Mapping[str, Json]) -> str:
    """The model that another agent than the native one works with."""
    return f" with {data['model']}" if data.get("agent") and data.get("model") else ""


def _may_write(data: Mapping[str, Json]) -> str:
    text = str(data.get("may_write") or "")
    return (
        f"; it may write {text if len(text) <= SHOWN_CHARS else f'{text[: SHOWN_CHARS - 1]}…'}"
        if text
        else ""
    )


def _access(data: Mapping[str, Json]) -> str:
    where = f" in {_joined(data['spaces'])}" if data["spaces"] else ""
    return f"{data['right']}{where}{f', until {until}' if (until := data['until']) else ''}"


def _ended(sessions: Json) -> str:
    if not isinstance(sessions, int) or not sessions:
        return ""
    are = "is" if sessions == 1 else "are"
    return f"; {count(sessions, 'browser')} that signed in with it {are} signed out"


def _bearer(data: Mapping[str, Json]) -> str:
    if login := data.get("account"):
        return f"{login} of GitHub"
    return f"the bearer of the token {data['token']}" if data["token"] else "the owner of the home"


_LOCAL: Mapping[E, _Sentence] = {
    E.BRANCH_PUSHED: lambda d: f"the work is on the branch {d['branch']}",
    E.PULL_OPENED: "",
    E.DELIVERED: "the work is in review",
}
"""Where there is no forge but this machine's own: people see branches there, and no pull requests."""
_SENTENCES: Mapping[E, _Sentence] = {
    E.CLAIMED: lambda d: f"claimed {d['issue']}: {d['title']}",
    E.SESSION_PREPARED: lambda d: f"prepared {d['session']}{_for_role(d)}{_agent(d)}",
    E.SESSION_STARTED: lambda d: f"{_worker(d)} is at work{_with(d)}{_may_write(d)}",
    E.SESSION_ENDED: lambda d: f"{d['session']} ended ({d['ending']})",
    E.DISPATCH_REFUSED: lambda d: (
        "no session is begun before a person says how work is judged here, where no tests were found"
        if d.get("subject") == "untested"
        else f"no session can be started: {d['body']}"
    ),
    E.SETUP_STARTED: lambda d: f"the environment is set up: {_joined(d['what'])}",
    E.ENVIRONMENT_COMPLETED: lambda d: f"the environment is ready ({_megabytes(d['size'])})",
    E.SETUP_LOST: lambda d: f"setting up the environment was lost ({d['ending']}); it is done again",
    E.SETUP_FAILED: lambda d: f"the environment could not be set up: {d['trouble']}",
    E.WORK_SUBMITTED: lambda d: f"the work came back as commit {str(d['head'])[:12]}",
    E.SESSION_LOST: "the session was lost to infrastructure; it goes back to the queue",
    E.SESSION_STOPPED_SHORT: "the session ended before its work was done",
    E.CHECK_STARTED: "the repository's checks run",
    E.CHECK_LOST: lambda d: f"the checks were lost ({d['ending']}); they are run again",
    E.CHECK_COMPLETED: lambda d: (
        f"{d['check']}: {d['summary']}"  # which begins with these words
        if d["score"] == "not_judged"
        else f"{d['check']}: {d['score'] or 'not made'}: {d['summary']}"
    ),
    E.PASSED: "the evaluation passed",
    E.REVISION_ORDERED: lambda d: f"sent back: {_findings_line(d.get('findings'))}",
    E.CONTRACT_TAKEN: lambda data: (
        f"it goes by contract {data['contract']} ({data['source']}){_begins(data)}"
    ),
    E.CONTRACT_CHANGED: "the repository's contract is another one by now; this job keeps its own",
    E.PHASE_STARTED: lambda data: f"phase {data['phase']} begins: {_joined(data['roles'])}",
    E.PLAN_CHANGED: lambda data: f"the plan has {_joined(data['made']) or 'nothing new'}{_removed(data)}",
    E.ROLE_COMPLETED: lambda data: f"the work of {data['role']} is good; {data['next']} is next",
    E.WORK_REVERTED: lambda data: f"the work of {data['role']} is taken back; it begins again from before it",
    E.ESCALATED: lambda data: f"handed up to {data['to']}{_why(data)}",
    E.ESCALATION_RESOLVED: lambda data: f"{data['by']} says how {data['about']} goes on: {data['choice']}",
    E.GATE_REJECTED: lambda data: (
        f"gate {data['gate']} was rejected: back to phase {data['next']}{_notes(data)}"
    ),
    E.GATE_REUSED: lambda data: f"gate {data['gate']} was approved before, and nothing it shows has changed",
    E.TERMINATED: lambda data: f"the contract ends it: {data.get('role') or 'a role'} cannot go on",
    E.PHASE_COMPLETED: lambda data: (
        f"phase {data['phase']} is complete; {data['next']} is next"
        if data.get("next")
        else "the phase is complete; the next one begins"
    ),
    E.GATE_REACHED: lambda d: (
        "a person must allow the dependencies it asks for"
        if "digest" in d
        else f"the work is at gate {d['gate']} ({d['on']}), which shows {d['fingerprint']}"
        if d.get("on")
        else "everything passed, and a person must approve what was changed"
    ),
    E.FAILED: "the evaluation failed; a person decides",
    E.HOOK_FAILED: lambda d: (
        f"the operator's program {d['program']}, called for {d['hook']}, gave no answer: {d['why']}"
    ),
    E.ATTEMPTS_SPENT: lambda d: (
        f"no other revision: {d['standstill']}; a person decides"
        if d.get("standstill")
        else "the last revision did not pass; a person decides"
    ),
    E.CHECKS_UNAVAILABLE: "a check could not be made; a person decides",
    E.BRANCH_PUSHED: lambda d: f"pushed {d['branch']} at {str(d['head'])[:12]}",
    E.PULL_OPENED: lambda d: f"opened draft pull request #{d['pull']}",
    E.DELIVERED: lambda d: f"pull request #{d['pull']} is in review",
    E.DELIVERY_REFUSED: lambda d: f"the delivery was refused: {d['body']}",
    E.CHANGES_REQUESTED: lambda d: f"reviewers ask for changes ({_how_many(d['asked'], 'point')})",
    E.CI_FAILED: lambda d: f"{_how_many(d['asked'], 'check')} failed on the pull request",
    E.CONFLICT_FOUND: lambda d: f"it conflicts with its base branch in {_how_many(d['asked'], 'file')}",
    E.ROUNDS_SPENT: "something has come up again after the last round of its kind; a person decides",
    E.REBASED: lambda d: (
        f"the base branch was brought in at {str(d['onto'])[:12]}; {str(d['head'])[:12]} is judged again"
    ),
    E.FOREIGN_PUSH_FOUND: lambda d: f"somebody pushed {str(d['head'])[:12]} to its branch; it is judged anew",
    E.WORK_RESUMED: "the work goes on",
    E.SCOPE_GRANTED: "more scope was granted; the change is judged again",
    E.CHECKS_RESTORED: "the checks are made again",
    E.DELIVERY_RETRIED: "the delivery is tried again",
    E.GATE_APPROVED: "a person accepted the change as it is",
    E.MERGED: lambda d: f"pull request #{d['pull']} was merged",
    E.PR_CLOSED: lambda d: f"pull request #{d['pull']} was closed",
    E.STOPPED: lambda d: f"stopped: {d['reason']}",
    E.DROPPED: "dropped by a person",
    E.TAKEN_OVER: "taken over by a person",
    E.LIFETIME_EXCEEDED: "its lifetime is over",
    E.SCOPE_WIDENED: lambda d: f"more may be written: {_joined(d['patterns'])}",
    E.ISSUE_EDITED: _edited,
    E.SKILLS_CHOSEN: _skills,
    E.SKILL_LOADED: lambda d: f"the Minion loaded the skill {d['skill']}",
    E.SKILLS_REVIEWED: lambda d: f"the skills in pull request {d['space']}#{d['pull']} are {d['said']}",
    E.ISSUE_CLOSED: lambda d: str(d.get("reason") or "the issue was closed"),
    E.UNLABELLED: lambda d: str(d.get("reason") or "the label of the work under way was taken off"),
    E.BUDGET_WARNED: lambda d: f"four fifths are spent of {d['says']}",
    E.BUDGET_SPENT: lambda d: f"spent: {d['says']}",
    E.BUDGET_ADDED: lambda d: (
        f"a person added {d['amount']}{' tokens' if d['unit'] == 'tokens' else ''} to its budget"
    ),
    E.DECISION_RAISED: lambda d: (
        f"{_decision(d)} {'is prepared' if d.get('state') else 'waits for a person'}{_at_gate(d)}: {d['title']}"
    ),
    E.DECISION_OPENED: lambda d: f"{_decision(d)} waits for a person: {d['title']}",
    E.DECISION_ANSWERED: lambda d: f"{_decision(d)}{_at_gate(d)} was answered{_verb(d)}: {d['answer']}",
    E.DECISION_EXPIRED: lambda d: f"{_decision(d)} expired",
    E.DECISION_SUPERSEDED: lambda d: f"{_decision(d)} needs no answer any more",
    E.MESSAGE_POSTED: _message_sentence,
    E.MESSAGE_DELIVERED: lambda d: (
        f"the Minion of {d['session']} has read message {d['message']} at turn {d['turn']}"
        if d["turn"]
        else f"message {d['message']} is in the brief of {d['session']}"
    ),
    E.MESSAGE_DEFERRED: lambda d: (
        f"{d['session']} ended before it read message {d['message']}: it goes into the next brief"
    ),
    E.ENVIRONMENT_REMOVED: lambda d: f"the environment {str(d['environment'])[:12]} was removed",
    **PORTFOLIO,
    E.CALL_REQUESTED: lambda d: f"{d['discipline']} was called in {d['space']} ({d['call']})",
    E.CALL_ENDED: lambda d: (
        f"{d['discipline']} ended ({d['call']}): {d['status']}, {'verified' if d['verified'] else 'not verified'}"
    ),
    E.CALL_CANCELLED: lambda d: f"{d['discipline']} ({d['call']}) was cancelled",
    E.HISTORY_APPENDED: lambda d: (
        f"session {d['session']} in {d['space']} was told of {d['phase']}: {d['status']}"
    ),
    E.TRAINING_WRITTEN: lambda d: f"{_number(d['records'], 'record')} of training data written",
    E.CHAT_REFUSED: lambda d: f"somebody in the chat was refused: {d['reason']}",
    E.PAGE_REFUSED: lambda d: (
        f"somebody {'over MCP' if d.get('interface') == 'mcp' else 'on the page'} was refused {d['verb']}: {d['reason']}"
    ),
    E.COMMENT_REFUSED: lambda d: f"a command at #{d['number']} was refused: {d['reason']}",
    E.ISSUE_REQUESTED: lambda d: f"a person asks for an issue in {d['space']} ({d['kind']}): {d['title']}",
    E.REQUESTED_ISSUE_OPENED: lambda d: f"{d['issue']} is there, as a person asked ({d['kind']})",
    E.DISCOVERY_RECORDED: lambda d: (
        f"the architect recorded {_number(d['recorded'], 'answer')}; {d['open']} are open"
    ),
    E.QUESTIONS_ASKED: lambda d: (
        f"a person is asked {_number(d['questions'], 'question')}, of {d['open']} that are open"
    ),
    E.DISCOVERY_ANSWERED: lambda d: f"{_number(d['answered'], 'question')} answered; {d['open']} are open",
    E.CONTRACT_PROPOSED: lambda d: f"a contract was proposed, with {_number(d['problems'], 'problem')}",
    E.CONTRACT_EDITED: "a person changed the proposed contract",
    E.CONTRACT_COMMITTED: lambda d: f"the confirmed contract is in {str(d['head'])[:12]}",
    E.WORK_REQUESTED: lambda d: f"a person asks for work on {d['issue']}",
    E.PROPOSAL_RAISED: lambda d: f"proposal p{d['proposal']} waits for a person: {d['title']}",
    E.PROPOSAL_APPROVED: lambda d: f"proposal p{d['proposal']} was approved{_because(d)}",
    E.PROPOSAL_REJECTED: lambda d: f"proposal p{d['proposal']} was rejected{_because(d)}",
    E.PROPOSAL_DISPATCHED: lambda d: f"proposal p{d['proposal']} is {d['issue']} now",
    E.PROPOSAL_RESTED: lambda d: f"proposal p{d['proposal']} rests: {d['note']}",
    E.PROPOSAL_IMPLEMENTED: lambda d: f"proposal p{d['proposal']} is implemented by {d['issue']}",
    E.DRAFT_REQUESTED: lambda d: f"a skill is drafted as d{d['draft']}",
    E.DRAFT_COMPOSED: lambda d: f"draft d{d['draft']} is written: {d['title']}",
    E.DRAFT_CHECKED: lambda d: f"draft d{d['draft']} waits for a person ({d['verdict']}): {d['title']}",
    E.DRAFT_EDITED: lambda d: f"a person edited draft d{d['draft']}",
    E.DRAFT_APPROVED: lambda d: f"draft d{d['draft']} was approved{_because(d)}",
    E.DRAFT_REJECTED: lambda d: f"draft d{d['draft']} was rejected{_because(d)}",
    E.DRAFT_DISPATCHED: lambda d: f"draft d{d['draft']} is {d['issue']} now",
    E.DRAFT_DELIVERED: lambda d: f"draft d{d['draft']} is a pull request of {d['issue']}",
    E.DRAFT_MERGED: lambda d: f"draft d{d['draft']} was merged with {d['issue']}",
    E.DRAFT_DEPLOYED: lambda d: f"draft d{d['draft']} is deployed{_otherwise(d)}",
    E.DRAFT_FAILED: lambda d: f"draft d{d['draft']} went no further: {d['note']}",
    E.TESTS_POLICY_CHOSEN: lambda d: (
        f"while {d['space']} has no tests, "
        + ("work passes without any" if d["choice"] == "without_tests" else "each change brings its own")
    ),
    E.TESTS_POLICY_ENDED: lambda d: (
        f"what was said about missing tests in {d['space']} counts no more: {d['reason']}"
    ),
    E.PAUSED: lambda d: f"no more work is taken up{_where(d)} for now{_because(d)}",
    E.RESUMED: lambda d: f"work is taken up again{_where(d)}",
    E.SPACE_ADDED: lambda d: f"{d['space']} is managed by Overlord",
    E.SPACE_REMOVED: lambda d: f"{d['space']} was taken out of Overlord's care",
    E.ACCESS_GRANTED: lambda d: f"the token {d['token']} was made: it may {_access(d)}",
    E.ACCESS_REVOKED: lambda d: f"the token {d['token']} was revoked{_ended(d['sessions'])}",
    E.SIGNED_IN: lambda d: f"{_bearer(d)} signed in with a browser",
    E.SIGNED_OUT: lambda d: f"{_bearer(d)} signed out",
    E.SIGN_IN_REFUSED: lambda d: f"somebody who wanted to sign in was refused: {d['reason']}",
    E.SETTINGS_CHANGED: lambda d: f"the settings changed: {_joined(d['what'])}",
    E.SETTINGS_REFUSED: lambda d: (
        f"the settings do not load, and the last good ones are kept: {d['problem']}"
    ),
    E.DAEMON_STARTED: lambda d: f"Overlord was started ({d['runner']})",
    E.BACKUP_RESTORED: lambda d: (
        f"the backup of {d['created_at']} was restored; what is newer outside is adopted"
    ),
    E.EVIDENCE_REMOVED: lambda d: (
        f"{_how_many(d['sha256'], 'evidence file')} ({_megabytes(d['size'])}) kept long enough: removed"
    ),
    E.DISK_RAN_LOW: lambda d: f"no new work is begun: {d['reason']}",
    E.DISK_RECOVERED: lambda d: f"the disk has room again ({d['room']}); work is taken up again",
    E.MODEL_FAILED: lambda d: (
        f"{d['said']}, trying again for {d['tried_for']}" if d["tried_for"] else f"{d['said']}. {d['advice']}"
    ),
    E.MODEL_RECOVERED: lambda d: f"the model {d['model']} answers again, after {d['lasted']}",
    E.DATABASE_UPGRADED: lambda d: (
        f"the database was upgraded from schema {d['from']} to {d['to']}; the old one is {d['copy']}"
    ),
    E.SIDE_TASK_FAILED: lambda d: f"{d['task']} failed and is started again: {d['error']}",
    E.STEP_FAILED: lambda d: f"a step failed and is tried again later: {d['trouble']}",
}


def describe_event(name: str, data: Mapping[str, Json], *, is_local: bool = False) -> str:
    """One sentence, safe to print on a terminal; of a fact another version wrote in another shape, its name. Empty for what is
    nothing to people where the forge is this machine's own (`is_local`)."""
    wording = None
    if name in set(E):
        local = _LOCAL.get(E(name)) if is_local else None
        if local == "":
            return ""
        wording = local or _SENTENCES.get(E(name))
    try:
        sentence = wording(data) if callable(wording) else wording or name.replace("_", " ")
    except KeyError:
        sentence = name.replace("_", " ")
    return " ".join(visible(sentence).split())
