"""What a process can do to itself before it runs code it does not trust: limits, no network, few files, and an end
together with its parent.

Used twice: as a program (``python -I -S confine.py SPEC -- PROGRAM ARG...`` confines itself and then becomes
PROGRAM), and by the candidate's forked process, which loads it by path. It therefore uses the standard library only
and is quick to import. Linux offers more than is portable: each step that the machine refuses is reported by its
reason instead of failing, and ``probe`` says beforehand what will be in force.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import resource
import signal
import stat
import sys
from types import ModuleType

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_PR_SET_KEEPCAPS = 8
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_CHILD_SUBREAPER = 36

_CAP_DAC_OVERRIDE = 1 << 1
_FIRST_USER, _SMALL_USER = 100_000_000, 60_001

# Landlock, from the kernel's Documentation/userspace-api/landlock.rst; the numbers are the same on every architecture.
_SYS_CREATE_RULESET, _SYS_ADD_RULE, _SYS_RESTRICT_SELF = 444, 445, 446
_FS_EXECUTE, _FS_WRITE_FILE, _FS_READ_FILE, _FS_READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_FS_TRUNCATE = 1 << 14
_FS_ALL_BY_ABI = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1}
_FS_ALL_LATEST = (1 << 16) - 1
_FILE_ONLY = _FS_EXECUTE | _FS_WRITE_FILE | _FS_READ_FILE | _FS_TRUNCATE | (1 << 15)
_SCOPE_ABSTRACT_UNIX, _SCOPE_SIGNAL = 1, 2
_NET_BIND_TCP, _NET_CONNECT_TCP = 1, 2

_libc = ctypes.CDLL(None, use_errno=True)


class _Ruleset(ctypes.Structure):
    _fields_ = [("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64)]


class _CapHeader(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]


class _CapData(ctypes.Structure):
    _fields_ = [("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32)]


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; ``parent`` is the process id the parent had when it
    started us.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(125)


def adopt_orphans() -> None:
    """Make this process the parent of every descendant whose own parent ends, so that none can slip away."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def leave_network(*, keep_users: bool = False) -> str | None:
    """Enter an empty network namespace (inside a user namespace of its own). Needs a single-threaded process. Returns
    why not, or None.

    With ``keep_users`` root does without the user namespace where it may, so that it can still become another user.
    """
    if not hasattr(_libc, "unshare"):
        return "the C library has no unshare"
    if keep_users and os.geteuid() == 0 and not _libc.unshare(_CLONE_NEWNET):
        return None
    uid, gid = os.getuid(), os.getgid()
    if _libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET):
        return f"unshare: {os.strerror(ctypes.get_errno())}"
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        try:
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
                file.write(text)
        except OSError:
            pass  # without a map the process runs as the overflow user, which is no weaker
    return None


def become_nobody(number: int) -> str | None:
    """As root: become a user that owns nothing and is nobody else's, the only way in which root's processes can be
    counted (RLIMIT_NPROC does not bind root). Reading files that only root may read stays possible: which files are in
    reach is Landlock's to say. Returns why not, or None.
    """
    if os.geteuid() != 0:
        return "not root"
    _libc.prctl(_PR_SET_KEEPCAPS, 1, 0, 0, 0)
    for user in (_FIRST_USER + number, _SMALL_USER + number % 5000):  # a container may know small numbers only
        try:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            break
        except OSError as error:
            why = f"setresuid: {error.strerror}"
    else:
        return why
    kept = _CapData(_CAP_DAC_OVERRIDE, _CAP_DAC_OVERRIDE, 0)
    if _libc.capset(ctypes.byref(_CapHeader(0x20080522, 0)), ctypes.byref((_CapData * 2)(kept))):
        return f"capset: {os.strerror(ctypes.get_errno())}"
    return None


def landlock_abi() -> int:
    """The Landlock version the kernel offers, 0 for none."""
    return max(0, int(_libc.syscall(_SYS_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def restrict_files(readable: list[str], writable: list[str], executable: list[str]) -> str | None:
    """Leave this process (and its children) only these paths and what is beneath them, and nobody outside to signal.

    ``writable`` implies readable, ``executable`` implies readable. Paths that do not exist are skipped. Returns why
    not, or None.
    """
    abi = landlock_abi()
    if not abi:
        return "the kernel has no Landlock"
    handled = _FS_ALL_BY_ABI.get(abi, _FS_ALL_LATEST if abi >= 5 else (1 << 15) - 1)
    rules = _Ruleset(
        handled,
        _NET_BIND_TCP | _NET_CONNECT_TCP if abi >= 4 else 0,
        _SCOPE_ABSTRACT_UNIX | _SCOPE_SIGNAL if abi >= 6 else 0,
    )
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    ruleset = _libc.syscall(_SYS_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint32(0))
    if ruleset < 0:
        return f"landlock_create_ruleset: {os.strerror(ctypes.get_errno())}"
    read = _FS_READ_FILE | _FS_READ_DIR
    for paths, allowed in ((readable, read), (executable, read | _FS_EXECUTE), (writable, handled & ~_FS_EXECUTE)):
        for path in paths:
            _allow(ruleset, path, allowed & handled)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    failed = _libc.syscall(_SYS_RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    reason = os.strerror(ctypes.get_errno()) if failed else None
    os.close(ruleset)
    return f"landlock_restrict_self: {reason}" if reason else None


def _allow(ruleset: int, path: str, allowed: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        allowed &= _FILE_ONLY
    rule = _PathBeneath(allowed, descriptor)
    _libc.syscall(_SYS_ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(1), ctypes.byref(rule), ctypes.c_uint32(0))
    os.close(descriptor)


def set_limits(limits: dict[str, int | None]) -> None:
    """Set resource limits: ``memory`` and ``file`` in bytes, ``cpu`` in seconds, ``processes`` as a count. No core
    file in any case.
    """
    names = {"memory": "RLIMIT_AS", "cpu": "RLIMIT_CPU", "file": "RLIMIT_FSIZE", "processes": "RLIMIT_NPROC"}
    wanted: dict[str, int] = {"RLIMIT_CORE": 0}
    wanted.update({names[key]: value for key, value in limits.items() if value is not None})
    for name, value in wanted.items():
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # one second between the signal and the kill leaves a CPU limit tellable from other kills
        resource.setrlimit(
            which, (ceiling, ceiling + 1 if name == "RLIMIT_CPU" and hard == resource.RLIM_INFINITY else ceiling)
        )


def probe() -> dict[str, str]:
    """What this machine lets a process give up; changes this process, so run it in one that ends."""
    root = os.geteuid() == 0
    network, abi = leave_network(keep_users=True), landlock_abi()
    uncounted = become_nobody(os.getpid()) if root else network
    counted = "a user of its own, counted" if root else "counted in a user namespace"
    seccomp = load_syscalls().refuse()
    return {
        "network": f"none: {network}" if network else "namespace",
        "filesystem": f"landlock (version {abi})" if abi else "none: the kernel has no Landlock",
        "limits": "rlimit",
        "processes": f"none: {uncounted}; a fork bomb ends with its case's time" if uncounted else counted,
        "signals": "landlock" if abi >= 6 else "by user" if root and not uncounted else f"none: Landlock version {abi}",
        "system-calls": f"none: {seccomp}" if seccomp else "seccomp",
        "memory": "each process by itself: nothing here adds up the processes of a case",
    }


def load_syscalls() -> ModuleType:
    """``syscalls.py`` beside this file, which may itself have been loaded by path."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "syscalls.py")  # noqa: PTH100, PTH118, PTH120
    spec = importlib.util.spec_from_file_location("opmend_syscalls", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _main(arguments: list[str]) -> None:
    if arguments == ["--probe"]:
        print(json.dumps(probe()))
        return
    spec = json.loads(arguments[0])
    program = arguments[2:]
    if spec["parent"]:
        die_with(spec["parent"])
    limits = dict(spec["limits"])
    if not spec["network"] and leave_network(keep_users=spec["keep_users"]):
        limits["processes"] = None  # outside a user namespace the limit would count all of the user's processes
    set_limits(limits)
    if spec["files"]:
        restrict_files(spec["files"]["readable"], spec["files"]["writable"], spec["files"]["executable"])
    try:
        os.execve(program[0], program, dict(os.environ))
    except OSError as error:
        print(f"opmend: cannot start {program[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(126)


if __name__ == "__main__":
    _main(sys.argv[1:])
