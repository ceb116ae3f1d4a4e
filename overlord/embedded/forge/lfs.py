"""Git LFS at the forge: the batch API with the basic transfer, over objects kept beside each bare repository.

It serves downloads only; what is kept there was put there by the forge's owner.
"""

import re
from hashlib import sha256
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

MEDIA_TYPE = "application/vnd.git-lfs+json"
PATH = re.compile(r"/info/lfs/objects/(?:batch|(?P<oid>[0-9a-f]{64}))")


def put(repository: Path, content: bytes) -> str:
    """Keep an object of a repository; the pointer that is committed in its place."""
    oid = sha256(content).hexdigest()
    place = _place(repository, oid)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {len(content)}\n"


async def answer(request: Request, path: re.Match[str], repository: Path) -> Response:
    """One request beneath a repository that whoever asks may read."""
    if path["oid"] is not None:
        place = _place(repository, path["oid"])
        if request.method != "GET" or not place.exists():
            return _error_response(404, "Object does not exist")
        return Response(place.read_bytes(), media_type="application/octet-stream")
    if request.method != "POST":
        return _error_response(405, "Method not allowed")
    try:
        asked = await request.json()
        wanted = [(str(item["oid"]), int(item["size"])) for item in asked["objects"]]
    except (ValueError, KeyError, TypeError):
        return _error_response(422, "Validation error")
    if asked.get("operation") != "download":
        return _error_response(403, "Uploads are not served here")
    top = str(request.url.replace(query="")).removesuffix("/batch")
    objects = [_object_entry(repository, top, oid, size) for oid, size in wanted]
    return JSONResponse({"transfer": "basic", "objects": objects}, media_type=MEDIA_TYPE)


def _object_entry(repository: Path, top: str, oid: str, size: int) -> dict[str, object]:
    if not re.fullmatch("[0-9a-f]{64}", oid) or not _place(repository, oid).exists():
        return {"oid": oid, "size": size, "error": {"code": 404, "message": "Object does not exist"}}
    return {"oid": oid, "size": size, "actions": {"download": {"href": f"{top}/{oid}"}}}


def _place(repository: Path, oid: str) -> Path:
    return repository / "lfs" / "objects" / oid[:2] / oid


def _error_response(status: int, message: str) -> Response:
    return JSONResponse({"message": message}, status, media_type=MEDIA_TYPE)
