"""C++ text made readable: comments and literals blanked, AscendC's own syntax replaced, all at the same length.

tree-sitter-cpp does not know `__global__ __aicore__` or `<<<...>>>`. Everything is replaced by as many characters as it
had, so that offsets and line numbers stay those of the user's file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SKIP = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z))
      | (?P<raw>\b(?:u8|[uUL])?R"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)")
      | (?P<string>"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*')
    """,
    re.VERBOSE | re.DOTALL,
)
_QUALIFIERS = re.compile(
    r"\b(__aicore__|__global__|__gm__|__ubuf__|__cbuf__|__ca__|__cb__|__cc__|__fbuf__|__host_aicore__|__inout_pipe__"
    r"|__simd_vf__|__simd_callee__|__vector__|__cube__|__mix__|__schedmode__|__host__|__device__|__BLOCK_LOCAL__)\b"
)
_LAUNCH = re.compile(
    r"(?<!\w)((?:\w+\s*##\s*){0,6}[A-Za-z_][\w:]*)\s*(<[^;{}()]{0,200}?(?:\([^;{}()]{0,200}\)[^;{}()]{0,200}?){0,3}>)?\s*<<<\Z"
)
#: A kernel's name with its template arguments stands within so many characters before its launch.
_NAME_WINDOW = 1000


def blank(source: str, *, literals: bool) -> str:
    """`source` with comments, and where asked the inside of string and character literals, turned to spaces."""

    def spaces(match: re.Match[str]) -> str:
        found = match.group()
        if match.lastgroup == "comment" or found.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", found)
        if not literals:
            return found
        return found[0] + re.sub(r"[^\n]", " ", found[1:-1]) + found[-1]

    return _SKIP.sub(spaces, source)


@dataclass(frozen=True)
class Launch:
    """One `kernel<<<blockDim, l2, stream>>>(...)`: kernel name, configuration text, place, offset of the name."""

    kernel: str
    configuration: str
    file: str
    line: int
    offset: int


def launches(file: str, code: str) -> list[Launch]:
    """Launches in blanked `code` (comments and literals gone)."""
    found: list[Launch] = []
    done, opens = 0, code.find("<<<")
    while opens >= 0:
        start = max(done, opens - _NAME_WINDOW)
        match = _LAUNCH.search(code[start : opens + 3])  # hostile text must not make one search cross the whole file
        end = code.find(">>>", opens + 3)
        if end < 0:
            break
        if match is not None:
            offset = start + match.start()
            line = code.count("\n", 0, offset) + 1
            found.append(Launch(match.group(1), code[opens + 3 : end].strip(), file, line, offset))
        done = opens + 3
        opens = code.find("<<<", done)
    return found


_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)]*)\)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)


def expanded_names(codes: Iterable[str], code: str, offset: int, spelled: str) -> set[str]:
    """What a name that stands at `offset` of `code` becomes: itself, or, in a macro, a name for each use of it.

    Parameters are substituted and `##` is joined; a macro that uses another macro is not followed.
    """
    macro = next((m for m in _DEFINE.finditer(code) if m.start() <= offset < m.end()), None)
    pieces = [piece.strip() for piece in spelled.split("##")]
    if macro is None:
        return {"".join(pieces)}
    parameters = [name.strip() for name in macro.group(2).split(",")]
    names = set()
    for text in codes:
        for use in re.finditer(rf"\b{macro.group(1)}\s*\(([^()]*)\)", _DEFINE.sub("", text)):
            given = dict(zip(parameters, [part.strip() for part in use.group(1).split(",")], strict=False))
            names.add("".join(given.get(piece, piece) for piece in pieces))
    return names


def parseable(code: str) -> str:
    """Blanked code with AscendC qualifiers and launch configurations replaced by spaces of the same length."""
    code = _QUALIFIERS.sub(lambda m: " " * len(m.group()), code)
    return re.sub(r"<<<.*?>>>", lambda m: re.sub(r"[^\n]", " ", m.group()), code, flags=re.DOTALL)
