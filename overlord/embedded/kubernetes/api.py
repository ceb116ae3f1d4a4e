"""The API server: each request's right is looked at, then it is answered from the store. Watches are streamed."""

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from overlord.embedded.kubernetes.admission import check_change, completed
from overlord.embedded.kubernetes.asked import Asked, body_of, is_dry, selection_of, taken_apart
from overlord.embedded.kubernetes.controller import Controllers
from overlord.embedded.kubernetes.discovery import discovered
from overlord.embedded.kubernetes.kind import Kind
from overlord.embedded.kubernetes.patch import patched
from overlord.embedded.kubernetes.refusal import Refusal
from overlord.embedded.kubernetes.right import Right, Rights
from overlord.embedded.kubernetes.store import Store
from overlord.embedded.kubernetes.table import as_table
from overlord.embedded.server import CUT, cut_connection

Object = dict[str, Any]
_BOOKMARK_S = 5.0


@dataclass(slots=True, kw_only=True)
class Fault:
    """A failure that is still to happen. `verb` and `resource`: empty for any; `status` 0 cuts the connection."""

    status: int
    verb: str = ""
    resource: str = ""
    times: int = 1
    retry_after_s: int | None = None
    message: str = "the server was told to fail"
    is_after: bool = False
    """Whether what was asked for is done all the same, and only its answer is lost."""


@dataclass(slots=True)
class Api:
    """The ASGI application of one cluster."""

    store: Store
    rights: Rights
    controllers: Controllers
    log_of: Callable[[Object], Path | None]
    faults: list[Fault] = field(default_factory=list)
    watches: set[asyncio.Event] = field(default_factory=set)
    """One for each watch that is open; set, it is broken off."""
    mutations: dict[str, Callable[[Object], None]] = field(default_factory=dict)
    """What an admission controller changes of each new object of a resource."""
    written: list[Object] = field(default_factory=list)
    """Every object that a client wrote, as it did."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            answer = await self._answer(request)
        except Refusal as refusal:
            wait = {} if refusal.retry_after_s is None else {"retry-after": str(refusal.retry_after_s)}
            answer = JSONResponse(refusal.status(), status_code=refusal.code, headers=wait)
        if answer is None:
            await cut_connection(scope, receive)
            return
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response | None:
        account = self.rights.account(request.headers.get("authorization", ""))
        if request.method == "GET" and (found := discovered(request.url.path)) is not None:
            return JSONResponse(found)
        asked = taken_apart(request)
        fault = self._fault(asked)
        if fault is not None and not fault.is_after:
            return _failed(fault)
        # Everybody who is known may ask what they may do.
        if asked.kind.plural != "selfsubjectaccessreviews":
            self.rights.check(account, asked.right, asked.name)
        answer = await self._done(request, asked, account)
        return answer if fault is None else _failed(fault)

    def _fault(self, asked: Asked) -> Fault | None:
        for fault in self.faults:
            if fault.verb in {"", asked.verb} and fault.resource in {"", asked.right.resource}:
                fault.times -= 1
                if fault.times <= 0:
                    self.faults.remove(fault)
                return fault
        return None

    async def _done(self, request: Request, asked: Asked, account: str) -> Response:
        if asked.subresource == "log":
            return self._log(request, asked)
        match asked.verb:
            case "get":
                return _shown(request, [self._found(asked)], single=True)
            case "list":
                return self._listed(request, asked)
            case "watch":
                return self._watched(request, asked)
            case "create":
                return self._created(await body_of(request), asked, account, dry=is_dry(request))
            case "delete" | "deletecollection":
                return self._deleted(await body_of(request), request, asked)
        return self._changed(await body_of(request), request, asked)

    def _found(self, asked: Asked) -> Object:
        found = self.store.get(asked.kind.plural, asked.namespace, asked.name)
        if found is None:
            raise Refusal(404, f'{asked.kind.plural} "{asked.name}" not found')
        return found

    def _listed(self, request: Request, asked: Asked) -> Response:
        is_selected = selection_of(request)
        items = [item for item in self.store.list(asked.kind.plural, asked.namespace) if is_selected(item)]
        return _shown(request, items, single=False, kind=asked.kind, version=self.store.version)

    def _created(self, item: Object, asked: Asked, account: str, *, dry: bool) -> Response:
        self.written.append(copy.deepcopy(item))
        if asked.kind.plural == "selfsubjectaccessreviews":
            return JSONResponse(self._review(item, account), status_code=201)
        if asked.subresource == "eviction":
            return self._evicted(item, asked)
        if asked.namespace and self.store.get("namespaces", "", asked.namespace) is None:
            raise Refusal(404, f'namespaces "{asked.namespace}" not found')
        item.setdefault("metadata", {})
        completed(asked.kind.plural, item)
        self.mutations.get(asked.kind.plural, _unchanged)(item)
        if asked.kind.plural in {"pods", "jobs"}:
            self.controllers.check_quota(asked.namespace, asked.kind.plural, item)
        if dry:
            return JSONResponse(item, status_code=201)
        return JSONResponse(self.store.add(asked.kind, asked.namespace, item), status_code=201)

    def _changed(self, change: Any, request: Request, asked: Asked) -> Response:
        now = self.store.get(asked.kind.plural, asked.namespace, asked.name)
        if now is None:
            applied = request.headers.get("content-type", "").startswith("application/apply-patch")
            if asked.verb == "patch" and applied:
                return self._created(change, asked, "", dry=is_dry(request))
            raise Refusal(404, f'{asked.kind.plural} "{asked.name}" not found')
        kind = request.headers.get("content-type", "").partition(";")[0]
        item = dict(change) if asked.verb == "update" else patched(now, change, kind)
        if asked.verb == "update":
            self.written.append(copy.deepcopy(item))
        check_change(asked.kind.plural, now, item)
        if asked.verb == "update" and not asked.subresource and "status" in now:
            item["status"] = now["status"]
        item.setdefault("metadata", {}).setdefault("name", asked.name)
        if asked.kind.namespaced:
            item["metadata"]["namespace"] = asked.namespace
        return JSONResponse(item if is_dry(request) else self.store.put(asked.kind, item))

    def _deleted(self, options: Any, request: Request, asked: Asked) -> Response:
        options = options if isinstance(options, dict) else {}
        named = request.query_params.get("gracePeriodSeconds")
        grace = options.get("gracePeriodSeconds") if named is None else int(named)
        if asked.verb == "delete":
            return JSONResponse(self.controllers.delete(asked.kind, self._found(asked), grace))
        is_selected = selection_of(request)
        for item in self.store.list(asked.kind.plural, asked.namespace):
            if is_selected(item):
                self.controllers.delete(asked.kind, item, grace)
        return JSONResponse({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})

    def _evicted(self, item: Object, asked: Asked) -> Response:
        pod = self._found(asked)
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        pod["status"].setdefault("conditions", []).append(condition)
        grace = (item.get("deleteOptions") or {}).get("gracePeriodSeconds")
        self.controllers.delete(asked.kind, self.store.put(asked.kind, pod), grace)
        return JSONResponse(
            {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}, status_code=201
        )

    def _review(self, item: Object, account: str) -> Object:
        attributes = item["spec"].get("resourceAttributes") or {}
        resource = str(attributes.get("resource", ""))
        if attributes.get("subresource"):
            resource += f"/{attributes['subresource']}"
        right = Right(
            verb=str(attributes.get("verb", "")),
            group=str(attributes.get("group", "")),
            resource=resource,
            namespace=str(attributes.get("namespace", "")),
        )
        return {
            **item,
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "metadata": item.get("metadata") or {},
            "status": {"allowed": self.rights.allows(account, right)},
        }

    def _watched(self, request: Request, asked: Asked) -> Response:
        asked_version = request.query_params.get("resourceVersion", "")
        version = int(asked_version) if asked_version else self.store.version
        is_selected = selection_of(request)
        self.store.since(
            version, asked.kind.plural
        )  # one that is too old is refused with a Status of its own
        bookmarks = request.query_params.get("allowWatchBookmarks") == "true"
        limit_s = float(request.query_params.get("timeoutSeconds", "1800"))
        lines = self._lines(
            asked.kind,
            asked.namespace,
            version,
            is_selected,
            bookmarks=bookmarks,
            limit_s=limit_s,
            connection=request.scope["extensions"][CUT],
        )
        return StreamingResponse(lines, media_type="application/json")

    async def _lines(
        self,
        kind: Kind,
        namespace: str,
        version: int,
        is_selected: Callable[[Object], bool],
        *,
        bookmarks: bool,
        limit_s: float,
        connection: asyncio.Transport,
    ) -> AsyncIterator[bytes]:
        broken, loop = asyncio.Event(), asyncio.get_running_loop()
        self.watches.add(broken)
        ends_at = loop.time() + limit_s
        try:
            while loop.time() < ends_at:
                try:
                    changes = list(self.store.since(version, kind.plural))
                except Refusal as refusal:
                    yield _line("ERROR", refusal.status())
                    return
                version = max(version, self.store.version)
                for change in changes:
                    if namespace in {"", change.item["metadata"].get("namespace", "")} and is_selected(
                        change.item
                    ):
                        yield _line(change.kind, change.item)
                if (
                    not await self._something_new(broken, min(_BOOKMARK_S, ends_at - loop.time()))
                    and bookmarks
                ):
                    item = {"kind": kind.name, "apiVersion": kind.api_version}
                    yield _line("BOOKMARK", {**item, "metadata": {"resourceVersion": str(version)}})
                if broken.is_set():
                    connection.abort()
                    return
        finally:
            self.watches.discard(broken)

    async def _something_new(self, broken: asyncio.Event, within_s: float) -> bool:
        waiting = {asyncio.create_task(self.store.wait()), asyncio.create_task(broken.wait())}
        done, _ = await asyncio.wait(waiting, timeout=max(0.0, within_s), return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        return bool(done)

    def _log(self, request: Request, asked: Asked) -> Response:
        pod = self._found(asked)
        path = self.log_of(pod)
        if path is None or not path.exists():
            name = pod["spec"]["containers"][0]["name"]
            raise Refusal(
                400, f'container "{name}" in pod "{asked.name}" is waiting to start: ContainerCreating'
            )
        tail = int(request.query_params.get("tailLines", "-1"))
        whole = path.read_bytes()
        shown = b"".join(whole.splitlines(keepends=True)[-tail:]) if tail > 0 else whole
        if request.query_params.get("follow") not in {"true", "1"}:
            return PlainTextResponse(shown)
        return StreamingResponse(self._followed(asked, path, shown, len(whole)), media_type="text/plain")

    async def _followed(self, asked: Asked, path: Path, shown: bytes, at: int) -> AsyncIterator[bytes]:
        yield shown
        while True:
            pod = self.store.get("pods", asked.namespace, asked.name)
            is_over = pod is None or pod["status"].get("phase") in {"Succeeded", "Failed"}
            more = _from(path, at)
            at += len(more)
            if more:
                yield more
            if is_over:
                return
            await self._something_new(asyncio.Event(), 0.1)


def _from(path: Path, at: int) -> bytes:
    return path.read_bytes()[at:] if path.exists() else b""


def _unchanged(_item: Object) -> None:
    return


def _failed(fault: Fault) -> Response | None:
    if not fault.status:
        return None
    raise Refusal(fault.status, fault.message, retry_after_s=fault.retry_after_s)


def _line(kind: str, item: Object) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


def _shown(
    request: Request, items: list[Object], *, single: bool, kind: Kind | None = None, version: int = 0
) -> Response:
    if "as=Table" in request.headers.get("accept", ""):
        return JSONResponse(as_table(items, version))
    if single:
        return JSONResponse(items[0])
    assert kind is not None
    return JSONResponse(
        {
            "kind": f"{kind.name}List",
            "apiVersion": kind.api_version,
            "metadata": {"resourceVersion": str(version)},
            "items": items,
        }
    )
