"""What the supervisor needs to know, from the environment; every problem ends it with one line that names the variable."""

import os
from dataclasses import dataclass
from pathlib import Path

from trainui.env import Env, Variable

BASE_DIR = Path(__file__).resolve().parents[2]
SOCKET_PATH_LIMIT = 100  # of sockaddr_un: 104 bytes on macOS, 108 on Linux
MACHINES_HELP = "Virtual machines of the local cluster, such as `a:cpu=4,memory=8Gi;b:cpu=8,nvidia.com/gpu=2`."
# Read by the local cluster's own processes, which know nothing of this module.
LOCAL_CLUSTER = [
    Variable(
        "TRAINUI_JOB_BACKOFF_SECONDS", "number", "10", "First wait of a Job before it replaces a failed pod, doubling."
    ),
    Variable(
        "TRAINUI_RESTART_BACKOFF_SECONDS", "number", "10", "Wait before the second restart of a container, doubling."
    ),
    Variable("TRAINUI_POD_LOG_MAX_BYTES", "number", "268435456", "Size at which the log of a local container ends."),
    Variable(
        "TRAINUI_SHUTDOWN_GRACE_SECONDS",
        "number",
        "10",
        "The longest that local pods may take to end when trainui is stopped.",
    ),
    Variable("TRAINUI_HOST_PATHS", "list", "", "Folders, with colons, within which hostPath volumes are allowed."),
]


@dataclass(frozen=True)
class Config:
    """Where this instance lives and listens."""

    data: Path
    host: str
    port: int
    redis_url: str
    embedded_broker: bool
    machines: str
    job_env: Path
    grace_seconds: int
    sample: bool

    @property
    def url(self) -> str:
        """The address people open."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104  compared, not bound
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def run(self) -> Path:
        """Folder of sockets, locks and process logs."""
        return self.data / "run"

    @property
    def kubeconfig(self) -> Path:
        """Where the local cluster writes its kubeconfig."""
        return self.data / "cluster" / "kubeconfig"

    @property
    def own_cluster(self) -> bool:
        """Whether the local cluster is used, not one that TRAINUI_KUBECONFIG names."""
        return self.environment()["TRAINUI_KUBECONFIG"] == str(self.kubeconfig)

    def environment(self) -> dict[str, str]:
        """Return the environment of our own processes."""
        ours = {
            "TRAINUI_DATA_DIR": str(self.data),
            "REDIS_URL": self.redis_url,
            "TRAINUI_PUBLIC_URL": os.environ.get("TRAINUI_PUBLIC_URL") or self.url,
            "TRAINUI_KUBECONFIG": os.environ.get("TRAINUI_KUBECONFIG") or str(self.kubeconfig),
            "PYTHONUNBUFFERED": "1",
        }
        return os.environ | ours


def read_config(env: Env | None = None) -> Config:
    """Return the configuration. Raises BadSetting (one line, names the variable)."""
    env = env or Env()
    folder = BASE_DIR / ".trainui"
    data = env.text("TRAINUI_DATA_DIR", str(folder / "data"), "Folder of all local data.", shown=".trainui/data")
    host = env.text("TRAINUI_HOST", "127.0.0.1", "Address that web listens on.")
    redis_url = env.text("REDIS_URL", "", "A broker that runs already; the embedded one by default.", shown="embedded")
    machines = env.text(
        "TRAINUI_MACHINES", "", MACHINES_HELP, shown="local-0 and local-1, each at least 4 CPUs and half of the memory"
    )
    job_env = env.text(
        "TRAINUI_JOB_ENV",
        str(folder / "jobs"),
        "Virtual environment whose Python local jobs run with.",
        shown=".trainui/jobs",
    )
    return Config(
        data=Path(data).resolve(),
        host=host,
        port=env.integer("TRAINUI_PORT", 8000, "Port that web listens on; `make up PORT=8001` sets it too.", 1, 65535),
        redis_url=redis_url or f"unix://{_socket(Path(data).resolve())}",
        embedded_broker=not redis_url,
        machines=machines,
        job_env=Path(job_env).resolve(),
        grace_seconds=env.integer(
            "TRAINUI_STOP_SECONDS", 40, "The longest that the node agent may take to stop before it is killed.", 1
        ),
        sample=env.flag("TRAINUI_SAMPLE", True, "Whether the first start submits the sample job."),
    )


def documented() -> list[Variable]:
    """Return every variable of the supervisor and of the local cluster, for the table in README."""
    env = Env({})
    read_config(env)
    return [*env.variables, *LOCAL_CLUSTER]


def _socket(data: Path) -> Path:
    """Return the broker's socket: in the data folder, or where the path is short enough for the operating system."""
    path = data / "run" / "broker.sock"
    if len(str(path)) <= SOCKET_PATH_LIMIT:
        return path
    import hashlib
    import tempfile

    digest = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"trainui-{os.getuid()}-{digest}.sock"
