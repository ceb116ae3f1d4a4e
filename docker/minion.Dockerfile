# What a session runs in: the Minion, git, ripgrep, and the tools a check session runs (pytest, ruff). The target `setup` has uv
# besides: what environments are made on.
# Needs nothing of the network when it runs; built by `make images`, with the repository as its context.
ARG BASE_IMAGE=python:3.12-slim

FROM ${BASE_IMAGE} AS build
COPY docker/ca/ /usr/local/share/ca-certificates/
RUN update-ca-certificates
# Settings of the builder's own package index stay in this stage, which is thrown away.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/minion.lock /tmp/minion.lock
RUN python3 -m venv /opt/build \
    && python3 -m venv --without-pip /opt/minion \
    && /opt/build/bin/pip --python /opt/minion/bin/python install \
        --quiet --no-cache-dir --no-compile --require-hashes -r /tmp/minion.lock
COPY minion/ /tmp/site/minion/
RUN cp -a /tmp/site/. "$(/opt/minion/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
    && /opt/minion/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/minion/lib \
    && mkdir /opt/uv && mv /opt/minion/bin/uv /opt/minion/bin/uvx /opt/uv/ \
    && rm -rf /opt/minion/lib/python3*/site-packages/uv /opt/minion/lib/python3*/site-packages/uv-*

FROM ${BASE_IMAGE} AS minion
RUN (command -v git && command -v rg) >/dev/null \
    || (apt-get update -qq && apt-get install -y -qq --no-install-recommends git ripgrep && rm -rf /var/lib/apt/lists/*)
RUN echo 'minion:x:10001:10001::/work:/bin/sh' >>/etc/passwd \
    && echo 'minion:x:10001:' >>/etc/group \
    && mkdir -p /run/door \
    && install -d -o 10001 -g 10001 /work /opt/environment /cache \
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
COPY --from=build /opt/minion /opt/minion
ENV PATH=/opt/minion/bin:/usr/local/bin:/usr/bin:/bin \
    LANG=C.UTF-8 \
    HOME=/work \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
# Imports once what a session will, so that the standard library's byte code is there where a base leaves it out.
RUN python -c 'import importlib, pkgutil, minion, pathspec; [importlib.import_module(m.name) for m in pkgutil.walk_packages(minion.__path__, "minion.") if "__main__" not in m.name]' \
    && python -m pytest --version >/dev/null
USER 10001:10001
WORKDIR /work
# -P: a module in the working directory never stands in for one of ours.
ENTRYPOINT ["python", "-P", "-m", "minion"]

FROM minion AS setup
COPY --from=build /opt/uv /opt/minion/bin
