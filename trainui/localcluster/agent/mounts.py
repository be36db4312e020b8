"""Stands in for a mount namespace: mount paths in words are replaced by the real folders. Pure.

A pod of the local cluster sees the whole file system of the computer, so nothing can be mounted at ``/etc/mpi``. Instead
every whole-component occurrence of a mount path in environment values, command and arguments is rewritten to the volume's
folder. This is a documented difference of the local cluster: a path that a program has built in is not found.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

# A path begins at the start of the word or after a character that cannot be part of a longer path or name,
# or after "file://", whose own slashes would otherwise hide it.
_BEFORE = r"(?:(?<=file://)|(?<![\w.\-~%+@/\\$})*?]))"
_AFTER = r"(?=/|$|[^\w.\-~%+@])"


@dataclass(frozen=True)
class Mount:
    """One volume mount of a container: its volume, where it should appear, and where it really is."""

    volume: str
    path: str
    folder: str


def normal_path(path: str) -> str:
    """Return a mount path without doubled or trailing slashes."""
    return "/" + "/".join(part for part in path.split("/") if part not in ("", "."))


def rewrite_paths(text: str, folders: Mapping[str, str]) -> str:
    """Return `text` with each path of `folders` replaced by its folder, the longest match first, in one pass.

    Only whole path components count: with ``/data`` mounted, ``/data/x`` and ``--in=/data`` are rewritten, ``/database``,
    ``/my/data`` and ``s3://bucket/data`` are not.
    """
    paths = sorted((path for path in folders if path != "/"), key=len, reverse=True)
    if not paths:
        return text
    pattern = re.compile(_BEFORE + "(" + "|".join(re.escape(path) for path in paths) + ")" + _AFTER)
    return pattern.sub(lambda match: folders[match.group(1)], text)


def rewrite_all(words: Iterable[str], folders: Mapping[str, str]) -> list[str]:
    """Return the words of a command line, each rewritten."""
    return [rewrite_paths(word, folders) for word in words]


def mount_folders(mounts: Sequence[Mount]) -> dict[str, str]:
    """Return the real folder of each mount path; a later mount of the same path wins."""
    return {normal_path(mount.path): mount.folder for mount in mounts}


def mount_variables(mounts: Sequence[Mount]) -> dict[str, str]:
    """Return TRAINUI_MOUNT_<VOLUME> for each mounted volume, for programs that want to know the real folder."""
    variables: dict[str, str] = {}
    for mount in mounts:
        name = re.sub(r"[^A-Z0-9]", "_", mount.volume.upper())
        variables.setdefault(f"TRAINUI_MOUNT_{name}", mount.folder)
    return variables
