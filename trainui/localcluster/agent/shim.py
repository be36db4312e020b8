"""Runs one container of a pod and outlives the agent that started it.

Standard library only, one file: it is started as ``python -S -I shim.py`` so that it costs little and inherits nothing.
It reads its orders as JSON from standard input, claims the attempt by linking ``<attempt>.pid`` into place (so an attempt
runs at most once, however often it is started), runs the program in a session of its own with exactly the given environment,
frames its output as the container runtime interface does, ends every process that the program left behind, and puts
``<attempt>.exit`` in place as its last act.

SIGTERM is passed on to the program's process group. SIGUSR1 kills everything at once.
"""

import contextlib
import ctypes
import errno
import json
import os
import selectors
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

LINE_LIMIT = 16 * 1024  # containerd's max_container_log_line_size: longer lines become partial ones
READ_SIZE = 64 * 1024
DRAIN_SECONDS = 2.0  # for output that a process outside our tree still holds open
KILL_SECONDS = 30.0  # a process in uninterruptible sleep cannot be waited for without end
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
CLAIMED_BY_ANOTHER = 75  # our own exit code when the attempt is already run by another shim


def prctl(option: int, value: int) -> None:
    """Ask the Linux kernel for a process property; other systems do without."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def start_stamp(pid: int) -> str:
    """Return what tells this process from a later one with the same id: boot id and start tick on Linux, else ''."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat, open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            ticks = stat.read().rpartition(b")")[2].split()[19].decode()
            return f"{boot.read().strip()}:{ticks}"
    except (OSError, IndexError):
        return ""


class Clock:
    """Nanosecond stamps that never decrease, also when the wall clock steps back."""

    def __init__(self) -> None:
        self._last = 0
        self._second = -1
        self._text = ""

    def stamp(self) -> str:
        """Return the present moment as RFC 3339 with nine digits."""
        now = max(time.time_ns(), self._last)
        self._last = now
        second, nanos = divmod(now, 1_000_000_000)
        if second != self._second:
            self._second = second
            self._text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._text}.{nanos:09d}Z"


class Log:
    """The container's log file: framed, bounded, and never a reason to stop the program."""

    def __init__(self, path: str, limit: int, clock: Clock) -> None:
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
        self.limit = limit
        self.clock = clock
        self.written = os.fstat(self.fd).st_size
        self.discarded = 0
        self.full = False
        self._broken = False  # the last write was cut short: begin the next one on a new line

    def frame(self, stream: str, tag: str, content: bytes) -> bytes:
        """Return one line in the runtime's log form."""
        return f"{self.clock.stamp()} {stream} {tag} ".encode() + content + b"\n"

    def write(self, framed: bytes, content_size: int) -> None:
        """Append framed lines, or count them as discarded when the log is full or the disk is."""
        if self.full:
            self.discarded += content_size
            return
        if self.written + len(framed) > self.limit:
            self.full = True
            self.discarded += content_size
            text = f"trainui: the log reached its limit of {self.limit} bytes; further output is discarded"
            self._append(self.frame("stderr", "F", text.encode()))
            return
        if not self._append(framed):
            self.discarded += content_size

    def _append(self, framed: bytes) -> bool:
        data = b"\n" + framed if self._broken else framed
        try:
            done = os.write(self.fd, data)
        except OSError:
            return False
        self.written += done
        self._broken = done < len(data)
        return not self._broken


class Stream:
    """One output of the program: cuts its bytes into whole and partial lines."""

    def __init__(self, name: str, fd: int, log: Log) -> None:
        self.name = name
        self.fd = fd
        self.log = log
        self.rest = b""

    def take(self, data: bytes) -> None:
        """Log every whole line of `data`; keep the unfinished one until more comes."""
        if self.log.full:
            self.log.discarded += len(data)
            return
        lines = (self.rest + data).split(b"\n")
        self.rest = lines.pop()
        framed: list[bytes] = []
        size = 0
        for line in lines:
            for tag, piece in self._pieces(line):
                framed.append(self.log.frame(self.name, tag, piece))
            size += len(line) + 1
            if size > READ_SIZE:
                self.log.write(b"".join(framed), size)
                framed, size = [], 0
        while len(self.rest) > LINE_LIMIT:
            framed.append(self.log.frame(self.name, "P", self.rest[:LINE_LIMIT]))
            size += LINE_LIMIT
            self.rest = self.rest[LINE_LIMIT:]
        if framed:
            self.log.write(b"".join(framed), size)

    def finish(self) -> None:
        """Log the last line, which had no newline, as a partial one."""
        if self.rest:
            self.log.write(self.log.frame(self.name, "P", self.rest), len(self.rest))
            self.rest = b""

    @staticmethod
    def _pieces(line: bytes) -> Iterator[tuple[str, bytes]]:
        while len(line) > LINE_LIMIT:
            yield "P", line[:LINE_LIMIT]
            line = line[LINE_LIMIT:]
        yield "F", line


def processes() -> dict[int, int]:
    """Return the parent of every living process by id (Linux; elsewhere empty)."""
    parents: dict[int, int] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return parents
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue
        # A zombie whose threads still run is alive: its first thread has ended, the others have not.
        if fields and (fields[0] not in (b"Z", b"X") or int(fields[17]) > 1):
            parents[int(name)] = int(fields[1])
    return parents


def carries(pid: int, tag: bytes) -> bool:
    """Tell whether the process was started with `tag` (NAME=value) in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as environ:
            return tag in environ.read().split(b"\0")
    except OSError:
        return False


def remaining(tag: bytes) -> set[int]:
    """Return the living processes of this container: our descendants, and whoever carries its tag."""
    own = os.getpid()
    parents = processes()
    family = {own}
    grown = True
    while grown:
        found = {pid for pid, parent in parents.items() if parent in family and pid not in family}
        grown = bool(found)
        family |= found
    strangers = {pid for pid in parents if pid not in family and carries(pid, tag)}
    return (family | strangers) - {own}


def send(pids: set[int], signum: int) -> None:
    """Signal each process; one that is gone already is no error."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signum)


class Container:
    """The running program with its outputs and all it left behind."""

    def __init__(self, orders: dict[str, Any]) -> None:
        self.orders = orders
        self.clock = Clock()
        self.log = Log(orders["log"], int(orders["maxBytes"]), self.clock)
        self.tag = orders["tag"].encode()
        self.started_at = self.clock.stamp()
        self.selector = selectors.DefaultSelector()
        self.streams: list[Stream] = []
        self.child = 0
        self.status: int | None = None
        self.kill_asked = False
        self.stop_asked = False
        self.stop_sent = False
        self.started = False
        self.wakeup, self.wakeup_write = os.pipe()
        os.set_blocking(self.wakeup, False)
        os.set_blocking(self.wakeup_write, False)

    def start(self) -> dict[str, Any] | None:
        """Start the program; return None, or what went wrong as {"errno", "step"}."""
        for signum in (signal.SIGTERM, signal.SIGUSR1, signal.SIGCHLD):
            signal.signal(signum, self._on_signal)
        signal.set_wakeup_fd(self.wakeup_write, warn_on_full_buffer=False)
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        fault_read, fault_write = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            become_program(self.orders, out_write, err_write, fault_write)
        for fd in (out_write, err_write, fault_write):
            os.close(fd)
        with os.fdopen(fault_read, "rb") as fault:
            report = fault.read()
        for name, fd in (("stdout", out_read), ("stderr", err_read)):
            os.set_blocking(fd, False)
            stream = Stream(name, fd, self.log)
            self.streams.append(stream)
            self.selector.register(fd, selectors.EVENT_READ, stream)
        self.selector.register(self.wakeup, selectors.EVENT_READ, None)
        self.started = True
        if self.stop_asked and not self.stop_sent:  # asked before the program was there
            self._pass_stop_on()
        return json.loads(report) if report else None

    def _on_signal(self, signum: int, frame: object) -> None:
        if signum == signal.SIGTERM:
            self.stop_asked = True
            if self.started and self.status is None:
                self._pass_stop_on()
        elif signum == signal.SIGUSR1:
            self.kill_asked = True

    def _pass_stop_on(self) -> None:
        self.stop_sent = True
        self._signal_group(signal.SIGTERM)

    def _signal_group(self, signum: int) -> None:
        try:
            os.killpg(self.child, signum)
        except OSError:
            send({self.child}, signum)

    def run(self) -> None:
        """Carry output to the log until the program has ended."""
        while self.status is None:
            self._pump(None)
            self._reap()
            if self.kill_asked and self.status is None:
                self._kill_all()

    def _pump(self, timeout: float | None) -> bool:
        """Read what is there once; return whether any output came."""
        moved = False
        for key, _ in self.selector.select(timeout):
            stream = key.data
            try:
                data = os.read(key.fd, READ_SIZE)
            except BlockingIOError:
                continue
            if stream is None:
                continue
            moved = True
            if data:
                stream.take(data)
            else:
                self.selector.unregister(key.fd)
                os.close(key.fd)
                stream.finish()
                self.streams.remove(stream)
        return moved

    def _reap(self) -> bool:
        """Collect every ended child; return whether any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.child:
                self.status = status

    def _kill_all(self) -> None:
        """Kill the program and all it started, whatever sessions they moved to."""
        deadline = time.monotonic() + KILL_SECONDS
        while time.monotonic() < deadline:
            self._freeze()
            targets = remaining(self.tag)
            send(targets, signal.SIGKILL)
            if self.status is None:
                self._signal_group(signal.SIGKILL)
            children = self._reap()
            if not targets and not (children and self.status is None):
                return
            self._pump(0.01)

    def _freeze(self) -> None:
        """Stop every process first, so that a family that forks faster than we kill holds still."""
        frozen: set[int] = set()
        for _ in range(50):
            new = remaining(self.tag) - frozen
            if not new:
                return
            send(new, signal.SIGSTOP)
            frozen |= new

    def finish(self) -> None:
        """End what the program left behind and log what it wrote to the last."""
        self._kill_all()
        deadline = time.monotonic() + DRAIN_SECONDS
        while self.streams and time.monotonic() < deadline:
            if not self._pump(0.05) and not self._reap() and not remaining(self.tag):
                break
        for stream in self.streams:
            stream.finish()

    def result(self) -> dict[str, Any]:
        """Return the exit record."""
        code = os.waitstatus_to_exitcode(self.status or 0)
        signum = -code if code < 0 else 0
        return {
            "exitCode": 128 + signum if signum else code,
            "signal": signum,
            "startedAt": self.started_at,
            "finishedAt": self.clock.stamp(),
            "discardedBytes": self.log.discarded,
        }


def become_program(orders: dict[str, Any], out: int, err: int, fault: int) -> None:
    """In the child: turn into the program, or report the fault and end."""
    step = "start"
    try:
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == 1:
            os._exit(1)
        null = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((null, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        signal.set_wakeup_fd(-1)
        for signum in range(1, signal.NSIG):
            if signum not in (signal.SIGKILL, signal.SIGSTOP):
                with contextlib.suppress(OSError, ValueError):
                    signal.signal(signum, signal.SIG_DFL)
        os.umask(0o022)
        prefer_for_oom()
        step = "cwd"
        os.chdir(orders["cwd"])
        step = "exec"
        os.execvpe(orders["argv"][0], orders["argv"], orders["env"])
    except BaseException as error:
        number = getattr(error, "errno", None) or errno.EIO
        os.write(fault, json.dumps({"errno": number, "step": step, "text": str(error)}).encode())
    os._exit(127)


def prefer_for_oom() -> None:
    """Let the kernel end a greedy program before the web server when memory runs out."""
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as adjust:
            adjust.write("500")
    except OSError:
        pass


def claim(path: str) -> bool:
    """Put our process id in place; return False when another shim has done so before."""
    mine = f"{path}.{os.getpid()}"
    with open(mine, "w", encoding="utf-8") as file:
        json.dump({"pid": os.getpid(), "start": start_stamp(os.getpid()), "claimedAt": Clock().stamp()}, file)
    try:
        os.link(mine, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(mine)
    return True


def put_in_place(path: str, record: dict[str, Any]) -> None:
    """Write JSON so that a reader sees all of it or nothing; keeps trying while the disk is full."""
    temporary = f"{path}.tmp"
    for _ in range(600):
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(record, file)
            os.replace(temporary, path)
            return
        except OSError:
            time.sleep(1)


def tell(line: str) -> None:
    """Tell the agent, if it still listens."""
    with contextlib.suppress(OSError):
        os.write(1, line.encode() + b"\n")


def main() -> int:
    """Run the container of the orders on standard input; return our own exit code."""
    for signum in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(signum, signal.SIG_IGN)
    orders = json.loads(sys.stdin.buffer.read())
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    if not claim(orders["pid"]):
        return CLAIMED_BY_ANOTHER
    container = Container(orders)
    fault = container.start()
    tell("failed" if fault else container.started_at)
    container.run()
    container.finish()
    record = container.result()
    if fault:
        record["fault"] = fault
    put_in_place(orders["exit"], record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
