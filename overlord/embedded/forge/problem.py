"""What the embedded forge refuses, in GitHub's own words and status codes."""

from collections.abc import Sequence

DOCUMENTATION = "https://docs.github.com/rest"


class Problem(Exception):
    """A request that is answered with an error body. People-side verbs raise it too."""

    def __init__(self, status: int, message: str, errors: Sequence[dict[str, str]] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = list(errors)

    def __str__(self) -> str:
        details = [
            error.get("message") or f"{error.get('field')}: {error.get('code')}" for error in self.errors
        ]
        return ": ".join([self.message, *details])

    def body(self) -> dict[str, object]:
        body: dict[str, object] = {"message": self.message}
        if self.errors:
            body["errors"] = self.errors
        return body | {"documentation_url": DOCUMENTATION, "status": str(self.status)}


def missing(message: str = "Not Found") -> Problem:
    """No such thing, or none this account may see."""
    return Problem(404, message)


def forbidden() -> Problem:
    return Problem(403, "Resource not accessible by personal access token")


def invalid(resource: str, field: str, code: str = "invalid") -> Problem:
    """A field that does not hold what it must."""
    return Problem(422, "Validation Failed", [{"resource": resource, "field": field, "code": code}])


def unfit(resource: str, message: str) -> Problem:
    """A request that is well formed and cannot be done."""
    return Problem(422, "Validation Failed", [{"resource": resource, "code": "custom", "message": message}])
