"""How the operations are answered that show what others say of a change: reviews, comments on the diff, checks, logs."""

from starlette.responses import PlainTextResponse, RedirectResponse, Response

from overlord.embedded.forge.api.problem import Problem, missing
from overlord.embedded.forge.api.reply import page_of, reply
from overlord.embedded.forge.api.rest import Call
from overlord.embedded.forge.api.review_shape import ReviewShape
from overlord.embedded.forge.record import CheckRun

LOG_PATH = "/logs/{log_key}"
"""Beside the API, as GitHub's storage is: what leads here is signed, and who comes with a token is refused."""


def _shape(call: Call) -> ReviewShape:
    return ReviewShape(call.shape)


async def list_reviews(call: Call) -> Response:
    pull = call.pull()
    page, link = page_of(call.request, call.state.reviews(pull.repository, pull.number))
    return reply([_shape(call).review(review) for review in page], headers=link)


async def list_review_comments(call: Call) -> Response:
    await call.state.follow_branches(call.repository().name)
    pull = call.pull()
    comments = call.state.review_comments(pull.repository, pull.number)
    if call.query("sort") and call.query("direction", "desc") == "desc":
        comments.reverse()
    page, link = page_of(call.request, comments)
    lines = await call.state.lines_now(pull, page)
    shown = [_shape(call).review_comment(item, line) for item, line in zip(page, lines, strict=True)]
    return reply(shown, headers=link)


async def create_reply(call: Call) -> Response:
    pull = call.pull()
    comment = call.state.reply_to(
        pull.repository,
        pull.number,
        call.request.path_params["comment_id"],
        await call.text("body", "PullRequestReviewComment"),
        call.user.login,
    )
    [line] = await call.state.lines_now(pull, [comment])
    return reply(_shape(call).review_comment(comment, line), 201)


async def list_check_runs(call: Call) -> Response:
    repository, sha = await _commit(call)
    runs = call.state.newest_check_runs(repository, sha)
    if call.query("filter", "latest") == "all":
        runs = call.state.check_runs(repository, sha)[::-1]
    page, link = page_of(call.request, runs)
    shown = [_shape(call).check_run(run) for run in page]
    return reply({"total_count": len(runs), "check_runs": shown}, headers=link)


async def get_combined_status(call: Call) -> Response:
    repository, sha = await _commit(call)
    statuses = call.state.newest_statuses(repository, sha)
    page, link = page_of(call.request, statuses)
    states = {status.state for status in statuses}
    succeeded = "success" if states == {"success"} else "pending"
    shown = {
        "state": "failure" if states & {"failure", "error"} else succeeded,
        "statuses": [call.shape.status(status) for status in page],
        "sha": sha,
        "total_count": len(statuses),
        "repository": call.shape.repository(call.repository(), call.user),
        "commit_url": f"{call.shape.addresses(repository)[0]}/commits/{sha}",
        "url": f"{call.shape.addresses(repository)[0]}/commits/{sha}/status",
    }
    return reply(shown, headers=link)


async def download_job_logs(call: Call) -> Response:
    """Where the log of a job is; nothing of it."""
    repository = call.repository()
    run = call.state.records.get(CheckRun, str(call.request.path_params["job_id"]))
    if run is None or run.repository != repository.name or not run.has_log:
        raise missing()
    return RedirectResponse(f"{call.shape.origin}{LOG_PATH.format(log_key=run.log_key)}", 302)


async def get_log(call: Call) -> Response:
    """The log behind an address that was given out. As at GitHub's storage, a token here is a mistake."""
    if "authorization" in call.request.headers:
        raise Problem(400, "Authentication information is not given in the correct format.")
    key = call.request.path_params["log_key"]
    found = next((run for run in call.state.records.all(CheckRun) if run.log_key == key), None)
    if found is None:
        raise missing("The specified blob does not exist.")
    return PlainTextResponse(found.log)


async def delete_reference(call: Call) -> Response:
    repository = call.repository(to_write=True)
    reference = call.request.path_params["ref"]
    await call.state.delete_reference(repository.name, reference, actor=call.user.login)
    return Response(status_code=204)


async def _commit(call: Call) -> tuple[str, str]:
    """The repository and commit that are asked about: a SHA, or the name of a branch."""
    repository, ref = call.repository().name, call.request.path_params["ref"]
    sha = (await call.state.heads(repository)).get(ref, ref)
    if not await call.state.has_commit(repository, sha):
        raise Problem(422, f"No commit found for SHA: {ref}")
    return repository, sha
