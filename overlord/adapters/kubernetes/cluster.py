"""Requests to a Kubernetes cluster's API, as plain JSON, and what its answers mean.

lightkube reads the kubeconfig and knows the ways to sign in; its HTTP client sends what is asked here. Its own calls are not used, for
three reasons: its watch connects again without a pause where a server closes at once, it fails where an answer
has no content type, and it does not tell how long a server that answers 429 asks to be left alone.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import yaml
from lightkube.config.client_adapter import AsyncClient, ConnectionParams
from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.core.exceptions import ConfigError

from overlord.errors import RunnerRefused, RunnerUnavailable, SettingsError

Object = dict[str, Any]
PATCH = "application/strategic-merge-patch+json"
_GROUPS = {
    "jobs": "apis/batch/v1",
    "networkpolicies": "apis/networking.k8s.io/v1",
}
"""Where each resource is that is not of the core."""
_TRIES = 5
_TAIL_LINES = 20_000
"""A server counts bytes from a log's beginning, and lines from its end."""
_LONGEST_S = 30.0
"""The longest that a server is left alone because it asked for it, or failed again and again."""
_WATCH_S = 300
"""After this long a server ends a watch, and it is begun again from where it was."""
_AGAIN = {429, 500, 502, 503, 504}


class Missing(RunnerUnavailable):
    """There is no such object, which somebody must have removed where nobody expects that."""


class Taken(RunnerUnavailable):
    """Another object has that name, or the object was changed since it was read."""


class Expired(Exception):
    """A watch would begin at a version that the server no longer has: what is there has to be listed again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What there is of a resource, and the version at which a watch goes on from there."""

    items: list[Object]
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One line of a watch. `kind`: ADDED, MODIFIED or DELETED."""

    kind: str
    item: Object


def read_access(kubeconfig: Path | None, context: str = "") -> SingleConfig:
    """How a cluster is reached: by a kubeconfig file, or as the service account of the Pod this runs in.

    Raises SettingsError where neither is there.
    """
    try:
        if kubeconfig is not None:
            found = KubeConfig.from_file(kubeconfig.expanduser()).get(context or None)
        else:
            found = KubeConfig.from_service_account().get()
    except (ConfigError, OSError, ValueError, KeyError, TypeError, AttributeError, yaml.YAMLError) as error:
        where = f"kubernetes.kubeconfig: {kubeconfig}" if kubeconfig else "there is no service account here"
        fix = "" if kubeconfig else "; set kubernetes.kubeconfig where Overlord does not run in the cluster"
        raise SettingsError(f"runner: kubernetes, but {where}: {_said(error)}{fix}") from error
    if found is None:
        raise SettingsError(
            f"kubernetes.kubeconfig: {kubeconfig} has no context {context or 'that is current'}"
        )
    return found


class Cluster:
    """One namespace of a cluster. What is asked is repeated when the server is busy or fails, with growing pauses.

    `pause_s` is the first of them. Every call raises RunnerUnavailable when there is no answer to be had, and RunnerRefused when
    the server understood and said no.
    """

    def __init__(
        self, access: SingleConfig, namespace: str, *, call_s: float = 30.0, pause_s: float = 0.25
    ) -> None:
        self.namespace = namespace
        self._pause_s = pause_s
        self._client: httpx2.AsyncClient = AsyncClient(
            access, ConnectionParams(timeout=httpx2.Timeout(call_s))
        )

    async def get(self, resource: str, name: str) -> Object:
        """Raises Missing."""
        return await self._ask("GET", self._path(resource, name))

    async def look(self, path: str) -> Object:
        """Read any path of the API. Raises Missing."""
        return await self._ask("GET", path)

    async def list(self, resource: str, *, labels: str = "", fields: str = "") -> Listing:
        found = await self._ask("GET", self._path(resource), params=_selecting(labels, fields))
        version = str(found.get("metadata", {}).get("resourceVersion", ""))
        return Listing(items=list(found.get("items") or ()), version=version)

    async def create(self, resource: str, asked: Object, *, is_tried: bool = False) -> Object:
        """Raises Taken where the name is. Of a request whose answer was lost, the repetition does. `is_tried`: the cluster
        says whether it would make it, and does not."""
        params = {"dryRun": "All"} if is_tried else None
        try:
            return await self._ask("POST", self._path(resource), params=params, content=asked)
        except Missing:
            raise RunnerRefused(
                f"the cluster has no namespace {self.namespace}: `kubectl create namespace {self.namespace}`"
            ) from None

    async def review(self, path: str, asked: Object) -> Object:
        """Ask for a review, which leaves nothing behind."""
        return await self._ask("POST", path, content=asked)

    async def replace(self, resource: str, name: str, asked: Object) -> Object:
        """Raises Missing, and Taken when it was changed meanwhile."""
        return await self._ask("PUT", self._path(resource, name), content=asked)

    async def patch(self, resource: str, name: str, change: Object) -> Object:
        """Change what is named of an object, and nothing else of it. Raises Missing."""
        return await self._ask("PATCH", self._path(resource, name), content=change, kind=PATCH)

    async def delete(self, resource: str, name: str, *, grace_s: int | None = None) -> None:
        """Delete an object and, in the background, what it owns. One that is not there is no error."""
        options: Object = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if grace_s is not None:
            options["gracePeriodSeconds"] = grace_s
        try:
            await self._ask("DELETE", self._path(resource, name), content=options)
        except Missing:
            return

    async def log(self, pod: str, *, container: str, most_bytes: int, follow: bool = False) -> bytes:
        """The end of what a Pod printed. `follow`: until its container ends; what breaks off ends it too.

        Empty where there is no log yet, or none any more.
        """
        params = {
            "container": container,
            "tailLines": str(_TAIL_LINES),
            **({"follow": "true"} if follow else {}),
        }
        quiet = httpx2.Timeout(self._client.timeout.connect, read=None) if follow else self._client.timeout
        path, kept = f"{self._path('pods', pod)}/log", bytearray()
        try:
            async with self._client.stream("GET", path, params=params, timeout=quiet) as answer:
                if answer.status_code == 200:
                    async for chunk in answer.aiter_bytes():
                        kept += chunk
                        del kept[:-most_bytes]
        except (httpx2.HTTPError, ConfigError, OSError) as error:
            if not follow:
                raise RunnerUnavailable(f"{self._client.base_url} does not answer: {_said(error)}") from error
        return bytes(kept)

    async def watch(self, resource: str, *, labels: str, version: str) -> AsyncIterator[Change]:
        """Changes since a version, without end: a watch that breaks off is begun again from where it was.

        Raises Expired when the server no longer has that version.
        """
        pause_s = self._pause_s
        while True:
            params = {
                **_selecting(labels, ""),
                "watch": "true",
                "allowWatchBookmarks": "true",
                "resourceVersion": version,
                "timeoutSeconds": str(_WATCH_S),
            }
            try:
                async for line in self._lines(self._path(resource), params):
                    kind, item = _change(line)
                    version = str(item["metadata"]["resourceVersion"])
                    pause_s = self._pause_s
                    if kind != "BOOKMARK":
                        yield Change(kind=kind, item=item)
            except RunnerUnavailable:
                pause_s = min(_LONGEST_S, pause_s * 2)
            await asyncio.sleep(pause_s)

    async def close(self) -> None:
        await self._client.aclose()

    async def _lines(self, path: str, params: Mapping[str, str]) -> AsyncIterator[str]:
        quiet = httpx2.Timeout(self._client.timeout.connect, read=_WATCH_S + 30.0)
        try:
            async with self._client.stream("GET", path, params=params, timeout=quiet) as answer:
                if answer.status_code != 200:
                    await answer.aread()
                    self._raise_for(answer, "watch", path)
                async for line in answer.aiter_lines():
                    if line.strip():
                        yield line
        except (httpx2.HTTPError, ConfigError, OSError) as error:
            raise RunnerUnavailable(f"the watch of the cluster broke off: {_said(error)}") from error

    async def _ask(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, content: Object | None = None,
        kind: str = "application/json",
    ) -> Object:  # fmt: skip
        answer = await self._answer(method, path, params=params, content=content, kind=kind)
        try:
            found = answer.json()
        except ValueError:
            raise RunnerUnavailable(f"{self._client.base_url} does not answer as a cluster's API") from None
        return found if isinstance(found, dict) else {}

    async def _answer(
        self, method: str, path: str, *, params: Mapping[str, str] | None = None, content: Object | None = None,
        kind: str = "application/json",
    ) -> httpx2.Response:  # fmt: skip
        """The answer once the server gives one, or the exception that its refusal is."""
        body = None if content is None else json.dumps(content).encode()
        headers = {"accept": "application/json", **({} if body is None else {"content-type": kind})}
        why, pause_s = "", self._pause_s
        for left in reversed(range(_TRIES)):
            waits_s = pause_s * (1 + random.random())  # noqa: S311 - daemons that failed together spread out
            try:
                answer = await self._client.request(
                    method, path, params=params, content=body, headers=headers
                )
            except (httpx2.HTTPError, ConfigError, OSError) as error:
                why = f"{self._client.base_url} does not answer: {_said(error)}"
            else:
                if answer.status_code not in _AGAIN:
                    if answer.status_code >= 300:
                        self._raise_for(answer, _VERBS[method], path)
                    return answer
                why = f"the cluster answers {answer.status_code}: {_message(answer)}"
                waits_s = max(waits_s, _asked_wait(answer))
            if left:
                await asyncio.sleep(min(_LONGEST_S, waits_s))
                pause_s *= 2
        raise RunnerUnavailable(why)

    def _raise_for(self, answer: httpx2.Response, verb: str, path: str) -> None:
        status, said = answer.status_code, _message(answer)
        match status:
            case 401:
                raise RunnerUnavailable(f"the cluster does not take Overlord's credentials: {said}")
            case 403 if "exceeded quota" in said:
                raise RunnerUnavailable(f"the namespace {self.namespace} has no room: {said}")
            case 403:
                resource = _resource(path)
                verb = "list" if verb == "get" and path.endswith(f"/{resource.partition('.')[0]}") else verb
                text = (
                    f"the cluster does not let Overlord {verb} {resource} in the namespace {self.namespace} ({said});"
                    " apply the Role of deploy/kubernetes to its account"
                )
                raise (RunnerUnavailable if verb in {"get", "list", "watch"} else RunnerRefused)(text)
            case 404:
                raise Missing(said)
            case 409:
                raise Taken(said)
            case 410:
                raise Expired(said)
            case _ if status in _AGAIN:
                raise RunnerUnavailable(f"the cluster answers {status}: {said}")
        raise RunnerRefused(f"the cluster refused to {verb} {_resource(path)} ({status}): {said}")

    def _path(self, resource: str, name: str = "") -> str:
        root = _GROUPS.get(resource, "api/v1")
        return f"{root}/namespaces/{self.namespace}/{resource}" + (f"/{name}" if name else "")


_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def _selecting(labels: str, fields: str) -> dict[str, str]:
    asked = {"labelSelector": labels, "fieldSelector": fields}
    return {name: value for name, value in asked.items() if value}


def _change(line: str) -> tuple[str, Object]:
    """The kind and object of a watch's line. Raises Expired or RunnerUnavailable for one that tells an error."""
    try:
        event = json.loads(line)
        kind, item = str(event["type"]), event["object"]
        if kind != "ERROR":
            item["metadata"]["resourceVersion"]
    except (ValueError, KeyError, TypeError):
        raise RunnerUnavailable("the watch of the cluster broke off in the middle of a line") from None
    if kind == "ERROR":
        if item.get("code") == 410:
            raise Expired(str(item.get("message", "")))
        raise RunnerUnavailable(f"the watch of the cluster was ended: {item.get('message', '')}")
    return kind, item


def _resource(path: str) -> str:
    """`jobs` in `apis/batch/v1/namespaces/x/jobs/y`, and `pods/log` for a log."""
    parts = path.split("/")
    if "namespaces" not in parts:
        return path
    rest = parts[parts.index("namespaces") + 2 :]
    group = f".{parts[1]}" if parts[0] == "apis" else ""
    return (rest[0] if rest else "namespaces") + group + (f"/{rest[2]}" if len(rest) > 2 else "")


def _message(answer: httpx2.Response) -> str:
    """What a server said, in a line: a Status has a sentence, anything else is shown as it begins."""
    try:
        said = answer.json().get("message", "")
    except (ValueError, AttributeError):
        said = answer.text
    return " ".join(str(said).split())[:400] or answer.reason_phrase


def _asked_wait(answer: httpx2.Response) -> float:
    try:
        return max(0.0, float(answer.headers.get("retry-after", "0")))
    except ValueError:
        return 0.0


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
