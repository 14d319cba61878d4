"""The light C++ reader of a candidate's `kernel/` sources: launches, ATen computation, and what no binding needs.

Comments and literals are blanked, AscendC syntax is blanked for tree-sitter, `#if 0` blocks are dropped. Device code is
left to the device; host code (bindings, launchers, tiling) is read default-deny where ATen is concerned. This is
a reader of text: macros are matched where they are written, not expanded. What that leaves open: docs/integrity.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from events.types import CheckOutcome, Evidence
from statemachine.integrity import torchcpp
from statemachine.integrity.cpptext import Launch, blank, expanded_names, launches, parseable
from statemachine.integrity.hostcode import Effort, read_host_code

_GLOBAL_KERNEL = re.compile(r"\b__global__\b[^;{}()]{0,300}?\b((?:\w+\s*##\s*){0,6}\w+)\s*\(")
_MODULE = re.compile(r"\bPYBIND11_MODULE\s*\(\s*(\w+)\s*,|\bTORCH_LIBRARY(?:_FRAGMENT)?\s*\(\s*(\w+)\s*,")
_OTHER_LAUNCH = re.compile(r"\baclrtlaunch_(\w+)\s*\(|\bACLRT_LAUNCH_KERNEL\s*\(\s*(\w+)\s*\)|\brtKernelLaunch\w*\s*\(")
_IF = re.compile(r"[ \t]*#[ \t]*(if\w*|el\w+|endif)\b[ \t]*([^\n]*)")
#: More text or launches than this are not read; a real operator has a hundredth of it.
_MAX_CHARACTERS = 2_000_000
_MAX_LAUNCHES = 500
_STATIC_TENSOR = re.compile(
    r"\b(?:static|thread_local)\b[^;(){}=]{0,300}\b(?:at|torch)\s*::\s*Tensor\b(?![^;(){}=]{0,300}\()[^;(){}]{0,300}[;={(]"
)
_STATIC_TABLE = re.compile(
    r"\b(?:static|constexpr|const)\b[^;(){}]{0,300}\b(?:float|double|half|uint16_t|uint32_t)\b[^;(){}]{0,300}\[[^\]]{0,300}\]\s*=\s*\{"
)
_CONSTANT_IF = re.compile(r"\bif\s*(?:constexpr\s*)?\(\s*(?:false|0|!\s*true|nullptr)\s*\)")


@dataclass(frozen=True)
class BindingReport:
    """`modules`: extension names the sources define; `kernels`: names launched; `launches`: where."""

    evidence: tuple[Evidence, ...]
    modules: tuple[str, ...]
    kernels: tuple[str, ...]
    launches: tuple[Launch, ...]


def read_binding(files: Mapping[str, str], *, launching: bool = True) -> BindingReport:
    """Read all kernel sources of a candidate (text by path relative to kernel/). Never raises on hostile text.

    Without `launching`, launches are nobody's business here: neither is one needed, nor does one count.
    """
    found: list[Evidence] = []
    starts: list[Launch] = []
    defined: set[str] = set()
    modules: set[str] = set()
    if sum(map(len, files.values())) > _MAX_CHARACTERS or sum(t.count("<<<") for t in files.values()) > _MAX_LAUNCHES:
        detail = "the sources are too large to be read; make them smaller"
        return BindingReport((Evidence(check="binding:too-large", outcome="failed", detail=detail),), (), (), ())
    effort = Effort()
    codes = {path: live(text) for path, text in sorted(files.items())}
    for path, code in codes.items():
        for start in _launches(path, code, found):
            names = expanded_names(codes.values(), code, start.offset, start.kernel)
            starts.extend(replace(start, kernel=name) for name in sorted(names))
        for match in _GLOBAL_KERNEL.finditer(code):
            defined |= expanded_names(codes.values(), code, match.start(1), match.group(1))
        modules.update(a or b for a, b in _MODULE.findall(code))
        _patterns(path, code, found)
        _aten_names(path, code, found)
        _statics(path, code, found)
        found.extend(read_host_code(path, code, parseable(code), effort))
    if launching:
        _conclude(starts, defined, found)
    unique = tuple(dict.fromkeys(found))
    return BindingReport(unique, tuple(sorted(modules)), tuple(sorted({s.kernel for s in starts})), tuple(starts))


def kernels_defined(files: Mapping[str, str]) -> set[str]:
    """Names of the `__global__` functions in the sources, macros expanded where they are used."""
    codes = [live(text) for text in files.values()] if sum(map(len, files.values())) <= _MAX_CHARACTERS else []
    return {
        name
        for code in codes
        for match in _GLOBAL_KERNEL.finditer(code)
        for name in expanded_names(codes, code, match.start(1), match.group(1))
    }


def live(text: str) -> str:
    """The text without comments, literals and `#if 0` blocks; line breaks stay."""
    lines = blank(text, literals=True).split("\n")
    dead = depth = 0
    for number, line in enumerate(lines):
        directive = _IF.match(line)
        word = directive.group(1) if directive else ""
        if dead:
            depth += word.startswith("if")
            if depth == 0 and (word == "endif" or word.startswith("el")):
                dead = 0
            depth -= word == "endif" and depth > 0
            lines[number] = ""
        elif directive is not None and word == "if" and directive.group(2).strip() in ("0", "false"):
            dead, depth, lines[number] = 1, 0, ""
    return "\n".join(lines)


def evidence(kind: str, outcome: CheckOutcome, detail: str, path: str, code: str, offset: int) -> Evidence:
    """One finding at a text offset."""
    line = code.count("\n", 0, offset) + 1
    return Evidence(check=f"binding:{kind}", outcome=outcome, detail=detail, where=f"kernel/{path}:{line}")


def _launches(path: str, code: str, found: list[Evidence]) -> list[Launch]:
    starts = launches(path, code)
    for start in starts:
        blocks = start.configuration.split(",")[0].strip()
        if blocks in ("0", "0U", "0u", "(0)"):
            found.append(
                evidence("dead-launch", "failed", f"{start.kernel} is launched on 0 blocks", path, code, start.offset)
            )
    for match in _OTHER_LAUNCH.finditer(code):
        declared = re.search(
            r"\b(?:extern|uint32_t|int32_t|int|aclError|void)\s*(?:\"[^\"]*\")?\s*$", code[: match.start()]
        )
        if not declared:
            line = code.count("\n", 0, match.start()) + 1
            starts.append(Launch(match.group(1) or match.group(2) or "?", "", path, line, match.start()))
    for match in _CONSTANT_IF.finditer(code):
        found.append(evidence("dead-branch", "flagged", "a branch that is never taken", path, code, match.start()))
    return starts


def _patterns(path: str, code: str, found: list[Evidence]) -> None:
    for kind, outcome, pattern, meaning in torchcpp.PATTERNS:
        for match in re.finditer(pattern, code):
            before = code[max(0, match.start() - 3) : match.start()].rstrip()
            if kind in ("file", "process") and before.endswith((".", "->")):
                continue
            word: CheckOutcome = "failed" if outcome == "failed" else "flagged"
            text = " ".join(match.group().split()).rstrip("( ")
            found.append(evidence(kind, word, f"{text}: {meaning}", path, code, match.start()))


def _aten_names(path: str, code: str, found: list[Evidence]) -> None:
    """Every name under at::, torch:: or c10::, called or not, against the allow-list."""
    for match in re.finditer(r"(?<![\w:])(?:::\s*)?(at|torch|c10|aten)\s*::\s*(\w+(?:\s*::\s*\w+)*)", code):
        names = [n.strip() for n in match.group(2).split("::")]
        bad = [n for n in names if n not in torchcpp.ATEN_ALLOWED and n not in torchcpp.ATEN_NAMESPACES]
        if not bad or (
            names[0] in ("Tensor", "ScalarType", "DeviceType") and len(names) == 2 and names[1][:1].isupper()
        ):
            continue
        if len(bad) == 1 and re.fullmatch(r"k[A-Z]\w*|PrivateUse1|[A-Z]\w*Type|[A-Z]\w*Guard|[A-Z]\w*Ref", bad[0]):
            continue
        name = f"{match.group(1)}::{'::'.join(names)}"
        detail = f"{name} is not metadata, allocation, view, copy or cast"
        found.append(evidence("aten-compute", "failed", detail, path, code, match.start()))


def _statics(path: str, code: str, found: list[Evidence]) -> None:
    for match in _STATIC_TENSOR.finditer(code):
        found.append(evidence("static-tensor", "flagged", "keeps tensors between calls", path, code, match.start()))
    for match in _STATIC_TABLE.finditer(code):
        body = code[match.end() : code.find("}", match.end())]
        if body.count(",") >= 63:
            found.append(evidence("constant-table", "flagged", "a large table of constants", path, code, match.start()))


def _conclude(starts: list[Launch], defined: set[str], found: list[Evidence]) -> None:
    if not starts:
        detail = "no kernel launch (<<<...>>>, aclrtlaunch_*) in any file under kernel/"
        found.append(Evidence(check="binding:no-launch", outcome="failed", detail=detail))
        return
    for start in starts:
        known = start.kernel.split("::")[-1] in defined
        where = f"kernel/{start.file}:{start.line}"
        if known:
            found.append(
                Evidence(check="binding:launch", outcome="passed", detail=f"launches {start.kernel}", where=where)
            )
        else:
            detail = f"launches {start.kernel}, whose __global__ definition was not found (perhaps made by a macro)"
            found.append(Evidence(check="binding:foreign-kernel", outcome="flagged", detail=detail, where=where))
