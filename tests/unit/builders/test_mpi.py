"""MPI: roles, counts, slots, host list, key and environment."""

import base64
import subprocess

import pytest

from jobs.builders import BuildError, Capabilities, build, generate_keys, needs_keys, needs_ssh_key
from jobs.builders.mpi import _WAIT
from tests.unit.builders.samples import REAL, env, main, mpi_runtime, one, part, pod, rjob, runtime, trainjob

KEYS = generate_keys()


def hostfile(objects):
    return one(objects, "ConfigMap", "job-mpi-hostfile")["data"]["hostfile"]


COUNTS = [
    (True, {}, 0, "job-launcher-0-0.job slots=1\n"),
    (True, {"numNodes": 1}, 0, "job-launcher-0-0.job slots=1\n"),
    (True, {"numNodes": 3}, 2, "job-node-0-0.job slots=1\njob-node-0-1.job slots=1\njob-launcher-0-0.job slots=1\n"),
    (False, {}, 1, "job-node-0-0.job slots=1\n"),
    (False, {"numNodes": 2}, 2, "job-node-0-0.job slots=1\njob-node-0-1.job slots=1\n"),
]


@pytest.mark.parametrize(("as_node", "trainer", "workers", "hosts"), COUNTS)
def test_counts_and_hosts(as_node, trainer, workers, hosts):
    objects = build(trainjob(trainer), mpi_runtime(as_node), REAL, KEYS)
    jobset = one(objects, "JobSet")
    assert part(jobset, "node")["template"]["spec"]["parallelism"] == workers
    assert part(jobset, "launcher")["template"]["spec"]["parallelism"] == 1
    assert hostfile(objects) == hosts
    waits = [edge["name"] for edge in part(jobset, "launcher").get("dependsOn", [])]
    assert waits == (["node"] if workers else [])


def test_launcher_waits_for_what_absent_workers_would_have_waited_for():
    rt = mpi_runtime()
    jobs = rt["spec"]["template"]["spec"]["replicatedJobs"]
    jobs.insert(0, rjob("dataset-initializer", "dataset-initializer", container="dataset-initializer"))
    jobs[1]["dependsOn"] = [{"name": "dataset-initializer", "status": "Complete"}]
    jobset = one(build(trainjob({}), rt, REAL), "JobSet")
    assert part(jobset, "launcher")["dependsOn"] == [{"name": "dataset-initializer", "status": "Complete"}]


def test_both_generations_of_open_mpi_find_the_hosts():
    values = env(main(one(build(trainjob({"numProcPerNode": 4}), mpi_runtime(), REAL), "JobSet"), "launcher"))
    assert values["OMPI_MCA_orte_default_hostfile"] == values["PRTE_MCA_prte_default_hostfile"] == "/etc/mpi/hostfile"
    assert values["OMPI_MCA_orte_set_default_slots"] == values["PRTE_MCA_prte_set_default_slots"] == "4"
    assert values["OMPI_MCA_plm_rsh_args"] == values["PRTE_MCA_plm_ssh_args"] == "-o ConnectionAttempts=10"
    assert (values["OMPI_MCA_orte_keep_fqdn_hostnames"], values["PRTE_MCA_prte_keep_fqdn_hostnames"]) == (
        "true",
        "false",
    )


IMPLEMENTATIONS = [
    ("IntelMPI", "job-launcher-0-0.job:2\n", "I_MPI_HYDRA_HOST_FILE"),
    ("Intel", "job-launcher-0-0.job:2\n", "I_MPI_HYDRA_HOST_FILE"),
    ("MPICH", "job-launcher-0-0.job:2\n", "HYDRA_HOST_FILE"),
    ("DeepSpeed", "job-launcher-0-0.job slots=2\n", "OMPI_MCA_orte_default_hostfile"),
]


@pytest.mark.parametrize(("name", "hosts", "variable"), IMPLEMENTATIONS)
def test_other_implementations_by_annotation(name, hosts, variable):
    rt = mpi_runtime()
    rt["metadata"]["annotations"] = {"trainui.dev/mpi-implementation": name}
    objects = build(trainjob({"numProcPerNode": 2}), rt, REAL)
    assert hostfile(objects) == hosts
    assert env(main(one(objects, "JobSet"), "launcher"))[variable] == "/etc/mpi/hostfile"


@pytest.mark.parametrize(
    ("annotation", "value"), [("trainui.dev/mpi-implementation", "LAM"), ("trainui.dev/hostfile-hosts", "nickname")]
)
def test_unknown_choices_cannot_be_built(annotation, value):
    with pytest.raises(BuildError) as caught:
        build(trainjob({}, annotations={annotation: value}), mpi_runtime(), REAL)
    assert value in caught.value.findings[0].message


def test_full_host_names_by_annotation():
    job = trainjob({}, annotations={"trainui.dev/hostfile-hosts": "fqdn"})
    assert hostfile(build(job, mpi_runtime(), REAL)) == "job-launcher-0-0.job.ml.svc.cluster.local slots=1\n"
    short = Capabilities(cluster_domain="")
    assert hostfile(build(job, mpi_runtime(), short)) == "job-launcher-0-0.job.ml.svc slots=1\n"


def test_host_names_stay_where_they_do_not_resolve():
    assert hostfile(build(trainjob({}), mpi_runtime(), Capabilities.local())) == "job-launcher-0-0.job slots=1\n"


MODES = [
    ({}, {}, 0o600),
    ({"securityContext": {"runAsUser": 0}}, {}, 0o600),
    ({"securityContext": {"runAsUser": 0, "fsGroup": 1}}, {}, 0o640),
    ({"securityContext": {"runAsUser": 1000, "fsGroup": 1000}}, {}, 0o640),
    ({"securityContext": {"runAsUser": 1000}}, {}, 0o640),
    ({"securityContext": {"runAsUser": 1000}}, {"runAsUser": 0}, 0o600),
]


@pytest.mark.parametrize(("of_pod", "of_container", "mode"), MODES)
def test_mode_of_the_private_key(of_pod, of_container, mode):
    rt = mpi_runtime()
    spec = rt["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    spec.update(of_pod)
    spec["containers"][0]["securityContext"] = of_container
    [volume] = pod(one(build(trainjob({}), rt, REAL), "JobSet"), "node")["volumes"]
    modes = {item["path"]: item["mode"] for item in volume["secret"]["items"]}
    assert modes == {"id_rsa": mode, "id_rsa.pub": 0o644, "authorized_keys": 0o644}


def test_secret_is_made_only_with_keys():
    objects = build(trainjob({}), mpi_runtime(), REAL, KEYS)
    secret = one(objects, "Secret")
    assert (secret["type"], secret["immutable"]) == ("kubernetes.io/ssh-auth", True)
    assert base64.b64decode(secret["data"]["ssh-privatekey"]).decode() == KEYS.ssh_private
    assert base64.b64decode(secret["data"]["ssh-publickey"]).decode() == KEYS.ssh_public
    without = build(trainjob({}), mpi_runtime(), REAL)
    assert [o for o in objects if o["kind"] != "Secret"] == without


def test_which_runtimes_need_keys():
    assert needs_ssh_key(mpi_runtime())
    assert needs_keys(mpi_runtime())
    assert needs_keys(runtime(rjob("node", "trainer"), policy={"flux": {}}))
    assert not needs_ssh_key(runtime(rjob("node", "trainer"), policy={"flux": {}}))
    assert not needs_keys(runtime(rjob("node", "trainer"), policy={"torch": {}}))


def test_image_and_env_reach_the_workers_but_not_the_command():
    trainer = {
        "image": "new",
        "command": ["mpirun"],
        "args": ["x"],
        "env": [{"name": "A", "value": "1"}],
        "numNodes": 2,
    }
    jobset = one(build(trainjob(trainer), mpi_runtime(), REAL), "JobSet")
    worker, launcher = main(jobset, "node"), main(jobset, "launcher")
    assert (worker["image"], worker["command"], worker["args"]) == ("new", ["/usr/sbin/sshd"], ["-De"])
    assert (launcher["image"], launcher["command"], launcher["args"]) == ("new", ["mpirun"], ["x"])
    assert env(worker)["A"] == env(launcher)["A"] == "1"


@pytest.mark.parametrize(("as_node", "on_launcher"), [(True, True), (False, False)])
def test_resources_go_where_ranks_run(as_node, on_launcher):
    trainer = {"numNodes": 2, "resourcesPerNode": {"limits": {"nvidia.com/gpu": "2"}}}
    objects = build(trainjob(trainer), mpi_runtime(as_node), REAL)
    jobset = one(objects, "JobSet")
    assert main(jobset, "node")["resources"]["limits"] == {"nvidia.com/gpu": "2"}
    assert ("resources" in main(jobset, "launcher")) is on_launcher
    assert hostfile(objects).splitlines()[0].endswith("slots=2")


def test_more_nodes_than_a_lone_launcher_can_be():
    rt = runtime(rjob("launcher", "trainer"), policy={"mpi": {"runLauncherAsNode": True}})
    with pytest.raises(BuildError):
        build(trainjob({"numNodes": 2}), rt, REAL)


def test_a_host_list_that_does_not_fit():
    job = trainjob({"numNodes": 40_000})
    job["metadata"]["namespace"] = "n" * 63
    job["metadata"]["annotations"] = {"trainui.dev/hostfile-hosts": "fqdn"}
    with pytest.raises(BuildError) as caught:
        build(job, mpi_runtime(False), REAL)
    assert caught.value.findings[0].code == "too_large"


def ganged(runtime_spec):
    job = trainjob({"numNodes": 3}, annotations={"trainui.dev/gang-scheduler": "auto"})
    return build(job, runtime_spec, REAL, KEYS)


def test_launcher_that_runs_ranks_waits_in_its_container():
    objects = ganged(mpi_runtime())
    jobset = one(objects, "JobSet")
    assert "dependsOn" not in part(jobset, "launcher")
    assert one(objects, "PodGroup")["spec"] == {"schedulingPolicy": {"gang": {"minCount": 3}}}
    [wait] = pod(jobset, "launcher")["initContainers"]
    launcher = main(jobset, "launcher")
    assert wait["image"] == launcher["image"]
    assert wait["volumeMounts"] == launcher["volumeMounts"]
    assert wait["command"][-1] == "job-launcher-0-0"
    assert "initContainers" not in pod(jobset, "node")


def test_launcher_without_ranks_keeps_waiting_outside_the_gang():
    objects = ganged(mpi_runtime(False))
    jobset = one(objects, "JobSet")
    assert part(jobset, "launcher")["dependsOn"] == [{"name": "node", "status": "Ready"}]
    assert "initContainers" not in pod(jobset, "launcher")
    assert "schedulingGroup" not in pod(jobset, "launcher")
    assert pod(jobset, "node")["schedulingGroup"] == {"podGroupName": "job"}


@pytest.mark.parametrize("lines", ["{job}-node-0-0.{job} slots=1\n", "{job}-node-0-0.{job}:1\n"])
@pytest.mark.parametrize("answers", [True, False])
def test_the_wait_asks_every_host_but_its_own(tmp_path, lines, answers):
    """Run the script with an agent that notes whom it was asked for; one that never answers ends it in time."""
    hosts = tmp_path / "hostfile"
    hosts.write_text(lines.format(job="j") + lines.format(job="j").replace("node", "launcher"))
    asked, agent = tmp_path / "asked", tmp_path / "agent"
    agent.write_text(f'#!/bin/sh\necho "$@" >> {asked}\nexit {0 if answers else 1}\n')
    agent.chmod(0o755)
    script = _WAIT.replace("/etc/mpi/hostfile", str(hosts)).replace("600", "0")
    done = subprocess.run(
        ["/bin/sh", "-c", script, "wait", "j-launcher-0-0"],
        env={"PATH": "/usr/bin:/bin", "PRTE_MCA_plm_ssh_agent": str(agent)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert asked.read_text().split() == [lines.format(job="j").split()[0].partition(":")[0], "true"]
    assert done.returncode == (0 if answers else 1)
    assert ("no answer from j-node-0-0.j" in done.stderr) is not answers
