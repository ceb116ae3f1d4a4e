"""What the embedded forge refuses, in GitHub's own words and status codes."""

from collections.abc import Sequence

DOCUMENTATION = "https://docs.github.com/rest"
REDIRECTS = f"{DOCUMENTATION}/guides/best-practices-for-using-the-rest-api#follow-redirects"


class Problem(Exception):
    """A request that is answered with an error body. People-side verbs raise it too."""

    def __init__(
        self, status: int, message: str, errors: Sequence[dict[str, str]] = (), *, location: str = ""
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = list(errors)
        self.location = location
        """Where what was asked for is instead, of a redirect."""

    def __str__(self) -> str:
        details = [
            error.get("message") or f"{error.get('field')}: {error.get('code')}" for error in self.errors
        ]
        return ": ".join([self.message, *details])

    def body(self) -> dict[str, object]:
        body: dict[str, object] = {"message": self.message}
        if self.location:
            return body | {"url": self.location, "documentation_url": REDIRECTS}
        if self.errors:
            body["errors"] = self.errors
        return body | {"documentation_url": DOCUMENTATION, "status": str(self.status)}


class Transferred(Problem):
    """An issue has another address now, in a repository that not everybody may see."""

    def __init__(self, repository: str, number: int) -> None:
        super().__init__(301, "Moved Permanently")
        self.repository = repository
        self.number = number


class Renamed(Problem):
    """A repository has another name now, which not everybody may see."""

    def __init__(self, repository_id: int) -> None:
        super().__init__(301, "Moved Permanently")
        self.repository_id = repository_id


def missing(message: str = "Not Found") -> Problem:
    """No such thing, or none this account may see."""
    return Problem(404, message)


def forbidden() -> Problem:
    return Problem(403, "Resource not accessible by personal access token")


def deleted() -> Problem:
    """An issue that was there."""
    return Problem(410, "This issue was deleted")


def invalid(resource: str, field: str, code: str = "invalid") -> Problem:
    """A field that does not hold what it must."""
    return Problem(422, "Validation Failed", [{"resource": resource, "field": field, "code": code}])


def unfit(resource: str, message: str) -> Problem:
    """A request that is well formed and cannot be done."""
    return Problem(422, "Validation Failed", [{"resource": resource, "code": "custom", "message": message}])
