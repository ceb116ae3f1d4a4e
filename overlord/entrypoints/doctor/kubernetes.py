"""What `overlord doctor` finds of the cluster that sessions run in."""

import uuid
from collections.abc import Sequence
from pathlib import Path

from overlord.adapters.docker.profile_check import Wall
from overlord.adapters.runner_choice import kubernetes_runner
from overlord.entrypoints.doctor.finding import Finding, bad, found_by
from overlord.errors import SettingsError
from overlord.settings.load import Settings


async def examine_kubernetes(settings: Settings) -> Sequence[Finding]:
    """The cluster, its version, the namespace, the rights, the claim and the runtime class."""
    from overlord.adapters.kubernetes.check import examine_cluster
    from overlord.adapters.kubernetes.cluster import read_access

    own = settings.kubernetes
    try:
        access = read_access(Path(own.kubeconfig) if own.kubeconfig else None, own.context)
    except SettingsError as error:
        return [bad("cluster", str(error))]
    looks = await examine_cluster(
        access,
        namespace=own.namespace,
        claim=own.environments_claim,
        runtime_class=own.runtime_class,
        call_s=own.timeout_s,
    )
    return [found_by(look) for look in looks]


async def examine_pods(settings: Settings) -> Sequence[Wall]:
    """Try the walls from inside a Pod. Raises SettingsError, RunnerUnavailable, RunnerRefused."""
    from overlord.adapters.kubernetes.profile_check import check_pod

    instance = f"doctor-{uuid.uuid4().hex[:8]}"
    return await check_pod(
        lambda root, command: kubernetes_runner(settings, instance=instance, command=command, root=root)
    )
