"""The scope gate: which files a proposed patch may touch (law 2). Refusals carry a reason the worker is told.

A candidate's files are texts by POSIX path relative to `kernel/`. Anything that is not plainly a C++ source there is
refused, so that path tricks, look-alike names and new build inputs need no list of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from statemachine.integrity.cpptext import blank
from statemachine.integrity.wordset import wordset

Scope = Literal["kernel", "device"]

SUFFIXES = frozenset({".cpp", ".cc", ".asc", ".h", ".hpp", ".inc"})
MAX_FILE_BYTES = 512 * 1024
MAX_PATCH_BYTES = 2 * 1024 * 1024
MAX_FILES = 64
MAX_DEPTH = 4
MAX_PATH = 160

_COMPONENT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_+.-]*")
#: Folder names under which a header or source would be mistaken for the toolchain's, torch's or a build output.
_FOREIGN_FOLDERS = frozenset(
    {
        "build",
        "torch",
        "aten",
        "c10",
        "acl",
        "torch_npu",
        "pybind11",
        "caffe2",
        "std",
        "bits",
        "sys",
        "ext",
        "experimental",
    }
    | {
        "lib",
        "kernel_tiling",
        "op_host",
        "register",
        "tiling",
        "graph",
        "python",
        "opmend",
        "impl",
        "tikcpp",
        "hccl",
        "cmakefiles",
    }
)
#: Header names that belong to the device toolchain or to the bindings.
_FOREIGN_HEADERS = wordset(
    "kernel_operator kernel_tensor kernel_tpipe kernel_macros kernel_event kernel_utils kernel_common_api acl "
    "acl_rt acl_base extension torch pybind11 npustream python tensor aten tikicpulib tikcfw lib_ascendc "
    "kernel_tiling tiling_api kernel_log kernel_struct kernel_type opmend opmend_rt aclrtlaunch"
)
#: Names of standard headers with and without suffix; a file of such a name beside the sources would shadow them.
_STANDARD_HEADERS = wordset(
    "algorithm any array atomic barrier bit bitset charconv chrono codecvt compare complex concepts "
    "condition_variable coroutine deque exception execution expected filesystem format forward_list fstream "
    "functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map "
    "memory memory_resource mutex new numbers numeric optional ostream queue random ranges ratio regex "
    "scoped_allocator semaphore set shared_mutex source_location span sstream stack stdexcept stop_token "
    "streambuf string string_view strstream syncstream system_error thread tuple type_traits typeindex typeinfo "
    "unordered_map unordered_set utility valarray variant vector version assert ctype errno fenv float inttypes "
    "iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib "
    "stdnoreturn string tgmath threads time uchar wchar wctype unistd fcntl dlfcn pthread sched features endian "
    "cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath csetjmp csignal cstdalign cstdarg "
    "cstdbool cstddef cstdint cstdio cstdlib cstring ctgmath ctime cuchar cwchar cwctype stdcpp malloc alloca "
    "byteswap xmmintrin emmintrin immintrin arm_neon omp mman socket"
)
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]")
_OUTSIDE_INCLUDE = re.compile(
    r'^[ \t]*#[ \t]*(?:include|import|include_next|embed)[ \t]*["<]([^">]*)[">]', re.MULTILINE
)
_DEVICE = re.compile(r"\b(__aicore__|kernel_operator\.h)\b")
_BINDING = re.compile(r"\b(PYBIND11_MODULE|TORCH_LIBRARY|TORCH_LIBRARY_IMPL|TORCH_EXTENSION_NAME)\b|<torch/|<pybind11/")


@dataclass(frozen=True)
class Refusal:
    """Why a patch is refused, in words a worker can act on, and the files it concerns."""

    reason: str
    files: tuple[str, ...]


def gate(base: Mapping[str, str], proposed: Mapping[str, str], *, scope: Scope) -> Refusal | None:
    """None when `proposed` (whole new texts by path) may be laid over `base`; otherwise why not. Pure."""
    if not proposed:
        return Refusal("the patch is empty: propose the whole new text of at least one kernel file", ())
    if len(proposed) > MAX_FILES:
        return Refusal(
            f"the patch has {len(proposed)} files; at most {MAX_FILES} are allowed", tuple(sorted(proposed))[:8]
        )
    folded = {path.casefold(): path for path in base}
    for path in sorted(proposed):
        reason = _path_problem(path) or _shadow_problem(path, base)
        same = folded.setdefault(path.casefold(), path)
        if reason is None and same != path:
            reason = f"differs from {same} only in upper and lower case"
        reason = reason or _text_problem(proposed[path])
        if reason is None and scope == "device":
            reason = _device_problem(path, base, proposed[path])
        if reason is not None:
            return Refusal(f"{_shown(path)}: {reason}", (_shown(path),))
    total = sum(len(text.encode()) for text in proposed.values())
    if total > MAX_PATCH_BYTES:
        return Refusal(f"the patch has {total} bytes; at most {MAX_PATCH_BYTES} are allowed", tuple(sorted(proposed)))
    if all(base.get(path) == text for path, text in proposed.items()):
        return Refusal("the patch changes nothing: every file equals the one it would replace", tuple(sorted(proposed)))
    if clash := _folder_clash({*base, *proposed}):
        return Refusal(f"{clash} would be a file and a folder at once", (clash,))
    return None


def _shown(path: str) -> str:
    """The path, safe to print: control and non-ASCII characters escaped, shortened."""
    return path.encode("ascii", "backslashreplace").decode().replace("\x00", "\\x00").replace("\n", "\\n")[:MAX_PATH]


def _path_problem(path: str) -> str | None:
    if not path or len(path) > MAX_PATH:
        return f"a path must have 1 to {MAX_PATH} characters"
    if not path.isascii():
        return "file names must be plain ASCII"
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        return "absolute paths are refused; name files relative to kernel/"
    if "\\" in path or any(ord(c) < 32 or ord(c) == 127 for c in path):
        return "backslashes and control characters are refused"
    parts = path.split("/")
    if any(p in ("", ".", "..") for p in parts):
        return "only normalised paths inside kernel/ are allowed"
    if any(not _COMPONENT.fullmatch(p) or p.endswith(".") for p in parts):
        return "hidden files and unusual characters in names are refused"
    if len(parts) > MAX_DEPTH:
        return f"folders are nested deeper than {MAX_DEPTH}"
    if parts[0].casefold() == "kernel":
        return "name files relative to kernel/, without the folder itself"
    name, dot, suffix = parts[-1].rpartition(".")
    if dot + suffix not in SUFFIXES or not name:
        return f"only C++ sources may change ({', '.join(sorted(SUFFIXES))})"
    return None


def _shadow_problem(path: str, base: Mapping[str, str]) -> str | None:
    """A file that an include of the toolchain, the standard library or torch could find instead of its own."""
    parts = [p.casefold() for p in path.split("/")]
    if any(p in _FOREIGN_FOLDERS for p in parts[:-1]) and path not in base:
        return "this folder name belongs to the build, the toolchain or torch"
    stem, _, suffix = parts[-1].rpartition(".")
    if suffix in ("h", "hpp", "inc") and path not in base:
        if stem in _FOREIGN_HEADERS or stem.startswith(("aclrtlaunch_", "kernel_operator")):
            return "this header would shadow one of the toolchain or the binding"
        if stem in _STANDARD_HEADERS:
            return "this header would shadow a standard or system header"
    return None


def _text_problem(text: str) -> str | None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "the text is not valid UTF-8"
    if size > MAX_FILE_BYTES:
        return f"the file has {size} bytes; at most {MAX_FILE_BYTES} are allowed"
    if "\x00" in text or text.startswith("\ufeff"):
        return "NUL characters and byte order marks are refused"
    if _BIDI.search(text):
        return "bidirectional control characters are refused"
    for match in _OUTSIDE_INCLUDE.finditer(blank(text, literals=False)):
        target = match.group(1)
        if target.startswith(("/", "~")) or ".." in target.split("/") or "\\" in target:
            return f"includes {target}, which lies outside kernel/"
    return None


def _device_problem(path: str, base: Mapping[str, str], text: str) -> str | None:
    """Under `--scope device`: files of device code only, before and after; a new file must be device code itself."""
    for version, when in ((base.get(path), "is"), (text, "would become")):
        if version is None:
            continue
        code = blank(version, literals=False)
        if _BINDING.search(code):
            return f"scope is device code only and this {when} the binding"
        if not _DEVICE.search(code):
            return f"scope is device code only and this {when} host code (no __aicore__, no kernel_operator.h)"
    return None


def _folder_clash(paths: set[str]) -> str | None:
    folders = {"/".join(p.split("/")[:i]) for p in paths for i in range(1, p.count("/") + 1)}
    clash = sorted(folders & paths)
    return clash[0] if clash else None
