"""Reviews, comments on a diff and check runs as GitHub shows them."""

import zlib

from overlord.embedded.forge.api import address
from overlord.embedded.forge.api.shape import Json, Shape, moment, node_id
from overlord.embedded.forge.record import CheckRun, Review, ReviewComment


class ReviewShape:
    """Renders them with the addresses of a `Shape`."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape

    def review(self, review: Review) -> Json:
        api, page = self._addresses(review)
        html_url = f"{page}#pullrequestreview-{review.id}"
        return {
            "id": review.id,
            "node_id": node_id("PRR", review.id),
            "user": self._shape.user(review.author),
            "body": review.body,
            "state": review.state,
            "html_url": html_url,
            "pull_request_url": api,
            "_links": address.links(html=html_url, pull_request=api),
            "author_association": self._association(review.author),
            "submitted_at": moment(review.submitted_at),
            "commit_id": review.commit_id,
        }

    def review_comment(self, comment: ReviewComment, line: int | None) -> Json:
        """A comment, with the line it is at now; GitHub leaves `in_reply_to_id` out where there is none."""
        api, page = self._addresses(comment)
        url, html_url = f"{api.rpartition('/')[0]}/comments/{comment.id}", f"{page}#discussion_r{comment.id}"
        shown: Json = {
            "id": comment.id,
            "node_id": node_id("PRRC", comment.id),
            "url": url,
            "html_url": html_url,
            "pull_request_url": api,
            "_links": address.links(self=url, html=html_url, pull_request=api),
            "pull_request_review_id": comment.review_id,
            "diff_hunk": f"@@ -{comment.line} +{comment.line} @@",
            "path": comment.path,
            "line": line,
            "original_line": comment.line,
            "side": "RIGHT",
            "subject_type": "line",
            "commit_id": comment.commit_id,
            "original_commit_id": comment.commit_id,
            "user": self._shape.user(comment.author),
            "author_association": self._association(comment.author),
            "body": comment.body,
            "created_at": moment(comment.created_at),
            "updated_at": moment(comment.created_at),
        }
        if comment.in_reply_to_id is not None:
            shown["in_reply_to_id"] = comment.in_reply_to_id
        return shown

    def check_run(self, run: CheckRun) -> Json:
        api, page = self._shape.addresses(run.repository)
        return {
            "id": run.id,
            "node_id": node_id("CR", run.id),
            "name": run.name,
            "head_sha": run.sha,
            "external_id": "",
            "url": f"{api}/check-runs/{run.id}",
            "html_url": f"{page}/runs/{run.id}",
            "details_url": f"{page}/runs/{run.id}",
            "status": run.status,
            "conclusion": run.conclusion,
            "check_suite": {"id": zlib.crc32(f"{run.sha} {run.app}".encode())},
            "started_at": moment(run.started_at),
            "completed_at": moment(run.completed_at),
            "output": {
                "title": run.title or None,
                "summary": run.summary or None,
                "text": None,
                "annotations_count": 0,
                "annotations_url": f"{api}/check-runs/{run.id}/annotations",
            },
            "app": self._app(run),
            "pull_requests": [],
        }

    def _app(self, run: CheckRun) -> Json:
        """The app that runs a check; the repository's owner counts as its owner, and it as old as the repository."""
        repository, number = self._shape.state.repository(run.repository), zlib.crc32(run.app.encode())
        return {
            "id": number,
            "slug": run.app,
            "node_id": node_id("A", number),
            "owner": self._shape.user(repository.owner),
            "name": run.app.replace("-", " ").title(),
            "description": None,
            "external_url": f"{self._shape.origin}/apps/{run.app}",
            "html_url": f"{self._shape.origin}/apps/{run.app}",
            "created_at": moment(repository.created_at),
            "updated_at": moment(repository.created_at),
            "permissions": {"checks": "write", "metadata": "read"},
            "events": [],
        }

    def _addresses(self, item: Review | ReviewComment) -> tuple[str, str]:
        """The pull request's, at the API and for people."""
        api, page = self._shape.addresses(item.repository)
        return f"{api}/pulls/{item.number}", f"{page}/pull/{item.number}"

    def _association(self, login: str) -> str:
        return self._shape.state.user(login).association
