"""What commits of the embedded forge hold, on the wire: the files a pull request changes, trees and blobs."""

import asyncio
import base64
from pathlib import Path
from typing import Any

from starlette.responses import Response

from overlord.embedded.forge import repository as bare
from overlord.embedded.forge.api.problem import missing
from overlord.embedded.forge.api.reply import page_of, reply
from overlord.embedded.forge.api.rest import Call
from overlord.embedded.forge.api.shape import node_id

STATUSES = {"A": "added", "D": "removed", "M": "modified", "T": "changed", "R": "renamed"}
MOST_LISTED = 3_000
"""Files of a pull request GitHub lists, whatever there are more."""
TYPES = {"040000": "tree", "160000": "commit"}


async def list_files(call: Call) -> Response:
    await call.state.follow_branches(call.repository().name)
    pull = call.pull()
    directory = call.state.directory(pull.repository)
    changed = await asyncio.to_thread(_changed, directory, pull.base_sha, pull.head_sha)
    page, link = page_of(call.request, changed[:MOST_LISTED])
    return reply([_entry(call, pull.repository, pull.head_sha, item) for item in page], headers=link)


def _changed(directory: Path, base: str, head: str) -> list[dict[str, Any]]:
    """What head changes since it left base."""
    output = bare.git(directory, "diff", "--raw", "--no-abbrev", "-z", "-M", f"{base}...{head}", "--")
    fields, found = iter(output.decode(errors="replace").split("\0")[:-1]), []
    for words in fields:
        _, _, old, new, status = words.split()
        path = next(fields)
        moved = {"previous_filename": path, "filename": next(fields)} if status[0] == "R" else {}
        sha = old if status[0] == "D" else new
        found.append({"filename": path, "sha": sha, "status": STATUSES[status[0]], **moved})
    return found


def _entry(call: Call, repository: str, head: str, item: dict[str, Any]) -> dict[str, Any]:
    api, page = call.shape.addresses(repository)
    path = item["filename"]
    return item | {
        # GitHub counts lines; that takes another diff, and nobody here reads it.
        **dict.fromkeys(("additions", "deletions", "changes"), 0),
        "blob_url": f"{page}/blob/{head}/{path}",
        "raw_url": f"{page}/raw/{head}/{path}",
        "contents_url": f"{api}/contents/{path}?ref={head}",
    }


async def get_tree(call: Call) -> Response:
    """One directory, by its own name or that of a commit or a branch."""
    repository, name = call.repository(), call.request.path_params["tree_sha"]
    try:
        directory = call.state.directory(repository.name)
        sha = await asyncio.to_thread(bare.git, directory, "rev-parse", "--verify", f"{name}^{{tree}}")
        output = await asyncio.to_thread(bare.git, directory, "ls-tree", "-z", "-l", sha.decode().strip())
    except bare.GitError:
        raise missing() from None
    api, _ = call.shape.addresses(repository.name)
    entries = [_of_tree(api, entry) for entry in output.decode(errors="replace").split("\0")[:-1]]
    tree = sha.decode().strip()
    return reply({"sha": tree, "url": f"{api}/git/trees/{tree}", "tree": entries, "truncated": False})


def _of_tree(api: str, entry: str) -> dict[str, Any]:
    words, _, path = entry.partition("\t")
    mode, _, sha, size = words.split()
    kind = TYPES.get(mode, "blob")
    shown = {"path": path, "mode": mode, "type": kind, "sha": sha, "url": f"{api}/git/{kind}s/{sha}"}
    return shown | ({"size": int(size)} if kind == "blob" else {})


async def get_blob(call: Call) -> Response:
    repository, sha = call.repository(), call.request.path_params["file_sha"]
    try:
        directory = call.state.directory(repository.name)
        content = await asyncio.to_thread(bare.git, directory, "cat-file", "blob", sha)
    except bare.GitError:
        raise missing() from None
    api, _ = call.shape.addresses(repository.name)
    return reply(
        {
            "sha": sha,
            "node_id": node_id("B", int(sha[:8], 16)),
            "size": len(content),
            "url": f"{api}/git/blobs/{sha}",
            "content": base64.encodebytes(content).decode(),
            "encoding": "base64",
        }
    )
