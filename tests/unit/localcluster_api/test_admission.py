import pytest

from trainui.localcluster.admission import admit
from trainui.localcluster.admission.pods import pull_policy, quality
from trainui.localcluster.errors import ApiError
from trainui.localcluster.objects import editable, merge_patch
from trainui.localcluster.store import Store

CONTAINER = {"name": "main", "image": "none"}


@pytest.fixture
def store() -> Store:
    return Store(admit=admit, clock=lambda: 1_790_000_000.0)


def container(**fields: object) -> dict:
    return {"containers": [{**CONTAINER, **fields}]}


def named(spec: dict, name: str = "a", **rest: object) -> dict:
    return {"metadata": {"name": name}, "spec": spec, **rest}


def causes(store: Store, kind: str, obj: dict) -> dict[str, str]:
    """Return field -> reason of what is wrong with a new object; empty when it is taken."""
    try:
        store.create(kind, obj)
    except ApiError as error:
        return {cause.field: cause.reason for cause in error.causes} or {"": f"{error.code} {error.message}"}
    return {}


def update_causes(store: Store, kind: str, obj: dict, patch: dict, status: dict | None = None) -> dict[str, str]:
    """Return what is wrong with changing an object by a merge patch."""
    made = store.create(kind, obj)
    if status:
        made = store.update(kind, merge_patch(made, {"status": status}), "status")
    try:
        store.update(kind, merge_patch(made, patch))
    except ApiError as error:
        return {cause.field: cause.reason for cause in error.causes} or {"": f"{error.code} {error.message}"}
    return {}


PODS = [
    ("plain", container(), {}),
    ("no containers", {"containers": []}, {"spec.containers": "FieldValueRequired"}),
    ("no image", {"containers": [{"name": "a"}]}, {"spec.containers[0].image": "FieldValueRequired"}),
    ("bad name", container(name="A_b"), {"spec.containers[0].name": "FieldValueInvalid"}),
    (
        "name taken by an init container",
        {"initContainers": [CONTAINER], "containers": [CONTAINER]},
        {"spec.containers[0].name": "FieldValueDuplicate"},
    ),
    (
        "mount of nothing",
        container(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
        {"spec.containers[0].volumeMounts[0].name": "FieldValueNotFound"},
    ),
    (
        "volume of no kind",
        {**container(), "volumes": [{"name": "v"}]},
        {"spec.volumes[0]": "FieldValueRequired"},
    ),
    (
        "volume of two kinds",
        {**container(), "volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]},
        {"spec.volumes[0].hostPath": "FieldValueForbidden"},
    ),
    (
        "value from two places",
        container(env=[{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
        {"spec.containers[0].env[0].valueFrom": "FieldValueInvalid"},
    ),
    (
        "value from nowhere",
        container(env=[{"name": "A", "valueFrom": {}}]),
        {"spec.containers[0].env[0].valueFrom": "FieldValueInvalid"},
    ),
    ("env twice", container(env=[{"name": "A"}, {"name": "A"}]), {"spec.containers[0].env[1]": "FieldValueDuplicate"}),
    (
        "port out of range",
        container(ports=[{"containerPort": 70000}]),
        {"spec.containers[0].ports[0].containerPort": "FieldValueInvalid"},
    ),
    (
        "request over limit",
        container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1500m"}}),
        {"spec.containers[0].resources.requests": "FieldValueInvalid"},
    ),
    (
        "half a GPU",
        container(resources={"limits": {"nvidia.com/gpu": "500m"}}),
        {
            "spec.containers[0].resources.limits[nvidia.com/gpu]": "FieldValueInvalid",
            "spec.containers[0].resources.requests[nvidia.com/gpu]": "FieldValueInvalid",
        },
    ),
    (
        "GPUs without a limit",
        container(resources={"requests": {"nvidia.com/gpu": 1}}),
        {"spec.containers[0].resources.limits": "FieldValueRequired"},
    ),
    (
        "less than nothing",
        container(resources={"requests": {"memory": "-1Gi"}}),
        {"spec.containers[0].resources.requests[memory]": "FieldValueInvalid"},
    ),
    ("no quantity", container(resources={"limits": {"cpu": "x"}}), None),
    ("restart policy", {**container(), "restartPolicy": "Sometimes"}, {"spec.restartPolicy": "FieldValueNotSupported"}),
    ("type", {**container(), "hostNetwork": "yes"}, {"spec.hostNetwork": "FieldValueTypeInvalid"}),
    (
        "whole number",
        {**container(), "activeDeadlineSeconds": 1.5},
        {"spec.activeDeadlineSeconds": "FieldValueTypeInvalid"},
    ),
    (
        "negative grace",
        {**container(), "terminationGracePeriodSeconds": -1},
        {"spec.terminationGracePeriodSeconds": "FieldValueInvalid"},
    ),
    ("bad host name", {**container(), "hostname": "a.b"}, {"spec.hostname": "FieldValueInvalid"}),
]


@pytest.mark.parametrize(("spec", "expected"), [case[1:] for case in PODS], ids=[case[0] for case in PODS])
def test_pods(store: Store, spec: dict, expected: dict | None) -> None:
    found = causes(store, "Pod", named(spec))
    assert found if expected is None else found == expected


def test_pod_defaults(store: Store) -> None:
    made = store.create(
        "Pod", named(container(resources={"limits": {"cpu": 1, "memory": "1Gi"}}), status={"phase": "Running"})
    )
    spec = made["spec"]
    assert spec["restartPolicy"] == "Always"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["schedulerName"] == "default-scheduler"
    assert spec["priority"] == 0
    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert spec["containers"][0]["imagePullPolicy"] == "Always"
    assert made["status"] == {"phase": "Pending", "qosClass": "Guaranteed"}


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("a", "Always"),
        ("a:latest", "Always"),
        ("a:1", "IfNotPresent"),
        ("h:5000/a", "Always"),
        ("a@sha256:1", "IfNotPresent"),
    ],
)
def test_pull_policy(image: str, policy: str) -> None:
    assert pull_policy(image) == policy


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ([{}], "BestEffort"),
        ([{"requests": {"cpu": "1"}}], "Burstable"),
        ([{"limits": {"cpu": "1", "memory": "1"}, "requests": {"cpu": "1", "memory": "1"}}], "Guaranteed"),
        ([{"limits": {"cpu": "1", "memory": "1"}, "requests": {"cpu": "1", "memory": "1"}}, {}], "Burstable"),
    ],
)
def test_quality(resources: list[dict], expected: str) -> None:
    assert quality([{"resources": entry} for entry in resources]) == expected


class TestPriority:
    def test_from_its_class(self, store: Store) -> None:
        store.create("PriorityClass", {"metadata": {"name": "high"}, "value": 100, "preemptionPolicy": "Never"})
        spec = store.create("Pod", named({**container(), "priorityClassName": "high"}))["spec"]
        assert (spec["priority"], spec["preemptionPolicy"]) == (100, "Never")

    def test_from_the_global_default(self, store: Store) -> None:
        store.create("PriorityClass", {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True})
        spec = store.create("Pod", named(container()))["spec"]
        assert (spec["priority"], spec["priorityClassName"]) == (7, "usual")

    def test_of_an_unknown_class(self, store: Store) -> None:
        found = causes(store, "Pod", named({**container(), "priorityClassName": "none"}))
        assert found[""].startswith('403 pods "a" is forbidden: no PriorityClass with name none was found')

    def test_its_value_stays(self, store: Store) -> None:
        assert update_causes(store, "PriorityClass", {"metadata": {"name": "c"}, "value": 1}, {"value": 2}) == {
            "value": "FieldValueForbidden"
        }


class TestQuota:
    def quota(self, **hard: str) -> dict:
        return named({"hard": {name.replace("__", ".").replace("_", "/"): value for name, value in hard.items()}}, "q")

    def test_counts_unfinished_pods(self, store: Store) -> None:
        store.create("ResourceQuota", self.quota(pods="1"))
        store.create("Pod", named(container()))
        found = causes(store, "Pod", named(container(), "b"))
        assert (
            found[""]
            == '403 pods "b" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
        )
        store.patch("Pod", "default", "a", {"status": {"phase": "Succeeded"}}, "status")
        assert causes(store, "Pod", named(container(), "b")) == {}

    def test_sums_requests(self, store: Store) -> None:
        store.create("ResourceQuota", named({"hard": {"requests.nvidia.com/gpu": "8"}}, "q"))
        eight = container(resources={"limits": {"nvidia.com/gpu": 8}})
        assert causes(store, "Pod", named(eight)) == {}
        assert "requested: requests.nvidia.com/gpu=8" in causes(store, "Pod", named(eight, "b"))[""]
        assert causes(store, "Pod", named(container(), "c")) == {}

    def test_wants_what_it_limits(self, store: Store) -> None:
        store.create("ResourceQuota", named({"hard": {"limits.cpu": "8"}}, "q"))
        found = causes(store, "Pod", named(container()))
        assert found[""] == '403 pods "a" is forbidden: failed quota: q: must specify limits.cpu'


POD_UPDATES = [
    ("image", {"spec": {"containers": [{**CONTAINER, "image": "other"}]}}, {}),
    ("command", {"spec": {"containers": [{**CONTAINER, "command": ["x"]}]}}, {"spec": "FieldValueForbidden"}),
    ("placed", {"spec": {"nodeName": "m"}}, {}),
    ("more tolerations", {"spec": {"tolerations": [{"key": "a"}]}}, {}),
    ("subdomain", {"spec": {"subdomain": "x"}}, {"spec": "FieldValueForbidden"}),
    ("labels", {"metadata": {"labels": {"a": "b"}}}, {}),
]


@pytest.mark.parametrize(
    ("patch", "expected"), [case[1:] for case in POD_UPDATES], ids=[case[0] for case in POD_UPDATES]
)
def test_pod_updates(store: Store, patch: dict, expected: dict) -> None:
    made = editable(store.create("Pod", named(container())))
    for entry in patch.get("spec", {}).get("containers", []):
        entry.update({k: v for k, v in made["spec"]["containers"][0].items() if k not in entry})
    store.delete("Pod", "default", "a", grace=0)
    assert update_causes(store, "Pod", named(container()), patch) == expected


def test_a_placed_pod_stays_where_it_is(store: Store) -> None:
    found = update_causes(store, "Pod", named({**container(), "nodeName": "m"}), {"spec": {"nodeName": "other"}})
    assert found == {"spec": "FieldValueForbidden"}


def test_tolerations_are_only_added(store: Store) -> None:
    spec = {**container(), "tolerations": [{"key": "a"}]}
    assert update_causes(store, "Pod", named(spec), {"spec": {"tolerations": []}}) == {"spec": "FieldValueForbidden"}


JOB = {"template": {"spec": {**container(), "restartPolicy": "Never"}}}


class TestJobs:
    def test_defaults_and_selector(self, store: Store) -> None:
        job = store.create("Job", named(JOB, "j"))
        spec, uid = job["spec"], job["metadata"]["uid"]
        assert (spec["parallelism"], spec["completions"], spec["backoffLimit"]) == (1, 1, 6)
        assert spec["completionMode"] == "NonIndexed"
        assert spec["suspend"] is False
        assert spec["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
        assert spec["template"]["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "j"

    @pytest.mark.parametrize(
        ("spec", "expected"),
        [
            ({}, {"spec.template": "FieldValueRequired", "spec.template.spec.containers": "FieldValueRequired"}),
            ({"template": {"spec": container()}}, {"spec.template.spec.restartPolicy": "FieldValueNotSupported"}),
            ({**JOB, "completionMode": "Indexed", "parallelism": 2}, {"spec.completions": "FieldValueRequired"}),
            ({**JOB, "parallelism": -1}, {"spec.parallelism": "FieldValueInvalid"}),
            ({**JOB, "backoffLimitPerIndex": 1}, {"spec.backoffLimitPerIndex": "FieldValueInvalid"}),
        ],
    )
    def test_rules(self, store: Store, spec: dict, expected: dict) -> None:
        assert causes(store, "Job", named(spec)) == expected

    @pytest.mark.parametrize(
        ("patch", "status", "expected"),
        [
            ({"suspend": True, "parallelism": 3, "backoffLimit": 0}, None, {}),
            ({"completions": 3}, None, {"spec.completions": "FieldValueInvalid"}),
            ({"completionMode": "Indexed"}, None, {"spec.completionMode": "FieldValueInvalid"}),
            ({"template": {"spec": {"hostNetwork": True}}}, None, {"spec.template": "FieldValueInvalid"}),
            ({"template": {"spec": {"nodeSelector": {"a": "b"}}}}, None, {"spec.template": "FieldValueInvalid"}),
        ],
    )
    def test_updates(self, store: Store, patch: dict, status: dict | None, expected: dict) -> None:
        assert update_causes(store, "Job", named(JOB), {"spec": patch}, status) == expected

    def test_placement_may_change_before_the_start(self, store: Store) -> None:
        patch = {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}
        assert update_causes(store, "Job", named({**JOB, "suspend": True}), patch) == {}
        store.delete("Job", "default", "a")
        started = {"startTime": "2026-01-01T00:00:00Z"}
        found = update_causes(store, "Job", named({**JOB, "suspend": True}), patch, started)
        assert found == {"spec.template": "FieldValueInvalid"}


def jobset(*jobs: dict, name: str = "a", **spec: object) -> dict:
    return named({"replicatedJobs": list(jobs), **spec}, name)


def replicated(name: str = "node", parallelism: int = 1, **fields: object) -> dict:
    spec = {"parallelism": parallelism, "completions": parallelism, "template": {"spec": container()}}
    return {"name": name, "template": {"spec": spec}, **fields}


JOBSETS = [
    ("plain", jobset(replicated()), {}),
    ("name twice", jobset(replicated(), replicated()), {"spec.replicatedJobs[1]": "FieldValueDuplicate"}),
    ("upper case", jobset(replicated("Node")), {"spec.replicatedJobs[0].name": "FieldValueInvalid"}),
    ("Job names too long", jobset(replicated(), name="x" * 58), {"spec.replicatedJobs[0].name": "FieldValueInvalid"}),
    ("pod names too long", jobset(replicated(), name="x" * 49), {"spec.replicatedJobs[0].name": "FieldValueInvalid"}),
    ("pod names just fit", jobset(replicated(), name="x" * 48), {}),
    (
        "more pods, longer names",
        jobset(replicated("node", 11), name="x" * 48),
        {"spec.replicatedJobs[0].name": "FieldValueInvalid"},
    ),
    (
        "first depends",
        jobset(replicated(dependsOn=[{"name": "x", "status": "Ready"}])),
        {"spec.replicatedJobs[0].dependsOn[0].name": "FieldValueInvalid"},
    ),
    ("depends", jobset(replicated("a"), replicated("b", dependsOn=[{"name": "a", "status": "Complete"}])), {}),
    (
        "depends on a later one",
        jobset(replicated("a"), replicated("b", dependsOn=[{"name": "c", "status": "Ready"}]), replicated("c")),
        {"spec.replicatedJobs[1].dependsOn[0].name": "FieldValueInvalid"},
    ),
    (
        "success of nobody",
        jobset(replicated(), successPolicy={"operator": "All", "targetReplicatedJobs": ["x"]}),
        {"spec.successPolicy.targetReplicatedJobs[0]": "FieldValueInvalid"},
    ),
    (
        "order and dependencies",
        jobset(
            replicated("a"),
            replicated("b", dependsOn=[{"name": "a", "status": "Ready"}]),
            startupPolicy={"startupPolicyOrder": "InOrder"},
        ),
        {"spec.startupPolicy": "FieldValueInvalid"},
    ),
    (
        "long subdomain",
        jobset(replicated(), network={"subdomain": "x" * 64}),
        {"spec.network.subdomain": "FieldValueInvalid"},
    ),
]


@pytest.mark.parametrize(("obj", "expected"), [case[1:] for case in JOBSETS], ids=[case[0] for case in JOBSETS])
def test_jobsets(store: Store, obj: dict, expected: dict) -> None:
    assert causes(store, "JobSet", obj) == expected


JOBSET_UPDATES = [
    ("suspend", False, {"suspend": True}, {}),
    ("network", False, {"network": {"subdomain": "x"}}, {"spec.network": "FieldValueInvalid"}),
    ("replicas", False, {"replicatedJobs": [replicated(replicas=2)]}, {"spec.replicatedJobs": "FieldValueInvalid"}),
    ("image while suspended", True, {"replicatedJobs": [replicated()]}, {"spec.replicatedJobs": "FieldValueInvalid"}),
]


@pytest.mark.parametrize(
    ("suspend", "patch", "expected"), [case[1:] for case in JOBSET_UPDATES], ids=[case[0] for case in JOBSET_UPDATES]
)
def test_jobset_updates(store: Store, suspend: bool, patch: dict, expected: dict) -> None:
    if suspend:
        patch = editable(patch)
        patch["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"][0]["image"] = "other"
    assert update_causes(store, "JobSet", jobset(replicated(), suspend=suspend), {"spec": patch}) == expected


@pytest.mark.parametrize(("suspended", "expected"), [(True, {}), (False, {"spec.replicatedJobs": "FieldValueInvalid"})])
def test_placement_of_a_jobset_may_change_while_suspended(store: Store, suspended: bool, expected: dict) -> None:
    made = store.create("JobSet", jobset(replicated(), suspend=suspended))
    jobs = editable(made)["spec"]["replicatedJobs"]
    template = jobs[0]["template"]["spec"]["template"]
    template["metadata"] = {"labels": {"a": "b"}}
    template["spec"]["tolerations"] = [{"key": "k"}]
    store.delete("JobSet", "default", "a")
    patch = {"spec": {"replicatedJobs": jobs}}
    assert update_causes(store, "JobSet", jobset(replicated(), suspend=suspended), patch) == expected


@pytest.mark.parametrize(
    ("kind", "obj", "expected"),
    [
        ("ConfigMap", {"metadata": {"name": "a"}, "data": {"a b": "1"}}, {"data[a b]": "FieldValueInvalid"}),
        ("ConfigMap", {"metadata": {"name": "a"}, "data": {"a": 1}}, {"data.a": "FieldValueTypeInvalid"}),
        ("ConfigMap", {"metadata": {"name": "a"}, "data": {"a": "x" * 1_100_000}}, {"": "FieldValueTooLong"}),
        (
            "Secret",
            {"metadata": {"name": "a"}, "type": "kubernetes.io/ssh-auth"},
            {"data[ssh-privatekey]": "FieldValueRequired"},
        ),
        ("Service", named({"selector": {"a": "b"}}), {"spec.ports": "FieldValueRequired"}),
        ("Service", named({"clusterIP": "None"}), {}),
        ("Service", named({"ports": [{"port": 0}]}), {"spec.ports[0].port": "FieldValueInvalid"}),
        (
            "PersistentVolumeClaim",
            named({}),
            {"spec.accessModes": "FieldValueRequired", "spec.resources[storage]": "FieldValueRequired"},
        ),
        ("PodGroup", named({"schedulingPolicy": {}}), {"spec.schedulingPolicy": "FieldValueInvalid"}),
        (
            "PodGroup",
            named({"schedulingPolicy": {"gang": {}}}),
            {"spec.schedulingPolicy.gang.minCount": "FieldValueRequired"},
        ),
        (
            "PodGroup",
            named({"schedulingPolicy": {"gang": {"minCount": 0}}}),
            {"spec.schedulingPolicy.gang.minCount": "FieldValueInvalid"},
        ),
        (
            "Event",
            {"metadata": {"name": "a"}, "involvedObject": {"namespace": "x"}},
            {"involvedObject.namespace": "FieldValueInvalid"},
        ),
        ("Namespace", {"metadata": {"name": "a.b"}}, {"metadata.name": "FieldValueInvalid"}),
    ],
)
def test_other_kinds(store: Store, kind: str, obj: dict, expected: dict) -> None:
    assert causes(store, kind, obj) == expected


def test_secret_texts_become_data(store: Store) -> None:
    made = store.create("Secret", {"metadata": {"name": "a"}, "stringData": {"k": "v"}, "data": {"d": "eA=="}})
    assert made["data"] == {"d": "eA==", "k": "dg=="}
    assert made["type"] == "Opaque"
    assert "stringData" not in made


def test_secret_data_is_base64(store: Store) -> None:
    with pytest.raises(ApiError, match=r"data\.k of the Secret is not base64", check=lambda error: error.code == 400):
        store.create("Secret", {"metadata": {"name": "a"}, "data": {"k": "?"}})


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"data": {"a": "MQ=="}}, {"data": "FieldValueForbidden"}),
        ({"immutable": False}, {"immutable": "FieldValueForbidden"}),
        ({"metadata": {"labels": {"a": "b"}}}, {}),
    ],
)
@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_immutable(store: Store, kind: str, patch: dict, expected: dict) -> None:
    obj = {"metadata": {"name": "a"}, "data": {"a": "Mg=="}, "immutable": True}
    assert update_causes(store, kind, obj, patch) == expected


def test_a_claim_is_bound_at_once(store: Store) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    made = store.create("PersistentVolumeClaim", named(spec))
    assert made["status"] == {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}}
    assert made["spec"]["volumeName"] == f"pvc-{made['metadata']['uid']}"


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"schedulingPolicy": {"gang": {"minCount": 2}}}, {}),
        ({"schedulingPolicy": {"gang": None, "basic": {}}}, {"spec.schedulingPolicy": "FieldValueInvalid"}),
        ({"priorityClassName": "x"}, {"spec.priorityClassName": "FieldValueInvalid"}),
        ({"disruptionMode": {"single": None, "all": {}}}, {"spec.disruptionMode": "FieldValueInvalid"}),
    ],
)
def test_pod_group_updates(store: Store, patch: dict, expected: dict) -> None:
    group = named({"schedulingPolicy": {"gang": {"minCount": 3}}})
    assert update_causes(store, "PodGroup", group, {"spec": patch}) == expected


class TestTrainJobs:
    def job(self, **spec: object) -> dict:
        return named({"runtimeRef": {"name": "r"}, **spec})

    def test_patches_are_stamped(self, store: Store) -> None:
        made = store.create("TrainJob", self.job(suspend=True, runtimePatches=[{"manager": "a.io/x"}]))
        assert made["spec"]["runtimePatches"][0]["time"] == "2026-09-21T14:13:20Z"

    def test_patches_change_only_around_a_suspension(self, store: Store) -> None:
        patch = {"spec": {"runtimePatches": [{"manager": "a.io/x"}]}}
        assert update_causes(store, "TrainJob", self.job(), patch) == {"spec.runtimePatches": "FieldValueForbidden"}

    def test_patches_do_not_change_while_pods_run(self, store: Store) -> None:
        store.create("JobSet", jobset(replicated()))
        counts = {"ready": 0, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}
        store.patch(
            "JobSet", "default", "a", {"status": {"replicatedJobsStatus": [{"name": "node", **counts}]}}, "status"
        )
        patch = {"spec": {"runtimePatches": [{"manager": "a.io/x"}]}}
        found = update_causes(store, "TrainJob", self.job(suspend=True), patch)
        assert found == {"spec.runtimePatches": "FieldValueForbidden"}

    def test_a_trainer_may_be_added_but_not_changed(self, store: Store) -> None:
        assert update_causes(store, "TrainJob", self.job(), {"spec": {"trainer": {"numNodes": 2}}}) == {}
        made = store.read("TrainJob", "default", "a")
        with pytest.raises(ApiError, check=lambda error: [c.field for c in error.causes] == ["spec.trainer"]):
            store.update("TrainJob", merge_patch(made, {"spec": {"trainer": {"numNodes": 3}}}))

    def test_unknown_fields_are_not_stored(self, store: Store) -> None:
        made = store.create("TrainJob", {**self.job(podSpecOverrides=[]), "more": 1})
        assert "podSpecOverrides" not in made["spec"]
        assert "more" not in made


OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "1"}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"labels": {"a": "b", "example.com/c": "", "x": "1.2_3-4"}}, {}),
        ({"labels": {"a": "b c"}}, {"metadata.labels": "FieldValueInvalid"}),
        ({"labels": {"a": "x" * 64}}, {"metadata.labels": "FieldValueInvalid"}),
        ({"labels": {"-a": "b"}}, {"metadata.labels": "FieldValueInvalid"}),
        ({"labels": {"UPPER.com/a": "b"}}, {"metadata.labels": "FieldValueInvalid"}),
        ({"labels": {"a/": "b"}}, {"metadata.labels": "FieldValueInvalid"}),
        ({"annotations": {"a": "anything at all"}}, {}),
        ({"annotations": {"a b": "x"}}, {"metadata.annotations": "FieldValueInvalid"}),
        ({"annotations": {"a": "x" * 300_000}}, {"metadata.annotations": "FieldValueTooLong"}),
        ({"finalizers": ["a b"]}, {"metadata.finalizers": "FieldValueInvalid"}),
        ({"ownerReferences": [OWNER]}, {}),
        ({"ownerReferences": [{**OWNER, "uid": ""}]}, {"metadata.ownerReferences[0].uid": "FieldValueRequired"}),
        ({"ownerReferences": [OWNER, OWNER]}, {"metadata.ownerReferences[1]": "FieldValueDuplicate"}),
        (
            {"ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "uid": "2", "controller": True}]},
            {"metadata.ownerReferences": "FieldValueInvalid"},
        ),
    ],
)
def test_metadata(store: Store, metadata: dict, expected: dict) -> None:
    assert causes(store, "ConfigMap", {"metadata": {"name": "a", **metadata}}) == expected


def test_labels_of_a_template(store: Store) -> None:
    spec = {"template": {**JOB["template"], "metadata": {"labels": {"a": "b c"}}}}
    assert causes(store, "Job", named(spec)) == {"spec.template.labels": "FieldValueInvalid"}
