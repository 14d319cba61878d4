"""System calls that no kernel, binding or wrapper needs, closed to the candidate's process by a seccomp filter.

Landlock rules files and TCP; a Unix socket in the file system, another process's memory or a new namespace are beyond
it. Loaded by path in the candidate's process; standard library only. The numbers are Linux's (x86-64, and the generic
table that AArch64 uses); on other machines there is no filter, and ``available`` says so.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EPERM = 1
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_X32 = 0x40000000
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
#: name -> (x86-64, AArch64)
_REFUSED = {
    "socket": (41, 198),
    "ptrace": (101, 117),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "add_key": (248, 217),
    "keyctl": (250, 219),
    "unshare": (272, 97),
    "setns": (308, 268),
    "perf_event_open": (298, 241),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "pidfd_getfd": (438, 438),
}


def available() -> bool:
    """Whether this machine's system calls are known here."""
    return platform.machine() in _ARCHITECTURES


def refuse() -> str | None:
    """Install the filter on this thread and all that it starts. Returns why not, or None."""
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        return f"no table of system calls for {machine}"
    numbers = [pair[machine == "aarch64"] for pair in _REFUSED.values()]
    size = 6 + len(numbers)  # load, architecture, load, x32, one test each, two returns; the refusal stands last

    def refusal(at: int) -> int:
        """How far to jump from line ``at``."""
        return size - 2 - at

    program = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 0, refusal(1), _ARCHITECTURES[machine]),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, refusal(3), 0, _X32),
        *((_EQUAL, refusal(4 + at), 0, number) for at, number in enumerate(numbers)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
    ]
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    text = ctypes.create_string_buffer(code, len(code))
    head = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.c_void_p(ctypes.addressof(head)), 0, 0):
        return f"prctl(PR_SET_SECCOMP): {os.strerror(ctypes.get_errno())}"
    return None
