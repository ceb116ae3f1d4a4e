"""Images a repository names for itself: told to people, never run unasked.

A devcontainer or a Dockerfile is written for somebody's desktop or for production, not for holding a Minion, and
sessions may be allowed to change those files; `.nebulus/environment.yaml` no session can. So an image is used when a
person wrote it there, or `image: detected`, and a repository's Dockerfile is never built. The same holds for what a devcontainer runs
after it was created.
"""

import re

from overlord.domain.environments.source import Sources, shown, word

DEVCONTAINERS = (".devcontainer/devcontainer.json", ".devcontainer.json")
DOCKERFILES = ("Dockerfile", "Containerfile", ".devcontainer/Dockerfile")
DETECTED = "detected"
"""In place of an image's name: the one that is named here."""
HINT_PATHS = (*DEVCONTAINERS, *DOCKERFILES)
_PART = r"[a-z0-9]+(?>(?:[._-]{1,2}[a-z0-9]+)*)"
IMAGE = re.compile(
    rf"(?=.{{1,255}}\Z)(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::\d{{1,5}})?/)?{_PART}(?>(?:/{_PART})*)"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
"""An image's name as Docker reads it, with a registry, a tag and a digest, or none of them."""
_FROM = re.compile(
    r"^[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(\S+)(?:[ \t]+AS[ \t]+(\S+))?[ \t]*$", re.IGNORECASE | re.MULTILINE
)


def hints(sources: Sources) -> tuple[str, ...]:
    """Sentences on what could be configured, and is not used by itself."""
    lines = [_sentence(path, image) for path, image in named_images(sources)]
    for path in sources.present(DEVCONTAINERS)[:1]:
        if sources.json(path, with_comments=True).get("postCreateCommand"):
            lines.append(
                f"{path} has a postCreateCommand, which is not run: `setup` in .nebulus/environment.yaml would be"
            )
    return tuple(lines)


def named_images(sources: Sources) -> tuple[tuple[str, str], ...]:
    """Files that name an image, each with the image: a devcontainer first, then a Dockerfile's last stage."""
    found = [
        (path, word(sources.json(path, with_comments=True).get("image")))
        for path in sources.present(DEVCONTAINERS)[:1]
    ]
    found += [(path, _last_stage(sources.text(path))) for path in sources.present(DOCKERFILES)[:1]]
    return tuple((path, image) for path, image in found if IMAGE.fullmatch(image))


def _last_stage(dockerfile: str) -> str:
    """The image the last stage starts from; empty if that is another stage, or not a plain name."""
    stages = _FROM.findall(dockerfile)
    image = stages[-1][0] if stages else ""
    own = {name.lower() for _, name in stages[:-1]}
    return image if IMAGE.fullmatch(image) and image.lower() not in {*own, "scratch"} else ""


def _sentence(path: str, image: str) -> str:
    return shown(
        f"{path} names the image {image}, which is used when .nebulus/environment.yaml says `image: {DETECTED}`"
    )
