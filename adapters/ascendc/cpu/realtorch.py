"""The slow path of a binding: torch's own headers, where the mini torch does not have what the binding uses.

It costs some half a minute instead of some seconds, and is taken only when the stand-ins refuse; the build's log says
so. PrivateUse1 is renamed to the CPU by the preprocessor. Pointers leave such a binding unseen, so the candidate's
process registers the tensors with the device instead (``child.py``).
"""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from importlib import metadata
from pathlib import Path

from adapters.ascendc.cpu.cache import digest_of
from adapters.ascendc.cpu.compiler import COMPAT

__all__ = ["AVAILABLE", "HEADER", "NOTE", "folders", "link_options", "may_help", "provides", "recipe"]

NOTE = (
    "note: the binding uses what the CPU binding's torch headers lack; compiled against torch's own "
    "({seconds:.0f} s, once)\n"
)
HEADER = (
    "#include <torch/extension.h>\n#include <torch/library.h>\n"
    "#define kPrivateUse1 kCPU\n#define PrivateUse1 CPU\n#define is_privateuseone is_cpu\n"
)
_LACKING = re.compile(
    r"is not supported by the CPU binding yet"
    r"|(?:is not a member of|has not been declared in|does not name a type in|is not a class or namespace).*"
    r"'(?:at|torch|c10)\b|'(?:at|torch|c10)::\w+' has not been declared"
    r"|'(?:class|struct) (?:at|c10|torch)::\w+' has no member named"
    r"|fatal error: (?:torch|ATen|c10)/\S+: No such file"
    r"|'(?:AT|TORCH|C10)_\w+' (?:was not declared|has not been declared)"
)
_MANGLED = re.compile(r"_ZNK?St|_ZSt|_Z\w*?(?:2at|3c10|5torch|6caffe2)")


@cache
def _package() -> Path | None:
    found = importlib.util.find_spec("torch")
    return Path(found.origin).parent if found and found.origin else None


def _available() -> bool:
    package = _package()
    return package is not None and (package / "include" / "torch" / "csrc" / "api").is_dir()


#: Whether torch's headers are here (they come with the package).
AVAILABLE = _available()


def folders() -> list[Path]:
    package = _package()
    return [package / "include"] if package and AVAILABLE else []


def recipe(flags: list[str], key: str, version: str) -> tuple[list[str], str]:
    """The flags of a unit compiled against torch's headers, and its key; both from those of a device unit."""
    includes = [f"-isystem{path}" for root in folders() for path in (root / "torch" / "csrc" / "api" / "include", root)]
    own = [*includes, "-DOPMEND_REAL_TORCH", "-D_GLIBCXX_USE_CXX11_ABI=1"]
    last = [f"-idirafter{COMPAT}" if flag == f"-I{COMPAT}" else flag for flag in flags]  # only what torch has not
    return [*own, *last], digest_of([key, version, "real torch", HEADER, _version()])


def link_options() -> list[str]:
    """What lets a module find torch's symbols, wherever it is loaded from."""
    package = _package()
    assert package is not None
    lib = package / "lib"
    return [f"-L{lib}", "-ltorch_python", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{lib}"]


def _version() -> str:
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return "none"


def may_help(log: str) -> bool:
    """Whether a refusal of the compiler speaks of something that torch's own headers may have."""
    return _LACKING.search(log.replace("‘", "'").replace("’", "'")) is not None


def provides(symbol: str) -> bool:
    """Whether a symbol is torch's, or one of the C++ library that torch's libraries offer under the same name."""
    return _MANGLED.match(symbol) is not None
