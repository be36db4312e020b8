"""What the supervisor needs to know, from the environment; every problem ends it with one line that names the variable."""

import os
from dataclasses import dataclass
from pathlib import Path

from trainui.env import Env

BASE_DIR = Path(__file__).resolve().parents[2]
SOCKET_PATH_LIMIT = 100  # of sockaddr_un: 104 bytes on macOS, 108 on Linux


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
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104  compared, not bound
        return f"http://{host}:{self.port}"

    @property
    def run(self) -> Path:
        """Folder of sockets, locks and process logs."""
        return self.data / "run"

    @property
    def kubeconfig(self) -> Path:
        """Where the local cluster writes its kubeconfig."""
        return self.data / "cluster" / "kubeconfig"

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


def read_config() -> Config:
    """Return the configuration. Raises BadSetting (one line, names the variable)."""
    env = Env()
    data = Path(env.text("TRAINUI_DATA_DIR", str(BASE_DIR / ".trainui" / "data"), "")).resolve()
    host = env.text("TRAINUI_HOST", "127.0.0.1", "")
    redis_url = env.text("REDIS_URL", "", "")
    return Config(
        data=data,
        host=host,
        port=env.integer("TRAINUI_PORT", 8000, "", minimum=1, maximum=65535),
        redis_url=redis_url or f"unix://{_socket(data)}",
        embedded_broker=not redis_url,
        machines=env.text("TRAINUI_MACHINES", "", ""),
        job_env=Path(env.text("TRAINUI_JOB_ENV", str(BASE_DIR / ".trainui" / "jobs"), "")).resolve(),
        grace_seconds=env.integer("TRAINUI_STOP_SECONDS", 40, "", minimum=1),
        sample=env.flag("TRAINUI_SAMPLE", True, ""),
    )


def _socket(data: Path) -> Path:
    """Return the broker's socket: in the data folder, or where the path is short enough for the operating system."""
    path = data / "run" / "broker.sock"
    if len(str(path)) <= SOCKET_PATH_LIMIT:
        return path
    import hashlib
    import tempfile

    digest = hashlib.sha256(str(path).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"trainui-{os.getuid()}-{digest}.sock"
