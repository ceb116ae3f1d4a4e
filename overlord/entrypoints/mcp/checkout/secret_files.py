"""Files that look like secrets, by their names or by what is in them. Of files that git does not track, they are not shown to a worker."""

from fnmatch import fnmatch
from pathlib import PurePosixPath

from overlord.domain.text.secret_detection import find_secrets

LOOKED_AT_BYTES = 256_000
"""A larger file is not searched."""
_NAMES = (
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "*.asc",
    "*.gpg",
    "*.tfvars",
    "*.tfstate",
    "*.tfstate.*",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    ".pgpass",
    "credentials",
    "credentials.*",
    "*credentials.json",
    "secrets",
    "secrets.*",
    "*.secret",
    "*.secrets",
    "service-account*.json",
    "kubeconfig",
)
_EXAMPLES = ("*.example", "*.sample", "*.template", "*.dist", "*.pub")
"""What is written to be shown."""
_CODE = (".py", ".js", ".ts", ".tsx", ".go", ".rs", ".java", ".rb", ".c", ".h", ".cpp", ".md")
"""Code that is about credentials holds none by its name alone."""
_DIRECTORIES = frozenset({".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud"})


def has_secret_name(path: str) -> bool:
    """Whether a file is called as those are that hold secrets."""
    pure = PurePosixPath(path.casefold())
    if _DIRECTORIES.intersection(pure.parts[:-1]):
        return True
    if pure.suffix in _CODE or any(fnmatch(pure.name, pattern) for pattern in _EXAMPLES):
        return False
    return any(fnmatch(pure.name, pattern) for pattern in _NAMES)


def holds_secret(content: bytes) -> bool:
    """Whether something in a file has the shape of a secret; what merely looks random is no secret for certain."""
    if len(content) > LOOKED_AT_BYTES or b"\0" in content:
        return False
    return any(secret.certain for secret in find_secrets(content.decode("utf-8", "replace")))
