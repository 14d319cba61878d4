"""Rewriter of divisors that are off by one: n against n - 1 (variance with or without correction)."""

from __future__ import annotations

import re

from kb.cpp import Site, bare, binary_operands, last_name
from kb.facts import Program

_FLOATING = re.compile(r"\bfloat\b|\bdouble\b|\d\.\d|\bhalf\b")


def divisor_by_one(program: Program) -> list[Site]:
    """A float division by n -> by n - 1, or the reverse; the direction the observed ratio speaks for comes first."""
    ratio = program.features["scale-factor"].facts.get("ratio", 1.0) if "scale-factor" in program.features else 1.0
    sites: list[Site] = []
    for source in program.sources.values():
        for node in source.root.find_all(kind="binary_expression"):
            parts = binary_operands(node)
            if parts is None or parts[1] != "/" or not _FLOATING.search(node.text()):
                continue
            divisor = bare(parts[2])
            inner = binary_operands(divisor)
            line = source.line(node.range().start.index)
            if inner is not None and inner[1] == "-" and program.value(inner[2]) == 1:
                edit = source.replace(divisor, source.original(inner[0]))
                sites.append(Site(source.path, line, (edit,), "divide by n", "n"))
            elif last_name(divisor) is not None and program.value(divisor) is None:
                edit = source.replace(divisor, f"({source.original(divisor)} - 1)")
                sites.append(Site(source.path, line, (edit,), "divide by n - 1", "n - 1"))
    wanted = "n - 1" if ratio < 1 else "n"
    return sorted(sites, key=lambda site: site.variant != wanted)
