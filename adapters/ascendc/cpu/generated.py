"""What a vendor build generates beside the sources: ``aclrtlaunch_<kernel>.h`` and the function that it declares.

``ACLRT_LAUNCH_KERNEL(k)(blocks, stream, args...)`` is the vendor's way to launch from a file that the device compiler
does not see (its guide "Kernel 直调" describes project and macro). The generated function has C linkage, takes every
pointer as ``void *`` and other arguments as the kernel does, and launches the kernel through ``::opmend::Launcher``.
Pure functions over source text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adapters.ascendc.cpu.rewrite import blank_comments

__all__ = ["Stub", "header_name", "launch_header", "launch_stub", "stubs_for"]

_KERNEL = re.compile(r"\b__global__\b[^;{}()]{0,300}?\b(\w+)\s*\(")
_WANTED = re.compile(r"\baclrtlaunch_(\w+)|\bACLRT_LAUNCH_KERNEL\s*\(\s*(\w+)\s*\)")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_POINTER = re.compile(r"\*|\bGM_ADDR\b")
_WORDS = re.compile(r"\b(?:__gm__|__restrict__|__restrict|__ubuf__)\b")


@dataclass(frozen=True)
class Stub:
    """One kernel that is launched by its generated function: parameter types, and where it is defined."""

    kernel: str
    types: tuple[str, ...]
    file: str
    line: int


def stubs_for(files: Mapping[str, str]) -> dict[str, Stub]:
    """The kernels that the sources launch by an ``aclrtlaunch_`` function and define, by name."""
    codes = {name: blank_comments(text) for name, text in files.items()}
    wanted = {a or b for text in codes.values() for a, b in _WANTED.findall(text)}
    wanted = {name.removesuffix("_h") for name in wanted} | wanted
    found: dict[str, Stub] = {}
    for name, code in codes.items() if wanted else ():
        plain = _DEFINE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), code)
        for match in _KERNEL.finditer(plain):
            close = _closing(plain, match.end() - 1)
            if match[1] in wanted and match[1] not in found and plain[close + 1 :].lstrip().startswith("{"):
                types = tuple(_type(part) for part in _parameters(plain[match.end() : close]))
                found[match[1]] = Stub(match[1], types, name, plain.count("\n", 0, match.start()) + 1)
    return found


def header_name(kernel: str) -> str:
    return f"aclrtlaunch_{kernel}.h"


def launch_header(stub: Stub) -> str:
    """The text of ``aclrtlaunch_<kernel>.h``. A structure among the parameters must be declared before, as there."""
    guard = f"OPMEND_ACLRTLAUNCH_{stub.kernel.upper()}_H"
    return (
        f"#ifndef {guard}\n#define {guard}\n#include <cstdint>\n"
        "#ifndef ACLRT_LAUNCH_KERNEL\n#define ACLRT_LAUNCH_KERNEL(kernel) aclrtlaunch_##kernel\n#endif\n"
        f"{_signature(stub)};\n#endif\n"
    )


def launch_stub(stub: Stub) -> str:
    """The definition, for the end of the unit that holds the kernel."""
    given = ", ".join(["", *(f"p{i}" for i in range(len(stub.types)))])
    return (
        f'{_signature(stub)}\n{{\n    ::opmend::Launcher("{stub.kernel}", "kernel/{stub.file}", {stub.line}, '
        f"numBlocks, nullptr, stream)({stub.kernel}{given});\n    return 0;\n}}\n"
    )


def _signature(stub: Stub) -> str:
    given = "".join(f", {kind} p{i}" for i, kind in enumerate(stub.types))
    return f'extern "C" uint32_t aclrtlaunch_{stub.kernel}(uint32_t numBlocks, void *stream{given})'


def _type(parameter: str) -> str:
    """The type a generated function takes for one parameter of the kernel."""
    if _POINTER.search(parameter):
        return "void *"
    words = _WORDS.sub(" ", parameter.split("=")[0]).strip()
    return re.sub(r"\b\w+\s*$", "", words).strip() or words


def _parameters(text: str) -> Iterable[str]:
    depth, begin = 0, 0
    for at, char in enumerate(text):
        depth += (char in "(<[") - (char in ")>]")
        if char == "," and depth == 0:
            yield text[begin:at]
            begin = at + 1
    if text[begin:].strip() not in ("", "void"):
        yield text[begin:]


def _closing(code: str, start: int) -> int:
    """The parenthesis that closes the one at ``start``, or the end."""
    depth = 0
    for at in range(start, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if depth == 0:
            return at
    return len(code)
