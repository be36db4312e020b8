"""Runs one command that ends when the supervisor ends, however that ends. Run by file name with `python -S -I`; standard library only.

PR_SET_PDEATHSIG is bound to the forking thread and must be set in the child, and a preexec function is not safe with threads
(facts of Python's subprocess), hence this tiny program between supervisor and command.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Tie this process to its parent (argv[1]) and become the command (argv[2:])."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before we were tied to it
        sys.exit(1)
    os.execvp(command[0], command)


main()
