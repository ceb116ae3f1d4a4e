"""What Go and Rust projects need: their compiler from Debian, and their dependencies in the environment, read-only later."""

from overlord.domain.checks.testruns.report import REPORT_PATH
from overlord.domain.environments.paths import CARGO_MANIFESTS, GO_MANIFESTS
from overlord.domain.environments.source import Part, Sources

_GO_ONLINE = 'if [ "$GOPROXY" = off ]; then unset GOPROXY; fi; '
"""The plan's variables hold for sessions; a proxy that a person configured stays."""


def go_part(sources: Sources) -> Part | None:
    if not sources.has("go.mod"):
        return None
    is_vendored = sources.has("vendor/modules.txt")
    download = () if is_vendored else (f"{_GO_ONLINE}go mod download",)
    # Compiles everything, tests too, and runs nothing: a session's first build takes half a second instead of twenty.
    warm = f"{_GO_ONLINE}go test -exec true ./... >/dev/null 2>&1 || true"
    return Part(
        packages=("golang-go",),
        install=(*download, warm),
        variables=(
            ("GOMODCACHE", "{environment}/go/mod"),
            ("GOCACHE", "{environment}/go/cache"),
            ("GOFLAGS", "-modcacherw"),
            ("GOPROXY", "off"),
            # Go fails where it cannot write its index of packages, and bears with all else in a read-only cache.
            ("GODEBUG", "goindex=0"),
        ),
        inputs=sources.present((*GO_MANIFESTS, "vendor/modules.txt")),
        tests=("go", "test", "./..."),
        reported=("sh", "-c", f"go test -json ./... >{REPORT_PATH}"),
        lint=("go", "vet", "./..."),
        what=(f"Go module ({'go.mod, vendored' if is_vendored else 'go.mod'})",),
    )


def cargo_part(sources: Sources) -> Part | None:
    if not sources.has("Cargo.toml"):
        return None
    locked = " --locked" if sources.has("Cargo.lock") else ""
    manifest = sources.toml("Cargo.toml")
    members = [name for name in sources.names if "workspace" in manifest and name.endswith("/Cargo.toml")]
    lines = [f"Rust project ({'Cargo.toml and Cargo.lock' if locked else 'Cargo.toml'})"]
    if sources.has("rust-toolchain", "rust-toolchain.toml"):
        lines.append("it pins a Rust toolchain; Debian's is installed")
    return Part(
        packages=("cargo",),
        install=(f"CARGO_NET_OFFLINE=false cargo fetch{locked}",),
        variables=(("CARGO_HOME", "{environment}/cargo"), ("CARGO_NET_OFFLINE", "true")),
        inputs=(*sources.present(CARGO_MANIFESTS), *members),
        tests=("cargo", "test", "--offline"),
        what=tuple(lines),
    )
