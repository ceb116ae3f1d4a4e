"""The walls of a session's Pod as one value, and the Job and the NetworkPolicies that are asked for.

Every field of `PodProfile` that is no size is a defence. What the cluster keeps of a Job is compared with what was asked
(`differences`): an old server drops fields it does not know, and an admission controller may change others.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from overlord.domain.launch import Launch
from overlord.domain.session import CONTAINER_UID

Object = dict[str, Any]
CONTAINER = "session"
WORK = "/work"
CACHE = "/cache"
CLAIM = "/claim"
"""Where a small Job of ours finds all of the claim."""
TMP = "/tmp"  # noqa: S108 - a path inside the container
ENVIRONMENT = "/opt/environment"
NETWORK_LABEL = "overlord.network"
SESSION_NETWORK = "session"
SETUP_NETWORK = "setup"
CLAIM_NETWORK = "none"
_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10")
"""What a setup does not reach unless the settings say so: the cluster's own networks, and the cloud's metadata."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Where the session listener is, as sessions reach it."""

    name: str
    address: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PodProfile:
    """What holds a session. The defaults are the product."""

    user: int = CONTAINER_UID
    runtime_class: str = ""
    """A RuntimeClass such as `gvisor`; empty for the cluster's default."""
    user_namespace: bool = False
    """Whether users in the Pod are others on the node; the node's kernel and runtime have to know idmapped mounts."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    pull_secret: str = ""
    tmp: str = "64Mi"
    work: str = "1Gi"
    """Disk is memory: what is written here counts against the session's memory."""
    disk: str = "1Gi"
    """The most of the node's disk: its log."""
    setup_disk: str = "10Gi"
    node_lost_s: int = 60
    """For so long a node may be silent before its sessions are taken for lost."""
    setup_reaches: Sequence[str] = ()
    """Private networks that setups reach all the same, as CIDR: a mirror of packages."""
    daemon_namespace: str = ""
    """Where Overlord's own Pod runs; empty where it runs outside the cluster."""

    def job(
        self,
        name: str,
        *,
        image: str,
        labels: Mapping[str, str],
        annotations: Mapping[str, str],
        launch: Launch,
        memory_mb: int,
        secret: str,
        volumes: Sequence[tuple[Object, Object]] = (),
        aliases: Sequence[Object] = (),
        command: Sequence[str] | None = None,
    ) -> Object:
        """A Job that makes one Pod, and none before it is told to: it is created suspended.

        `volumes`: each a volume's source and its mount, beside those of every session.
        """
        template = self._pod(replace(launch, memory_mb=memory_mb), image, volumes, aliases, command)
        template["containers"][0]["envFrom"] = [{"secretRef": {"name": secret}}]
        network = SETUP_NETWORK if launch.makes_layer else SESSION_NETWORK
        return job_of(name, labels, annotations, network, template)

    def small_job(
        self, name: str, *, image: str, labels: Mapping[str, str], claim: str, command: Sequence[str]
    ) -> Object:
        """A Job of ours that looks through the claim of environments, or clears it, with no network. It is begun at once."""
        volume = {"name": "claim", "persistentVolumeClaim": {"claimName": claim}}
        mount = {"name": "claim", "mountPath": CLAIM}
        pod = self.small_pod(image=image, command=command, volume=volume, mount=mount)
        job = job_of(name, labels, {}, CLAIM_NETWORK, pod)
        job["spec"] |= {"suspend": False, "ttlSecondsAfterFinished": 600}
        return job

    def small_pod(
        self, *, image: str, command: Sequence[str], volume: Object, mount: Object, secret: str = ""
    ) -> Object:
        """A Pod of ours with one volume and one program, which is told what a Secret holds."""
        container: Object = {
            "name": CONTAINER,
            "image": image,
            "command": list(command),
            "securityContext": self._container_security(),
            "resources": _resources(cpus=0.5, memory_mb=256, disk="64Mi"),
            "volumeMounts": [mount],
        }
        if secret:
            container["envFrom"] = [{"secretRef": {"name": secret}}]
        return {**self._outer(), "containers": [container], "volumes": [volume]}

    def _pod(
        self,
        launch: Launch,
        image: str,
        volumes: Sequence[tuple[Object, Object]],
        aliases: Sequence[Object],
        command: Sequence[str] | None,
    ) -> Object:
        own = [*self._scratch(makes_layer=launch.makes_layer), *volumes]
        container: Object = {
            "name": CONTAINER,
            "image": image,
            "workingDir": WORK,
            "env": [{"name": "HOME", "value": WORK}],
            "securityContext": self._container_security(),
            "resources": _resources(
                cpus=launch.cpus,
                memory_mb=launch.memory_mb,
                disk=self.setup_disk if launch.makes_layer else self.disk,
            ),
            "terminationMessagePolicy": "File",
            "volumeMounts": [mount for _, mount in own],
        }
        if command is not None:
            container["command"] = list(command)
        sources = {source["name"]: source for source, _ in own}
        pod = {**self._outer(), "containers": [container], "volumes": list(sources.values())}
        if aliases:
            pod["hostAliases"] = list(aliases)
        if launch.makes_layer:
            return pod
        # A name server that is not there: nothing a session asks for leaves its Pod.
        return {**pod, "dnsPolicy": "None", "dnsConfig": {"nameservers": ["127.0.0.1"]}}

    def _outer(self) -> Object:
        lost = [
            {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": self.node_lost_s}
            for what in ("not-ready", "unreachable")
        ]  # fmt: skip
        pod: Object = {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "hostNetwork": False,
            "hostPID": False,
            "hostIPC": False,
            # The Pod's first process is then the runtime's own: it passes no signal by, and reaps what sessions leave.
            "shareProcessNamespace": True,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": self.user,
                "runAsGroup": self.user,
                "fsGroup": self.user,
                "fsGroupChangePolicy": "OnRootMismatch",
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "tolerations": lost,
        }
        if self.user_namespace:
            pod["hostUsers"] = False
        if self.runtime_class:
            pod["runtimeClassName"] = self.runtime_class
        if self.node_selector:
            pod["nodeSelector"] = dict(self.node_selector)
        if self.pull_secret:
            pod["imagePullSecrets"] = [{"name": self.pull_secret}]
        return pod

    def _container_security(self) -> Object:
        return {
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
        }

    def _scratch(self, *, makes_layer: bool) -> Iterator[tuple[Object, Object]]:
        """What may be written: in memory, and of a setup on the node's disk."""
        for name, place, size in (("tmp", TMP, self.tmp), ("work", WORK, self.work)):
            kept: Object = (
                {"sizeLimit": self.setup_disk} if makes_layer else {"medium": "Memory", "sizeLimit": size}
            )
            yield {"name": name, "emptyDir": kept}, {"name": name, "mountPath": place}

    def policies(self, instance: str, host: Host) -> Iterator[Object]:
        """The NetworkPolicies of an instance's sessions, setups and small Jobs. Nobody reaches any of them."""
        listener: Object = {
            "to": [{"ipBlock": {"cidr": f"{host.address}/{128 if ':' in host.address else 32}"}}],
            "ports": [{"protocol": "TCP", "port": host.port}],
        }
        if self.daemon_namespace:
            # Of a Service's address most networks see only the Pod behind it.
            listener["to"].append(
                {
                    "namespaceSelector": {
                        "matchLabels": {"kubernetes.io/metadata.name": self.daemon_namespace}
                    },
                    "podSelector": {"matchLabels": {"app.kubernetes.io/name": "overlord"}},
                }
            )
        names = {"ports": [{"protocol": kind, "port": 53} for kind in ("UDP", "TCP")]}
        world: Object = {
            "to": [
                {"ipBlock": {"cidr": "0.0.0.0/0", "except": list(_PRIVATE)}},
                *({"ipBlock": {"cidr": cidr}} for cidr in self.setup_reaches),
            ]
        }
        reached = {SESSION_NETWORK: [listener], SETUP_NETWORK: [listener, names, world], CLAIM_NETWORK: []}
        for network, egress in reached.items():
            yield {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "NetworkPolicy",
                "metadata": {
                    "name": policy_name(instance, network),
                    "labels": {"overlord.instance": instance},
                },
                "spec": {
                    "podSelector": {"matchLabels": {"overlord.instance": instance, NETWORK_LABEL: network}},
                    "policyTypes": ["Ingress", "Egress"],
                    "ingress": [],
                    "egress": egress,
                },
            }


def policy_name(instance: str, network: str) -> str:
    return f"overlord-{instance}-{network}"


def job_of(
    name: str, labels: Mapping[str, str], annotations: Mapping[str, str], network: str, pod: Object
) -> Object:
    """A suspended Job whose one Pod is never made a second time."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": dict(labels), "annotations": dict(annotations)},
        "spec": {
            "suspend": True,
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 0,
            # The default makes a second Pod while the first one is still ending.
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {"labels": {**labels, NETWORK_LABEL: network}, "annotations": dict(annotations)},
                "spec": pod,
            },
        },
    }


def _resources(*, cpus: float, memory_mb: int, disk: str) -> Object:
    most = {"cpu": f"{max(1, int(cpus * 1000))}m", "memory": f"{memory_mb}Mi", "ephemeral-storage": disk}
    return {"requests": dict(most), "limits": most}


def differences(asked: object, shown: object, place: str = "") -> list[str]:
    """What a server keeps otherwise than it was asked for. What it adds to a mapping are defaults; what it adds to a list is told."""
    if isinstance(asked, Mapping):
        found = shown if isinstance(shown, Mapping) else {}
        return [
            text
            for name, value in asked.items()
            for text in differences(value, found.get(name), f"{place}.{name}" if place else str(name))
        ]
    if isinstance(asked, Sequence) and not isinstance(asked, str):
        listed = shown if isinstance(shown, Sequence) and not isinstance(shown, str) else ()
        if len(asked) != len(listed):
            return [f"{place}: asked for {len(asked)}, got {len(listed)}"]
        pairs = enumerate(zip(asked, listed, strict=True))
        return [
            text for index, (one, other) in pairs for text in differences(one, other, f"{place}[{index}]")
        ]
    if asked == shown or (asked in (False, 0, "") and shown is None) or _is_same_quantity(asked, shown):
        return []
    return [f"{place}: asked {asked!r}, got {shown!r}"]


_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|k|M|G|Ki|Mi|Gi|)")
_UNITS = {"m": Decimal("0.001"), "": Decimal(1), "k": Decimal(1000), "M": Decimal(10**6), "G": Decimal(10**9)}
_UNITS |= {f"{name}i": Decimal(1024**power) for power, name in enumerate("KMG", start=1)}


def _is_same_quantity(asked: object, shown: object) -> bool:
    """Whether two amounts are the same one: a server writes `2048Mi` as `2Gi`."""
    found = [_QUANTITY.fullmatch(text) for text in (str(asked), str(shown))]
    first, second = (None if match is None else Decimal(match[1]) * _UNITS[match[2]] for match in found)
    return first is not None and first == second
