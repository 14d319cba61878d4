"""Helper of the rewrite tests: apply one pattern to snippets and look at what comes out, structurally."""

from __future__ import annotations

from collections.abc import Mapping

from events.types import Feature, SanitizerFinding
from kb.cpp import Source
from kb.facts import Program
from kb.model import PATTERNS, Pattern, read_pattern
from kb.rewriting import rewrites


def pattern(name: str) -> Pattern:
    return read_pattern(PATTERNS / f"{name}.yaml")


def alternatives(
    name: str,
    code: str | Mapping[str, str],
    *,
    features: tuple[Feature, ...] = (),
    findings: tuple[SanitizerFinding, ...] = (),
) -> list[str]:
    """Texts (whitespace squeezed) of the changed files of every alternative; each parses without new errors."""
    files = {"kernel.h": code} if isinstance(code, str) else dict(code)
    found = []
    for _, changed in rewrites(pattern(name), Program(files, features, findings)):
        for path, text in changed.items():
            assert Source(path, text).errors <= Source(path, files[path]).errors
        found.append(squeeze("\n".join(changed[path] for path in sorted(changed))))
    return found


def squeeze(text: str) -> str:
    """Source without any whitespace: what counts is the order of tokens."""
    return "".join(text.split())


def kernel(body: str, members: str = "", template: bool = True) -> str:
    """A realistic kernel class around a function body."""
    head = "template <typename T>\n" if template else ""
    return f"""#include "kernel_operator.h"
using namespace AscendC;
{head}class Op {{
public:
    __aicore__ inline void Compute(uint32_t step, uint32_t count)
    {{
{body}
    }}

private:
    TPipe *pipe_;
    TQue<TPosition::VECIN, 2> inQueue;
    TQue<TPosition::VECOUT, 2> outQueue;
    TBuf<TPosition::VECCALC> scratch;
    GlobalTensor<T> xGm, yGm;
{members}
}};
"""


def contains(text: str, *parts: str) -> bool:
    return all(squeeze(part) in text for part in parts)
