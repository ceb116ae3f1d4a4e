"""The names by which things are known across rooms."""

from typing import NewType

RepositoryName = NewType("RepositoryName", str)
"""`owner/name`, as GitHub spells it."""
SessionId = NewType("SessionId", str)
Sha = NewType("Sha", str)
