"""AscendC launch syntax made into C++ that g++ accepts.

``kernel<T><<<blockDim, l2ctrl, stream>>>(a, b)`` becomes ``::opmend::Launcher("kernel<T>", __FILE__, __LINE__,
(blockDim), (l2ctrl), (stream))(kernel<T>, a, b)``. Everything else, line breaks included, stays byte for byte, so
that compiler messages and debug information keep the line numbers of the user's file. A launch that cannot be read
(no closing ``>>>``, no argument list) is left as it is: the compiler then names its place. In a file with macros the
name is left to the preprocessor (``OPMEND_KERNEL_NAME``), so that a launch made by a macro is named as it expands.
"""

from __future__ import annotations

import re

__all__ = ["blank_comments", "rewrite_launches"]

_SKIP = re.compile(
    r"""//(?:\\\n|[^\n])*            # line comment, continued by a backslash
      | /\*.*?(?:\*/|\Z)            # block comment
      | \bR"(?P<tag>[^()\\\s]{0,16})\(.*?\)(?P=tag)"   # raw string
      | "(?:\\.|[^"\\\n])*"         # string
      | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])*'            # character (not a digit separator)
    """,
    re.VERBOSE | re.DOTALL,
)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b", re.MULTILINE)
_NOT_A_BREAK = re.compile(r"[^\n]")
_PAIRS = {"(": ")", "[": "]", "{": "}"}


def rewrite_launches(source: str) -> str:
    """Return ``source`` with every ``<<<...>>>`` launch rewritten; same number of lines, same text elsewhere."""
    if "<<<" not in source:
        return source
    text = blank_comments(source)
    code = _blank(source, literals=True)
    out: list[str] = []
    macros = _DEFINE.search(code) is not None
    done = 0
    at = code.find("<<<")
    while at >= 0:
        name_start = _name_start(code, at)
        close = _find_close(code, at + 3)
        open_paren = _next_visible(code, close + 3) if close >= 0 else -1
        if name_start < done or open_paren < 0 or code[open_paren] != "(":
            at = code.find("<<<", at + 3)
            continue
        config = [text[start:end] for start, end in _split(code, at + 3, close)]
        config += ["nullptr"] * (3 - len(config))
        arguments = ", ".join(f"({part if chr(10) in part else part.strip()})" for part in config)
        label = re.sub(r'[\s\\"]+', "", code[name_start:at])
        name = f"OPMEND_KERNEL_NAME({label})" if macros else f'"{label}"'
        first = _next_visible(code, open_paren + 1)
        separator = "" if first >= 0 and code[first] == ")" else ", "
        out.append(source[done:name_start])
        out.append(f"::opmend::Launcher({name}, __FILE__, __LINE__, {arguments})")
        out.append(f"{text[close + 3 : open_paren + 1]}{text[name_start:at]}{separator}")
        done = open_paren + 1
        at = code.find("<<<", done)
    out.append(source[done:])
    return "".join(out)


def blank_comments(source: str) -> str:
    """The source with comments blanked out: same length, same line breaks, literals kept."""
    return _blank(source, literals=False)


def _blank(source: str, *, literals: bool) -> str:
    """The source with comments (and, where asked, string and character literals) blanked out: same length, same line
    breaks.
    """

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if found.startswith(("//", "/*")):
            return _NOT_A_BREAK.sub(" ", found)
        return "0" + _NOT_A_BREAK.sub(" ", found[1:-1]) + "0" if literals else found

    return _SKIP.sub(blank, source)


def _name_start(code: str, end: int) -> int:
    """Where the kernel's name (qualified, perhaps with template arguments) that ends at ``end`` starts, or -1."""
    at = _previous_visible(code, end)
    if at >= 0 and code[at] == ">":
        depth = 0
        while at >= 0:
            if code[at] == ">":
                depth += 1
            elif code[at] == "<":
                depth -= 1
                if depth == 0:
                    break
            elif code[at] in ";{}":
                return -1
            at -= 1
        at = _previous_visible(code, at)
    start = at
    while start >= 0:
        if code[start].isalnum() or code[start] in "_:#":
            start -= 1
        elif code[start] in " \t" and _pastes(code, start):
            start = _previous_visible(code, start)
        else:
            break
    return start + 1 if start < at else -1


def _pastes(code: str, space: int) -> bool:
    """Whether the blank at ``space`` stands beside a ``##``, which joins what is left and right of it."""
    before = _previous_visible(code, space)
    return code.startswith("##", space + 1) or code.startswith("##", before - 1)


def _find_close(code: str, start: int) -> int:
    """The position of the ``>>>`` that ends the configuration, outside any bracket opened after ``start``, or -1."""
    stack: list[str] = []
    for at in range(start, len(code)):
        char = code[at]
        if char in _PAIRS:
            stack.append(_PAIRS[char])
        elif char in ")]}":
            if not stack or stack.pop() != char:
                return -1
        elif not stack and code.startswith(">>>", at):
            while code.startswith(">>>", at + 1):  # in `<<<n<A<B>>>>>` the templates' own closers come first
                at += 1
            return at
        elif char == ";" and not stack:
            return -1
    return -1


def _split(code: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where the configuration's arguments lie, split at top-level commas (template arguments kept together)."""
    parts: list[tuple[int, int]] = []
    depth = angle = 0
    begin = start
    for at in range(start, end):
        char = code[at]
        if char in _PAIRS:
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif depth == 0 and char == "<" and _opens_template(code, at, end):
            angle += 1
        elif depth == 0 and char == ">" and angle:
            angle -= 1
        elif char == "," and depth == 0 and angle == 0:
            parts.append((begin, at))
            begin = at + 1
    return [*parts, (begin, end)]


def _opens_template(code: str, at: int, end: int) -> bool:
    """Whether this ``<`` opens template arguments: an identifier before it and a balancing ``>`` followed by ``(``,
    ``:`` or ``{``.
    """
    before = _previous_visible(code, at)
    if before < 0 or not (code[before].isalnum() or code[before] == "_"):
        return False
    depth = 0
    for here in range(at, end):
        if code[here] == "<":
            depth += 1
        elif code[here] == ">":
            depth -= 1
            if depth == 0:
                following = _next_visible(code, here + 1)
                return 0 <= following < end and code[following] in "(:{"
        elif code[here] in ";&|":
            return False
    return False


def _previous_visible(code: str, end: int) -> int:
    at = end - 1
    while at >= 0 and code[at].isspace():
        at -= 1
    return at


def _next_visible(code: str, start: int) -> int:
    at = start
    while at < len(code) and code[at].isspace():
        at += 1
    return at if at < len(code) else -1
