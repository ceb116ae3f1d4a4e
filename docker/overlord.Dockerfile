# The daemon, with the git it needs. It holds no state: OVERLORD_HOME is mounted, at the same path as on the host. It runs as an
# ordinary user (`--user` names another); deploy/compose.yaml is how it is meant to be started.
# Built by `make images`, with the repository as its context.
ARG BASE_IMAGE=python:3.12-slim

FROM ${BASE_IMAGE} AS build
COPY docker/ca/ /usr/local/share/ca-certificates/
RUN update-ca-certificates
# Settings of the builder's own package index stay in this stage, which is thrown away.
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/run.lock requirements/tracing.lock /tmp/
RUN python3 -m venv /opt/build \
    && python3 -m venv --without-pip /opt/overlord \
    && /opt/build/bin/pip --python /opt/overlord/bin/python install \
        --quiet --no-cache-dir --no-compile --require-hashes -r /tmp/run.lock -r /tmp/tracing.lock
COPY pyproject.toml README.md LICENSE /tmp/source/
COPY minion/ /tmp/source/minion/
COPY overlord/ /tmp/source/overlord/
COPY config/ /tmp/source/config/
# The lock brings what builds the package, so this step asks no index.
RUN /opt/build/bin/pip --python /opt/overlord/bin/python install \
        --quiet --no-cache-dir --no-compile --no-deps --no-build-isolation /tmp/source \
    && /opt/overlord/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/overlord/lib

FROM ${BASE_IMAGE}
# The certificate authorities of the network it was built in: the daemon speaks TLS to the forge and the model.
COPY docker/ca/ /usr/local/share/ca-certificates/
RUN update-ca-certificates \
    && (command -v git >/dev/null \
        || (apt-get update -qq && apt-get install -y -qq --no-install-recommends git && rm -rf /var/lib/apt/lists/*))
COPY --from=build /opt/overlord /opt/overlord
ENV PATH=/opt/overlord/bin:/usr/local/bin:/usr/bin:/bin \
    LANG=C.UTF-8 \
    OVERLORD_HOME=/var/lib/overlord \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
RUN echo 'overlord:x:10002:10002::/var/lib/overlord:/usr/sbin/nologin' >>/etc/passwd \
    && echo 'overlord:x:10002:' >>/etc/group \
    && install -d -o 10002 -g 10002 -m 700 /var/lib/overlord \
    && find / -xdev -type f -perm /6000 -exec chmod a-s {} +
# Imports once what the daemon will, so that the standard library's byte code is there where a base leaves it out.
RUN overlord --version && python -c 'import overlord.entrypoints.daemon, overlord.entrypoints.demo.demo, docker.api'
USER 10002:10002
WORKDIR /
ENTRYPOINT ["overlord"]
CMD ["serve"]
