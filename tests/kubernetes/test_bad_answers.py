"""An API server that is busy, fails, forgets, cuts connections and says no: what the runner makes of each."""

from dataclasses import replace

import pytest

from overlord.adapters.kubernetes.cluster import read_access
from overlord.adapters.kubernetes.runner import KubernetesRunner
from overlord.domain.identifiers import SessionId
from overlord.domain.session import EndKind
from overlord.embedded.kubernetes.kind import BY_PLURAL
from overlord.errors import RunnerRefused, RunnerUnavailable, SettingsError
from tests.kubernetes_kit import INSTANCE, NAMESPACE, KubernetesKit
from tests.runners import EXITS, OBEYS, Make, ending_of, launch

S1 = SessionId("s1")


async def begun(kit: KubernetesKit, runner: KubernetesRunner) -> None:
    await runner.start(launch(kit))
    assert await (await kit.session_api.line()).hear() == "up"


@pytest.mark.parametrize("status", [429, 500, 503, 0], ids=["busy", "fails", "is away", "cuts"])
@pytest.mark.parametrize("is_after", [False, True], ids=["before", "after"])
async def test_a_start_is_repeated_until_the_server_answers_and_one_session_runs(
    kit: KubernetesKit, make: Make, status: int, is_after: bool
) -> None:
    for verb, resource in (
        ("get", "networkpolicies"),
        ("create", "networkpolicies"),
        ("create", "jobs"),
        ("create", "secrets"),
        ("patch", "jobs"),
    ):
        kit.cluster.fail(status, verb=verb, resource=resource, times=2, retry_after_s=0, is_after=is_after)
    runner = make(EXITS)
    await runner.start(launch(kit))
    assert (await ending_of(runner, S1)).exit_code == 2
    assert len(kit.cluster.store.list("pods", NAMESPACE)) == 1
    assert kit.cluster.api.faults == []


async def test_a_server_that_stays_busy_is_unavailable_and_what_it_said_is_told(
    kit: KubernetesKit, make: Make
) -> None:
    kit.cluster.fail(500, verb="create", resource="jobs", times=1000, message="etcdserver: no leader")
    with pytest.raises(RunnerUnavailable, match="answers 500: etcdserver: no leader"):
        await make().start(launch(kit))
    assert kit.cluster.store.list("jobs", NAMESPACE) == []


async def test_a_server_that_is_gone_is_unavailable(kit: KubernetesKit) -> None:
    file = kit.root / "gone"
    file.write_text(kit.kubeconfig.read_text().replace(kit.cluster.url, "https://127.0.0.1:1"))
    runner = KubernetesRunner(
        kit.root / "other",
        read_access(file),
        namespace=NAMESPACE,
        image="x",
        instance=INSTANCE,
        pause_s=0.001,
    )
    with pytest.raises(RunnerUnavailable, match="does not answer"):
        await runner.find(S1)
    await runner.close()


async def test_a_watch_that_is_dropped_goes_on_from_where_it_was(kit: KubernetesKit, make: Make) -> None:
    runner = make(OBEYS)
    await runner.start(launch(kit))
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    kit.cluster.drop_watches()
    line.say("3")
    kit.cluster.drop_watches()
    assert (await ending_of(runner, S1)).exit_code == 3


@pytest.mark.parametrize("times", [1, 3])
async def test_a_watch_whose_version_is_forgotten_is_begun_with_a_fresh_list(
    kit: KubernetesKit, make: Make, times: int
) -> None:
    runner = make(OBEYS)
    await runner.start(launch(kit))
    line = await kit.session_api.line()
    assert await line.hear() == "up"
    kit.cluster.fail(410, verb="watch", resource="pods", times=times, message="too old resource version")
    kit.cluster.expire_watches()
    kit.cluster.drop_watches()
    line.say("4")
    assert (await ending_of(runner, S1)).exit_code == 4


async def test_a_list_that_fails_does_not_end_the_watch(kit: KubernetesKit, make: Make) -> None:
    kit.cluster.fail(500, verb="list", resource="pods", times=12)
    runner = make(EXITS)
    await runner.start(launch(kit))
    assert (await ending_of(runner, S1)).exit_code == 2


async def test_a_job_of_somebody_else_under_our_name_is_refused(kit: KubernetesKit, make: Make) -> None:
    runner = make(EXITS)
    await runner.start(launch(kit))
    await ending_of(runner, S1)
    [ours] = kit.cluster.store.list("jobs", NAMESPACE)
    await runner.remove(S1)
    theirs = {"name": ours["metadata"]["name"], "labels": {"team": "other"}}
    kit.cluster.add("jobs", NAMESPACE, {"metadata": theirs, "spec": ours["spec"], "status": {}})
    with pytest.raises(RunnerRefused, match="exists and is not ours"):
        await runner.start(launch(kit))
    kit.cluster.store.remove(BY_PLURAL["jobs"], NAMESPACE, ours["metadata"]["name"])


async def test_an_account_without_rights_is_told_which_one_is_missing(kit: KubernetesKit) -> None:
    token = kit.cluster.account("overlord", "nobody")
    file = kit.cluster.write_kubeconfig(kit.root / "nobody", token)
    runner = KubernetesRunner(
        kit.root / "other", read_access(file), namespace=NAMESPACE, image="x", instance=INSTANCE
    )
    with pytest.raises(
        RunnerUnavailable, match=r"does not let Overlord get jobs.batch in the namespace overlord-ses"
    ):
        await runner.find(S1)
    with pytest.raises(RunnerUnavailable, match="does not let Overlord get networkpolicies"):
        await runner.start(launch(kit))
    await runner.close()


async def test_credentials_that_are_not_taken_are_told(kit: KubernetesKit) -> None:
    file = kit.cluster.write_kubeconfig(kit.root / "stranger", "no-such-token")
    runner = KubernetesRunner(
        kit.root / "other", read_access(file), namespace=NAMESPACE, image="x", instance=INSTANCE
    )
    with pytest.raises(RunnerUnavailable, match="does not take Overlord's credentials"):
        await runner.sessions()
    await runner.close()


async def test_a_namespace_that_is_not_there_is_told_with_how_to_make_it(kit: KubernetesKit) -> None:
    runner = KubernetesRunner(
        kit.root / "other", read_access(kit.kubeconfig), namespace="nowhere", image="x", instance=INSTANCE
    )
    with pytest.raises(RunnerRefused, match="kubectl create namespace nowhere"):
        await runner.start(launch(kit))
    await runner.close()


async def test_a_quota_on_jobs_is_waited_for(kit: KubernetesKit, make: Make) -> None:
    kit.cluster.add(
        "resourcequotas",
        NAMESPACE,
        {"metadata": {"name": "few"}, "spec": {"hard": {"count/jobs.batch": "0"}}},
    )
    with pytest.raises(RunnerUnavailable, match=r"has no room: .*exceeded quota: few"):
        await make(EXITS).start(launch(kit))


async def test_a_launch_without_a_session_listener_is_refused(kit: KubernetesKit, make: Make) -> None:
    with pytest.raises(RunnerRefused, match=r"session_listener\.address"):
        await make(EXITS).start(replace(launch(kit), access=None))


async def test_a_cluster_that_keeps_another_job_than_was_asked_for_is_refused(
    kit: KubernetesKit, make: Make
) -> None:
    def weaken(item: dict[str, object]) -> None:
        item["spec"]["template"]["spec"]["containers"][0]["securityContext"]["readOnlyRootFilesystem"] = False  # type: ignore[index]

    kit.cluster.api.mutations["jobs"] = weaken
    with pytest.raises(RunnerRefused, match=r"not what was asked for: .*readOnlyRootFilesystem"):
        await make(EXITS).start(launch(kit))
    assert kit.cluster.store.list("jobs", NAMESPACE) == []


@pytest.mark.parametrize("text", ["", "{", "clusters: []\n", "apiVersion: v1\nkind: Config\n"])
def test_a_kubeconfig_that_is_none_is_a_setting_that_is_wrong(kit: KubernetesKit, text: str) -> None:
    file = kit.root / "broken"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"kubernetes\.kubeconfig"):
        read_access(file)
    with pytest.raises(SettingsError, match=r"set kubernetes\.kubeconfig"):
        read_access(None)


async def test_what_other_overlords_have_in_the_namespace_is_left_alone(
    kit: KubernetesKit, make: Make
) -> None:
    other = KubernetesRunner(
        kit.root / "other",
        read_access(kit.kubeconfig),
        namespace=NAMESPACE,
        image="overlord-minion",
        instance="another",
        command=["python", "-c", "pass"],
    )
    await other.start(launch(kit))
    assert (await ending_of(other, S1)).kind is EndKind.EXITED
    runner = make(EXITS)
    assert await runner.find(S1) is None
    assert await runner.sessions() == []
    await runner.remove(S1)
    assert await other.find(S1) is not None
    await other.remove(S1)
    await other.close()
