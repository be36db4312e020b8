"""CoreDNS on the bridge: names of pods, without kube-proxy, since headless services need none."""

import urllib.error
import urllib.request

from tests.rig import programs
from tests.rig.site import Site

COREFILE = """\
cluster.local:53 {{
    bind {address}
    errors
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {kubeconfig} rig
        ttl 0
    }}
    ready 127.0.0.1:{port}
}}
.:53 {{
    bind {address}
    template ANY ANY . {{
        rcode NXDOMAIN
    }}
}}
"""  # foreign names are NXDOMAIN: refused ones would make resolvers try on


def start(site: Site) -> None:
    """Start it; the bridge is there already."""
    text = COREFILE.format(address=site.network.address, kubeconfig=site.kubeconfig(), port=site.port("coredns-ready"))
    site.processes.run("coredns", [programs.binary(programs.COREDNS), "-conf", site.write("Corefile", text)])


def ready(site: Site) -> bool:
    """Say whether it knows the cluster's services."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{site.port('coredns-ready')}/ready", timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False
