"""Who we are and where the API server is: read by the official client from a kubeconfig or from the pod, and read again when files change.

The official client reads the token file of a kubeconfig once (kubernetes-client/python#1768), waits for a credential plugin without an
end, and goes on without credentials when a plugin fails; what is here says so instead.
"""

import logging
import os
import queue
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client as official
from kubernetes import config as official_config
from kubernetes.config import incluster_config

from trainui.cluster.errors import Unconfigured

log = logging.getLogger(__name__)
IN_CLUSTER = "in-cluster"
PLUGIN_SECONDS = 15.0
_FILE_KEYS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
_plugins: dict[str, threading.Thread] = {}

Stamp = tuple[tuple[str, int, int, int], ...]


def load(path: str) -> official.Configuration:
    """Return the configuration of a kubeconfig's current context, or of the pod we run in when `path` is "in-cluster".

    Raises Unconfigured when a file is not there (yet), says nothing usable, or its credential plugin gives nothing.
    """
    configuration = official.Configuration()
    try:
        guarded(path, lambda: _load(path, configuration))
    except Unconfigured:
        raise
    except (yaml.YAMLError, UnicodeDecodeError) as error:  # its text would repeat the file
        raise _unusable(path, "it is no YAML") from error
    except official_config.ConfigException as error:
        raise _unusable(path, str(error).strip()) from error
    except OSError as error:
        raise _unusable(path, f"{error.strerror}: {error.filename}") from error
    except Exception as error:  # whatever the official loader makes of a file that is no kubeconfig
        raise _unusable(path, f"it is no kubeconfig ({type(error).__name__})") from error
    if (plugin := plugin_of(path)) and not configuration.api_key and not configuration.cert_file:
        raise _unusable(path, f"the credential plugin {plugin} gave no credentials; run it by hand to see why")
    return configuration


def files(path: str) -> list[str]:
    """Return the files that the credentials come from, the kubeconfig itself first."""
    if path == IN_CLUSTER:
        return [incluster_config.SERVICE_TOKEN_FILENAME, incluster_config.SERVICE_CERT_FILENAME]
    config, folder = _read(path), Path(path).parent
    entries = [
        _map(e.get(key)) for lists, key in (("clusters", "cluster"), ("users", "user")) for e in _list(config, lists)
    ]
    return [path, *(str(folder / str(entry[key])) for entry in entries for key in _FILE_KEYS if entry.get(key))]


def stamp(names: list[str]) -> Stamp:
    """Return what changes when one of some files changes."""
    return tuple(_stamp(name) for name in names)


def _load(path: str, configuration: official.Configuration) -> None:
    loaders: Any = official_config  # without types
    if path == IN_CLUSTER:
        loaders.load_incluster_config(client_configuration=configuration)
    else:
        loaders.load_kube_config(config_file=path, client_configuration=configuration, persist_config=False)


def guarded(path: str, action: Callable[[], None]) -> None:
    """Do something that may run the credential plugin, in a thread that may be left behind: the official client waits for it without an end."""
    plugin = plugin_of(path)
    if not plugin:
        action()
        return
    if (before := _plugins.get(path)) and before.is_alive():
        raise _unusable(path, f"the credential plugin {plugin} has not answered yet")
    outcome: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()

    def run() -> None:
        try:
            action()
            outcome.put(None)
        except Exception as error:
            outcome.put(error)

    thread = _plugins[path] = threading.Thread(target=run, name="credential-plugin", daemon=True)
    thread.start()
    try:
        error = outcome.get(timeout=PLUGIN_SECONDS)
    except queue.Empty:
        raise _unusable(path, f"the credential plugin {plugin} does not answer within {PLUGIN_SECONDS:g} s") from None
    if error:
        raise error


def plugin_of(path: str) -> str:
    """Return the command of the credential plugin that the current context uses, or an empty text."""
    config = _read(path) if path != IN_CLUSTER else {}
    context = _named(config, "contexts", "context", config.get("current-context"))
    user = _named(config, "users", "user", context.get("user"))
    return str(_map(user.get("exec")).get("command") or "")


def _named(config: dict[str, Any], lists: str, key: str, name: object) -> dict[str, Any]:
    return next((_map(entry.get(key)) for entry in _list(config, lists) if entry.get("name") == name), {})


def _list(config: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = config.get(name)
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _read(path: str) -> dict[str, Any]:
    try:
        parsed = yaml.safe_load(Path(path).read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}  # `load` says what is wrong
    return parsed if isinstance(parsed, dict) else {}


def _stamp(file: str) -> tuple[str, int, int, int]:
    try:
        found = os.stat(file)  # follows the links of a mounted volume, which are turned when it changes
    except OSError:
        return file, 0, 0, 0
    return file, found.st_mtime_ns, found.st_ino, found.st_size


def _unusable(path: str, why: str) -> Unconfigured:
    what = "credentials of this pod" if path == IN_CLUSTER else path
    return Unconfigured(f"the cluster's configuration cannot be used: {why}", verb="read", what=what)
