"""Calls to a Docker engine: in threads of their own, each with a time limit, each failure translated once.

A hung engine must not take the daemon's threads with it, so nothing here runs in the loop's default executor; and no
daemon that ends waits for a build or a pull, so the threads are none that Python joins.
"""

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import quote

from overlord.errors import RunnerRefused, RunnerUnavailable

Result = TypeVar("Result")

CALL_S = 30
"""The longest an engine may keep us waiting for one reply."""
QUIET_S = 60
"""How long a stream of events may say nothing before it is opened anew."""
RETRY_S = 1.0
LIST_LAG_S = 5.0
THREADS = 8
DENIED = (
    "the Docker engine's socket is not open to this user (uid {uid}); give it the socket's group, as `stat -c %g`"
    " shows it: ENGINE_GROUP in deploy/.env, SupplementaryGroups in a unit, or `usermod -aG`"
)
"""What is said where an engine listens and the socket's permissions keep us out."""


class Missing(RunnerRefused):
    """The engine knows no such container."""


class Conflict(RunnerRefused):
    """The engine's state forbids it: a name that is taken, a container that does not run."""


class Faulted(RunnerUnavailable):
    """The engine answered that it could not: an error of its own, or of the runtime below it."""


class DockerEngine:
    """One engine, as `DOCKER_HOST` and its relatives name it. Connects when it is first asked something."""

    def __init__(self, *, address: str | None = None, call_s: int = CALL_S) -> None:
        self._address = address
        self._call_s = call_s
        self._room = asyncio.Semaphore(THREADS)
        self._client: Any = None
        self._connecting = threading.Lock()
        self._closed = threading.Event()
        self._stream: Any = None

    async def create(self, name: str, configuration: Mapping[str, Any]) -> str:
        """Make a container; its id. Raises Conflict when the name is taken."""
        made = await self._call(lambda api: api.create_container_from_config(dict(configuration), name))
        return str(made["Id"])

    async def inspect(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = await self._call(lambda api: api.inspect_container(name))
        return found

    async def start(self, name: str) -> None:
        await self._call(lambda api: api.start(name))

    async def signal(self, name: str, signal: str) -> None:
        await self._call(lambda api: api.kill(name, signal))

    async def remove(self, name: str) -> None:
        """Kill and delete with its volumes; one that is gone or on its way is no error."""
        with contextlib.suppress(Missing, Conflict):
            await self._call(lambda api: api.remove_container(name, v=True, force=True))

    async def logs(self, name: str) -> bytes:
        content = await self._call(lambda api: api.logs(name))
        assert isinstance(content, bytes)
        return content

    async def labelled(self, label: str) -> Sequence[Mapping[str, Any]]:
        """Every container with this label, running or not, as the engine lists them."""
        return await self._call(lambda api: _labelled(api, label))

    async def image(self, name: str) -> Mapping[str, Any]:
        """Raises Missing when the engine does not have the image."""
        found: Mapping[str, Any] = await self._call(lambda api: api.inspect_image(name))
        return found

    async def pull(self, name: str) -> None:
        """Fetch an image from its registry. Raises RunnerRefused or RunnerUnavailable when it cannot be had."""
        repository, _, tag = (
            name.partition("@")
            if "@" in name
            else name.rpartition(":")
            if _tagged(name)
            else (name, "", "latest")
        )
        await self._call(lambda api: api.pull(repository, tag=tag))

    async def build(
        self, context: Any, *, tag: str, labels: Mapping[str, str], network: str, memory_mb: int
    ) -> tuple[bool, list[str]]:
        """Build an image from a packed context: whether it was made, and what the build printed."""
        most = memory_mb * 1024 * 1024

        def run(api: Any) -> tuple[bool, list[str]]:
            lines, ok = [], False
            for part in api.build(
                fileobj=context,
                custom_context=True,
                tag=tag,
                labels=dict(labels),
                network_mode=network,
                container_limits={"memory": most, "memswap": most},
                rm=True,
                forcerm=True,
                decode=True,
            ):
                lines += str(part.get("stream") or part.get("error") or "").splitlines()
                ok = "error" not in part
            return ok, [line for line in lines if line.strip()]

        return await self._call(run)

    async def commit(self, container: str, repository: str, tag: str, changes: Sequence[str]) -> None:
        """Make an image of a container's files."""
        await self._call(
            lambda api: api.commit(container, repository=repository, tag=tag, changes=list(changes))
        )

    async def tag(self, image: str, repository: str, tag: str) -> None:
        """Give an image one more name. Raises Missing."""
        await self._call(lambda api: api.tag(image, repository, tag))

    async def load(self, packed: Any) -> None:
        """Take in images that another engine saved, with their names."""

        def run(api: Any) -> None:
            for part in api.load_image(packed):
                if "error" in part:
                    raise RunnerRefused(f"the Docker engine could not load an image: {part['error']}")

        await self._call(run)

    async def holds(self, container: str, path: str) -> bool:
        """Whether a container, running or not, has something at a path."""

        def ask(api: Any) -> bool:
            url = f"{api.base_url}/v{api.api_version}/containers/{quote(container)}/archive"
            reply = api.head(url, params={"path": path}, timeout=self._call_s)
            if reply.status_code != HTTPStatus.NOT_FOUND:
                reply.raise_for_status()
            return bool(reply.ok)

        return await self._call(ask)

    async def put(self, container: str, path: str, packed: bytes) -> None:
        """Unpack an archive at a path of a container, running or not."""
        await self._call(lambda api: api.put_archive(container, path, packed))

    async def images(self, label: str) -> Sequence[Mapping[str, Any]]:
        """Every image with this label, as the engine lists them."""
        return await self._call(lambda api: _images(api, label))

    async def remove_image(self, name: str) -> None:
        """Untag an image and delete what nothing else needs. Raises Conflict while a container has it."""
        with contextlib.suppress(Missing):
            await self._call(lambda api: api.remove_image(name))

    async def volumes(self, label: str) -> Sequence[Mapping[str, Any]]:
        """Every volume with this label."""
        found = await self._call(lambda api: api.volumes(filters={"label": label}))
        return list(found.get("Volumes") or [])

    async def volume(self, name: str) -> Mapping[str, Any]:
        """Raises Missing when the engine does not have the volume."""
        found: Mapping[str, Any] = await self._call(lambda api: api.inspect_volume(name))
        return found

    async def remove_volume(self, name: str) -> None:
        """Delete a volume. Raises Conflict while a container has it."""
        with contextlib.suppress(Missing):
            await self._call(lambda api: api.remove_volume(name))

    async def info(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = await self._call(lambda api: api.info())
        return found

    def close(self) -> None:
        """Let go of the engine; a thread in a call that does not return is left behind."""
        self._closed.set()
        if self._stream is not None:
            with contextlib.suppress(OSError, AttributeError):
                self._stream.close()
        if self._client is not None:
            self._client.close()

    def watch(
        self,
        label: str,
        on_connect: Callable[[Sequence[Mapping[str, Any]]], None],
        on_event: Callable[[Mapping[str, Any]], None],
    ) -> None:
        """Follow the engine's events in a thread until closed: whatever `label` containers there are at each
        connect, then their `kill` and `die` events. Both functions are called in that thread."""

        def run() -> None:
            since: str | None = None
            while not self._closed.is_set():
                try:
                    since = self._follow(label, since, on_connect, on_event)
                except (RunnerUnavailable, RunnerRefused):
                    self._closed.wait(RETRY_S)

        threading.Thread(target=run, name="docker-events", daemon=True).start()

    def _follow(
        self,
        label: str,
        since: str | None,
        on_connect: Callable[[Sequence[Mapping[str, Any]]], None],
        on_event: Callable[[Mapping[str, Any]], None],
    ) -> str | None:
        with _translated():
            api = self._connected()
            # From a moment before the listing, so that nothing falls between it and the stream.
            since = since or _now(api)
            filters = json.dumps({"type": ["container"], "event": ["kill", "die"], "label": [label]})
            url = f"{api.base_url}/v{api.api_version}/events"
            params = {"filters": filters, "since": since}
            with api.get(url, params=params, stream=True, timeout=(self._call_s, QUIET_S)) as reply:
                reply.raise_for_status()
                on_connect(_labelled(api, label))
                for event in self._events(reply):
                    since = f"{event['timeNano'] // 10**9}.{event['timeNano'] % 10**9:09d}"
                    on_event(event)
        return since

    def _events(self, reply: Any) -> Iterator[Mapping[str, Any]]:
        """Until the stream is cut, is quiet for long, or is closed under our hands: the caller opens another."""
        from docker.types import CancellableStream
        from requests.exceptions import ChunkedEncodingError, ConnectionError, Timeout

        lines = reply.iter_lines()
        self._stream = CancellableStream(lines, reply)
        with contextlib.suppress(ChunkedEncodingError, ConnectionError, Timeout, AttributeError, ValueError):
            for line in lines:
                if self._closed.is_set():
                    return
                if line:
                    yield json.loads(line)

    async def _call(self, ask: Callable[[Any], Result]) -> Result:
        def run() -> Result:
            with _translated():
                return ask(self._connected())

        try:
            async with asyncio.timeout(self._call_s * 2), self._room:
                return await asyncio.wrap_future(_begin(run))
        except TimeoutError:
            raise RunnerUnavailable(f"the Docker engine did not answer within {self._call_s * 2} s") from None

    def _connected(self) -> Any:
        with self._connecting:
            if self._client is None:
                from docker import APIClient
                from docker.utils import kwargs_from_env

                address = {} if self._address is None else {"DOCKER_HOST": self._address}
                where = kwargs_from_env(environment={**os.environ, **address})
                self._client = APIClient(**where, timeout=self._call_s, max_pool_size=THREADS + 1)
            return self._client


def _begin(act: Callable[[], Result]) -> Future[Result]:
    """Run it in a thread that ends with the program, whatever it is at."""
    done: Future[Result] = Future()

    def run() -> None:
        if not done.set_running_or_notify_cancel():
            return
        try:
            result = act()
        except BaseException as error:  # handed on to whoever waits
            done.set_exception(error)
        else:
            done.set_result(result)

    threading.Thread(target=run, name="docker", daemon=True).start()
    return done


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """What the SDK raises, as whose fault it was."""
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException
    from urllib3.exceptions import HTTPError

    try:
        yield
    except APIError as error:
        text = error.explanation or str(error)
        if error.status_code == 404:
            raise Missing(text) from None
        if error.status_code == 409:
            raise Conflict(text) from None
        if error.is_server_error():
            raise Faulted(f"the Docker engine failed: {text}") from None
        raise RunnerRefused(f"the Docker engine says no: {text}") from None
    except (DockerException, RequestException, HTTPError) as error:
        if _is_denied(error):
            raise RunnerUnavailable(DENIED.format(uid=os.geteuid())) from None
        raise RunnerUnavailable(
            f"no Docker engine answers ({error}); start Docker, or set DOCKER_HOST to where one listens"
        ) from None


def _is_denied(error: BaseException | None) -> bool:
    """Whether somebody listens there, and this user may not talk to them."""
    while error is not None and not isinstance(error, PermissionError):
        error = error.__cause__ or error.__context__
    return error is not None


def _tagged(name: str) -> bool:
    return ":" in name.rsplit("/", 1)[-1]


def _labelled(api: Any, label: str) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = api.containers(all=True, filters={"label": label})
    return found


def _images(api: Any, label: str) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = api.images(filters={"label": label})
    return found


def _now(api: Any) -> str:
    """A moment ago on the engine's clock, in the form its events call takes: its lists run that far behind its events."""
    return f"{datetime.fromisoformat(api.info()['SystemTime']).timestamp() - LIST_LAG_S:.9f}"
