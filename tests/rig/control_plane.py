"""etcd, API server, controller manager and scheduler, with gang scheduling on."""

import httpx

from tests.rig import certificates, programs
from tests.rig.api import Refused
from tests.rig.programs import RigError
from tests.rig.site import Site

FAST = (
    "--kube-api-qps=300",
    "--kube-api-burst=600",
)  # the default of 20 to 50 requests a second would be what benches measure
# Without v1beta1 a scheduler with this gate waits for its PodGroups for ever and schedules nothing at all.
GANGS = ("--feature-gates=GenericWorkload=true",)

AUDIT_LOG = "audit.log"
_OURS = [
    "trainui",
    "trainui-web",
    "trainui-all",
    "kubeflow-trainer",
    "system:serviceaccount:trainui:trainui",
    "system:serviceaccount:trainui:trainui-web",
]
# The calls of those users whose rights deploy/ ships, to compare what it allows with what is really asked, and of Kubeflow's controller.
_AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "users": _OURS}, {"level": "None"}],
}


def start_storage(site: Site) -> None:
    """Start etcd and the API server."""
    client, peer = (f"http://127.0.0.1:{site.port(name)}" for name in ("etcd", "etcd-peer"))
    command = [programs.binary(programs.ETCD), "--name=rig", f"--data-dir={site.folder / 'etcd'}", "--unsafe-no-fsync"]
    command += [f"--listen-client-urls={client}", f"--advertise-client-urls={client}", "--log-level=warn"]
    command += [f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}", f"--initial-cluster=rig={peer}"]
    site.processes.run("etcd", command)
    site.processes.run("kube-apiserver", _api_server(site, client))


def _api_server(site: Site, etcd: str) -> list[str]:
    hosts = ("127.0.0.1", "localhost", site.network.api_address, site.network.address)
    names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
    certificate, key = site.authority.issue("kube-apiserver", "kube-apiserver", hosts + names)
    kubelet_certificate, kubelet_key = site.authority.issue(
        "kubelet-client", "kube-apiserver", organization="system:masters"
    )
    signer = certificates.service_account_key(site.folder / "certificates" / "service-accounts.key")
    return [
        programs.binary(programs.APISERVER),
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        f"--secure-port={site.port('kube-apiserver')}",
        "--endpoint-reconciler-type=none",  # it refuses to publish a loopback address
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
        f"--client-ca-file={site.authority.file}",
        f"--token-auth-file={site.folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={signer}",
        f"--service-account-signing-key-file={signer}",
        f"--service-cluster-ip-range={site.network.services}",
        f"--kubelet-client-certificate={kubelet_certificate}",
        f"--kubelet-client-key={kubelet_key}",
        "--kubelet-preferred-address-types=InternalIP",
        f"--audit-policy-file={site.write('audit-policy.yaml', _AUDIT)}",
        f"--audit-log-path={site.folder / AUDIT_LOG}",
        *_front_proxy(site),
        "--runtime-config=scheduling.k8s.io/v1beta1=true",
        # Pods that ask for GPUs get the toleration of GPU machines, all others stay on the real one; and, as on OpenShift, whoever makes an
        # object that blocks the deletion of its owner must be allowed to set the owner's finalizers.
        "--enable-admission-plugins=ExtendedResourceToleration,OwnerReferencesPermissionEnforcement",
        "--allow-privileged=true",
        "--profiling=false",
        *GANGS,
    ]


def _front_proxy(site: Site) -> list[str]:
    """Return how aggregated APIs, such as Kueue's visibility, learn who forwards to them."""
    proxy_certificate, proxy_key = site.authority.issue("front-proxy", "front-proxy")
    return [
        f"--requestheader-client-ca-file={site.authority.file}",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={proxy_certificate}",
        f"--proxy-client-key-file={proxy_key}",
    ]


def wait_for_storage(site: Site) -> None:
    """Wait until the API server says that it is ready."""
    site.processes.wait_for(lambda: ready(site), "the API server to be ready", "kube-apiserver")


def ready(site: Site) -> bool:
    """Say whether the API server is ready, with its own roles and namespaces made."""
    try:
        return site.api().request("GET", "/readyz") == "ok"
    except (Refused, httpx.TransportError):
        return False


def start_controllers(site: Site) -> None:
    """Start the controller manager and the scheduler."""
    config = site.kubeconfig()
    # All default controllers: without the node lifecycle controller machines stay tainted as not ready.
    command = [programs.binary(programs.CONTROLLER_MANAGER), f"--kubeconfig={config}", "--leader-elect=false"]
    command += ["--secure-port=0", f"--root-ca-file={site.authority.file}", *FAST, *GANGS]
    command += [f"--service-account-private-key-file={site.folder / 'certificates' / 'service-accounts.key'}"]
    site.processes.run("kube-controller-manager", command)
    command = [programs.binary(programs.SCHEDULER), f"--kubeconfig={config}", "--leader-elect=false", "--secure-port=0"]
    site.processes.run("kube-scheduler", [*command, *FAST, *GANGS])


def wait_for_controllers(site: Site) -> None:
    """Wait until namespaces get what pods need: a service account and the authority's certificate."""
    api = site.api()

    def made() -> bool:
        account = api.get("v1", "ServiceAccount", "default", "default")
        return bool(account and api.get("v1", "ConfigMap", "default", "kube-root-ca.crt"))

    site.processes.wait_for(made, "the default service account", "kube-controller-manager")
    if not api.path("scheduling.k8s.io/v1beta1", "PodGroup"):
        raise RigError("the API server does not serve PodGroups")
