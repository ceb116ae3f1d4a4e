"""Environments as images of an engine: the ground (a system with packages), and on it what a setup session left.

Nothing of a repository's runs while the ground is made: its Dockerfile is ours, with names that were checked.
"""

import io
import json
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from overlord.adapters.authorities import copied_to
from overlord.adapters.docker.engine import Conflict, DockerEngine, Missing
from overlord.adapters.docker.profile import Supplies
from overlord.adapters.process.layers import FINISHED, checked_key
from overlord.domain.launch import Launch
from overlord.errors import RunnerRefused, RunnerUnavailable

GROUND = "overlord-ground"
ENVIRONMENT = "overlord-environment"
DIRECTORY = "/opt/environment"
SLOW_S = 1800
"""The longest an engine may take to build or to keep an image."""
SHOWN_LINES = 30

_STAGE = "overlord-stage"
_OWN = {GROUND, ENVIRONMENT, _STAGE}
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]{0,100}")
_AMBIGUOUS = re.compile(r".*\..*|.*[+-]")
"""What apt takes for a pattern, or for an order to remove, when there is no package of that name."""
_IMAGE = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,300}")
_FORGOTTEN = ("MINION_VARIABLES", "MINION_CACHE", "MINION_ID", "OVERLORD_URL")
"""What a setup's container was told and no other may read from its image."""

# Another image gets the Minion and its tools, on a Python of its own (3.11 or newer).
_MINION_INTO = f"""\
COPY --from={_STAGE} /opt/minion /tmp/minion
RUN (command -v git && command -v python3 && python3 -m venv --help) >/dev/null 2>&1 \\
    || (apt-get update -qq && apt-get install -y -qq --no-install-recommends python3 python3-venv git ca-certificates)
RUN python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \\
    || {{ echo "The image's python3 is older than 3.11, which sessions need." >&2; exit 1; }}
RUN python3 -m venv --without-pip /opt/minion \\
    && cp -a /tmp/minion/lib/python3*/site-packages/. \\
        "$(/opt/minion/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \\
    && for name in uv uvx ruff; do cp -a /tmp/minion/bin/$name /opt/minion/bin/ 2>/dev/null || true; done \\
    && rm -rf /tmp/minion \\
    && (/opt/minion/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/minion/lib || true) \\
    && (id minion >/dev/null 2>&1 || (echo 'minion:x:10001:10001::/work:/bin/sh' >>/etc/passwd \\
        && echo 'minion:x:10001:' >>/etc/group)) \\
    && mkdir -p /work /run/door /opt/environment /cache \\
    && chown 10001:10001 /work /opt/environment /cache \\
    && find / -xdev -type f -perm /6000 -exec chmod a-s {{}} +
ENV PATH=/opt/minion/bin:${{PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}} \\
    LANG=C.UTF-8 HOME=/work SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
WORKDIR /work
HEALTHCHECK NONE
ENTRYPOINT ["python", "-P", "-m", "minion"]
CMD []
"""


class DockerLayers:
    """The environments one runner keeps in its engine. Each is a tag of its own instance, and labelled with it."""

    def __init__(
        self,
        engine: DockerEngine,
        root: Path,
        *,
        image: str,
        instance: str,
        address: str | None,
        minion: str = "",
        network: str,
        memory_mb: int,
    ) -> None:
        self._engine = engine
        self._patient = DockerEngine(address=address, call_s=SLOW_S)
        self._root = root
        self._image = setup_image(image)
        self._minion = minion
        self._instance = instance
        self._network = network
        self._memory_mb = memory_mb

    async def ground(self, image: str) -> str:
        own = await self._own()
        if not image:
            return str(own["Id"])
        _check_image(image)
        try:
            found = await self._engine.image(image)
        except Missing:
            await self._patient.pull(image)
            found = await self._engine.image(image)
        if "overlord.environment" in _labels(found):
            raise RunnerRefused(
                f"{json.dumps(image)} is an environment of a repository, and no other's to use"
            )
        return f"{own['Id']} {found['Id']}"

    async def prepare(self, key: str, *, image: str, packages: Sequence[str]) -> None:
        """Make the ground of a key; of the runner's own image there is nothing to be made but a name."""
        tag = self._tag(key)
        for package in packages:
            _check(_PACKAGE, package, "a package")
        if image:
            _check_image(image)
        own = await self._own()
        if not image and not packages:
            await self._engine.tag(str(own["Id"]), GROUND, tag)
            return
        labels = {"overlord.instance": self._instance, "overlord.environment": key}
        labels |= {name: text for name, text in _labels(own).items() if name == "overlord.minion"}
        ok, lines = await self._patient.build(
            _context(self._dockerfile(image, packages)),
            tag=f"{GROUND}:{tag}",
            labels=labels,
            network=self._network,
            memory_mb=self._memory_mb,
        )
        if not ok:
            sentence = "\n".join(lines[-SHOWN_LINES:])
            raise RunnerRefused(f"the system an environment is made on could not be built:\n{sentence}")

    async def _own(self) -> Mapping[str, Any]:
        """The image that setups run in: the one of this daemon's version. Raises RunnerRefused, or RunnerUnavailable for another."""
        try:
            own = await self._engine.image(self._image)
        except Missing:
            raise RunnerRefused(f"the engine has no image {self._image}: run `make images`") from None
        if why := another_version(self._image, own, self._minion):
            raise RunnerUnavailable(why)
        return own

    def image_for(self, key: str, *, makes: bool) -> str:
        """The image a session of this key runs in, or is set up in."""
        return f"{GROUND if makes else ENVIRONMENT}:{self._tag(key)}"

    def supplies(self, launch: Launch) -> Supplies | None:
        """What a setup gets beside its session API. Its cache is a volume for each space, so that none reads another's."""
        if not launch.makes_layer:
            return None
        space = launch.space.casefold()
        return Supplies(
            cache=self._cache_of(space),
            authorities=copied_to(self._root / "authorities.crt"),
            labels={"overlord.instance": self._instance, "overlord.space": space},
        )

    async def keep(self, container: str, key: str) -> int:
        """Make an ended container's files the environment of a key; the bytes it adds."""
        if not await self.has(key):
            if not await self._engine.holds(container, f"{DIRECTORY}/{FINISHED}"):
                raise RunnerRefused("the setup left no finished environment")
            changes = [f"LABEL overlord.environment={key}", f"LABEL overlord.instance={self._instance}"]
            changes += [f'LABEL overlord.{name}=""' for name in ("session", "job", "epoch")]
            changes += [f"ENV {name}=" for name in _FORGOTTEN]
            await self._patient.commit(container, ENVIRONMENT, self._tag(key), changes)
        made = await self._engine.image(self.image_for(key, makes=False))
        try:
            below = await self._engine.image(self.image_for(key, makes=True))
        except Missing:
            return int(made["Size"])
        return int(made["Size"]) - int(below["Size"])

    async def has(self, key: str) -> bool:
        try:
            await self._engine.image(self.image_for(key, makes=False))
        except Missing:
            return False
        return True

    async def remove(self, key: str) -> None:
        for makes in (False, True):
            try:
                await self._patient.remove_image(self.image_for(key, makes=makes))
            except Conflict:
                continue  # a container still has it: the next look removes it

    async def downloads(self) -> list[str]:
        """The spaces whose downloads this instance keeps."""
        volumes = await self._engine.volumes(f"overlord.instance={self._instance}")
        names = (str((volume.get("Labels") or {}).get("overlord.space", "")) for volume in volumes)
        return sorted({name for name in names if name})

    async def remove_downloads(self, space: str) -> None:
        with suppress(Conflict):  # a setup has it
            await self._engine.remove_volume(self._cache_of(space))

    def _cache_of(self, space: str) -> str:
        return f"overlord-{self._instance}-cache-{sha256(space.casefold().encode()).hexdigest()[:12]}"

    def close(self) -> None:
        self._patient.close()

    def _dockerfile(self, image: str, packages: Sequence[str]) -> str:
        # What a build that fails leaves behind is found by this label too.
        mine = f"LABEL overlord.instance={self._instance}"
        lines = [f"FROM {self._image} AS {_STAGE}"]
        if image:
            lines += [f"FROM {image}", mine, "USER 0", _MINION_INTO]
        else:
            lines += [mine, "USER 0"]
        if packages:
            lines.append("RUN " + " && ".join(_installing(sorted(packages))))
        return "\n".join([*lines, "USER 10001:10001", ""])

    def _tag(self, key: str) -> str:
        return f"{self._instance}-{checked_key(key)}"


def _installing(packages: Sequence[str]) -> Iterator[str]:
    """The shell commands that install packages by their exact names."""
    yield "apt-get update -qq"
    for name in packages:
        if _AMBIGUOUS.fullmatch(name):
            yield f"(apt-cache pkgnames {name} | grep -qxF {name} || (echo 'There is no package {name}.' >&2; exit 1))"
    yield (
        "DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends " + " ".join(packages)
    )
    yield "rm -rf /var/lib/apt/lists/*"
    yield "find / -xdev -type f -perm /6000 -exec chmod a-s {} +"


def setup_image(image: str) -> str:
    """The image environments are made on, which is built with the one sessions run in: that, and an installer."""
    name, separator, tag = image.rpartition(":")
    if not separator or "/" in tag:
        return f"{image}-setup"
    return f"{name}-setup:{tag}"


def another_version(image: str, shown: Mapping[str, Any], minion: str) -> str:
    """Why nothing may be begun in an image, as the engine shows it or a container of it; empty where it may. It waits, since who makes
    images anew is about to start Overlord again."""
    if not minion or _labels(shown).get("overlord.minion") == minion:
        return ""
    return f"{image} is of another version of the Minion by now; new sessions wait until Overlord is started again"


def _labels(shown: Mapping[str, Any]) -> Mapping[str, str]:
    return shown["Config"]["Labels"] or {}


def _check_image(name: str) -> None:
    """Whether it can be an image's name, and is none of ours: another repository's files may be in those."""
    _check(_IMAGE, name, "an image")
    if name.rsplit("/", 1)[-1].partition("@")[0].partition(":")[0] in _OWN:
        raise RunnerRefused(f"{json.dumps(name)} is Overlord's own, and no repository's to use")


def _check(pattern: re.Pattern[str], text: str, what: str) -> None:
    if not pattern.fullmatch(text):
        raise RunnerRefused(f"{json.dumps(text)} cannot be {what}'s name")


def _context(dockerfile: str) -> io.BytesIO:
    """A build context with nothing in it but our Dockerfile."""
    packed, content = io.BytesIO(), dockerfile.encode()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    packed.seek(0)
    return packed
