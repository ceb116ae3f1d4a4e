# Aider, alone in an image: its packages with a Python and the C library that Python was made for, so that it runs in sessions of any image.
# The engine copies /opt/agents/aider into a volume that sessions see, read-only. Built by `docker/images --agents aider`.
ARG BASE_IMAGE=python:3.12-slim

FROM ${BASE_IMAGE} AS build
COPY docker/ca/ /usr/local/share/ca-certificates/
RUN update-ca-certificates
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/agents/aider/aider.lock /tmp/aider.lock
# Aider says that it wants a Python before 3.13. What kept it there are pins of numpy and scipy, which our lock has lifted.
RUN python3 -m venv /opt/build \
    && /opt/build/bin/pip install --quiet --no-cache-dir --no-compile --no-deps --ignore-requires-python --only-binary :all: \
        --require-hashes --target /opt/agents/aider/packages -r /tmp/aider.lock
COPY docker/agents/bundle-python /tmp/bundle-python
RUN python3 /tmp/bundle-python /opt/agents/aider aider aider.main:main

FROM scratch
COPY --from=build /opt/agents /opt/agents
CMD ["this image only holds a program for sessions"]
