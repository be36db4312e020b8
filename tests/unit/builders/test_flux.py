"""Flux: the instance, the wrapped command, and the scripts, run with a stand-in for flux."""

import base64
import shlex
import subprocess

import pytest

from jobs.builders import Capabilities, build, generate_keys
from jobs.builders.flux_scripts import Instance, entrypoint_script, init_script
from tests.unit.builders.samples import REAL, main, one, pod, rjob, runtime, trainjob

KEYS = generate_keys()


def flux_runtime(nproc=1, **pod_spec):
    return runtime(rjob("node", "trainer", **pod_spec), policy={"flux": {"numProcPerNode": nproc}})


def scripts(trainer, rt=None, capabilities=REAL):
    objects = build(trainjob(trainer), rt or flux_runtime(), capabilities, KEYS)
    return one(objects, "ConfigMap", "job-flux-entrypoint")["data"]


RUNS = [
    ({}, {}, 1, "flux run -N 1 -n 1 ", "--cores=0 "),
    ({"numNodes": 3}, {}, 2, "flux run -N 3 -n 6 ", "--cores=0-1 "),
    ({"numNodes": 2, "numProcPerNode": 4}, {"limits": {"nvidia.com/gpu": "4"}}, 1, "flux run -N 2 -n 8 -g 1 ", "--cores=0-3 --gpu=0-3 "),
    ({"numNodes": 2, "numProcPerNode": 2}, {"limits": {"nvidia.com/gpu": "8"}}, 1, "flux run -N 2 -n 4 -g 4 ", "--cores=0-1 --gpu=0-7 "),
    ({"numProcPerNode": 4}, {"limits": {"nvidia.com/gpu": "1"}}, 1, "flux run -N 1 -n 4 ", "--cores=0-3 --gpu=0 "),
]  # fmt: skip


@pytest.mark.parametrize(("trainer", "resources", "nproc", "run", "cores"), RUNS)
def test_tasks_and_gpus_per_task(trainer, resources, nproc, run, cores):
    data = scripts(trainer, flux_runtime(nproc, resources=resources))
    assert run in data["entrypoint.sh"]
    assert cores in data["init.sh"]


def test_hosts_addresses_and_settings():
    job_env = [{"name": "FLUX_NETWORK_DEVICE", "value": "ib0"}]
    rt = flux_runtime(
        env=[{"name": "FLUX_QUEUE_POLICY", "value": "easy"}, {"name": "FLUX_NETWORK_DEVICE", "value": "x"}]
    )
    init = scripts({"numNodes": 3, "env": job_env}, rt, Capabilities(cluster_domain="k8s.example"))["init.sh"]
    assert 'hosts = [ { host = "job-node-0-[0-2]" } ]' in init
    assert 'default_bind = "tcp://ib0:%p"' in init
    assert 'default_connect = "tcp://%h.job.ml.svc.k8s.example:%p"' in init
    assert 'queue-policy = "easy"' in init
    assert "job-node-0-[0]" in scripts({})["init.sh"]


def test_the_key_is_random_and_only_in_its_secret():
    objects = build(trainjob({}), flux_runtime(), REAL, KEYS)
    cert = base64.b64decode(one(objects, "Secret")["data"]["curve.cert"]).decode()
    assert 'secret-key = "' in cert
    secret = cert.partition('secret-key = "')[2].partition('"')[0]
    assert len(secret) == 40
    assert secret not in str([o for o in objects if o["kind"] != "Secret"])
    assert [o for o in objects if o["kind"] != "Secret"] == build(trainjob({}), flux_runtime(), REAL)


COMMANDS = [
    ({"command": ["sh", "-c"], "args": ['echo "a b"; x']}, [], ["sh", "-c", 'echo "a b"; x'], None),
    ({}, ["hostname", "-f"], ["hostname", "-f"], None),
    ({"command": ["c"]}, ["a"], ["c"], None),
    ({}, [], [], None),
]


@pytest.mark.parametrize(("trainer", "command", "words", "args"), COMMANDS)
def test_wrapped_command_keeps_its_words(trainer, command, words, args):
    target = main(one(build(trainjob(trainer), flux_runtime(command=command), REAL), "JobSet"), "node")
    assert target["command"][:2] == ["/bin/bash", "/etc/flux-config/entrypoint.sh"]
    assert shlex.split(target["command"][2]) == words
    assert target.get("args") == args


def test_installer_comes_after_the_runtimes_init_containers():
    rt = flux_runtime(initContainers=[{"name": "pre"}], env=[{"name": "FLUX_VIEW_IMAGE", "value": "mine"}])
    inits = pod(one(build(trainjob({}), rt, REAL), "JobSet"), "node")["initContainers"]
    assert [init["name"] for init in inits] == ["pre", "flux-installer"]
    assert inits[1]["image"] == "mine"


def run(tmp_path, script, *arguments, host="leader"):
    """Run a script with all its folders below tmp_path, and a `flux` and a `hostname` that do as little as needed."""
    for name in ("mnt/flux/view/bin", "mnt/flux/software", "opt/view/bin", "opt/software", "curve", "tmp"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    (tmp_path / "curve/curve.cert").write_text("key")
    calls = tmp_path / "calls"
    stand_in = f'#!/bin/bash\nprintf "%s\\n" "$@" >> {calls}\nexit ${{RC:-0}}\n'
    for name, text in [("mnt/flux/view/bin/flux", stand_in), ("opt/view/bin/flux", stand_in),
                       ("mnt/flux/view/bin/hostname", f"#!/bin/sh\necho {host}\n")]:  # fmt: skip
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    for root in ("/mnt/flux", "/opt/", "/curve/", "/tmp/trainui"):  # noqa: S108
        script = script.replace(root, f"{tmp_path}{root}")
    done = subprocess.run(
        ["/bin/bash", "-c", script, "entrypoint", *arguments], capture_output=True, text=True, timeout=30, check=False
    )
    return done, calls.read_text().splitlines() if calls.exists() else []


INSTANCE = Instance("h-[0-1]", "leader", "--cores=0", "-N 2 -n 2", "tcp://eth0:%p", "tcp://%h:%p", "fcfs")


def test_leader_runs_the_program_with_its_words(tmp_path):
    script = entrypoint_script(INSTANCE)
    done, calls = run(tmp_path, script, "sh -c 'echo \"a  b\" $HOME'", "one more", "$(x)")
    assert done.returncode == 0, done.stderr
    assert calls[0] == "broker"
    program = calls.index("run")
    assert calls[program - 1] == "flux"
    assert calls[program + 1 :] == ["-N", "2", "-n", "2", "sh", "-c", 'echo "a  b" $HOME', "one more", "$(x)"]
    assert (tmp_path / "tmp/trainui-flux/curve.cert").stat().st_mode & 0o777 == 0o600


def test_follower_only_starts_its_broker(tmp_path):
    done, calls = run(tmp_path, entrypoint_script(INSTANCE), "true", host="other")
    assert done.returncode == 0, done.stderr
    assert calls[0] == "broker"
    assert "run" not in calls


def test_exit_code_of_the_program_is_the_leaders(tmp_path):
    script = entrypoint_script(INSTANCE).replace("set -e", "set -e; export RC=7", 1)
    assert run(tmp_path, script, "false")[0].returncode == 7


def test_without_a_command_it_says_so(tmp_path):
    done, calls = run(tmp_path, entrypoint_script(INSTANCE), "")
    assert done.returncode == 1
    assert "spec.trainer.command" in done.stderr
    assert calls == []


def test_init_script_copies_flux_and_writes_its_configuration(tmp_path):
    for name in ("opt/view", "opt/software/lib"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    (tmp_path / "opt/software/lib/x.so").write_text("x")
    (tmp_path / "mnt/flux").mkdir(parents=True)
    done, calls = run(tmp_path, init_script(INSTANCE))
    assert done.returncode == 0, done.stderr
    assert calls == ["R", "encode", "--hosts=h-[0-1]", "--cores=0"]
    assert (tmp_path / "mnt/flux/software/lib/x.so").exists()
    assert 'hosts = [ { host = "h-[0-1]" } ]' in (tmp_path / "mnt/flux/config/broker.toml").read_text()
