"""From a pattern and a candidate to concrete edits: sites are found, combined, applied, and checked to still parse."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ast_grep_py import Config, SgNode

from kb.cpp import Edit, Site, Source, apply
from kb.facts import Program
from kb.model import Pattern, Template
from kb.rewriters import REGISTRY

_METAVARIABLE = re.compile(r"\$(\$\$)?([A-Z][A-Z0-9_]*)")


def sites_of(pattern: Pattern, program: Program) -> list[Site]:
    """Every place in the candidate where the pattern's rewrite applies."""
    if pattern.rewrite is None:
        return []
    if pattern.rewrite.function is not None:
        return REGISTRY[pattern.rewrite.function](program)
    return [site for template in pattern.rewrite.templates for site in _template_sites(template, program)]


def _template_sites(template: Template, program: Program) -> Iterator[Site]:
    config = Config(rule=template.rule)  # type: ignore[typeddict-item]
    if template.constraints:
        config["constraints"] = template.constraints
    if not any(template.when in source.clean for source in program.sources.values()):
        return
    for source in program.sources.values():
        for node in source.root.find_all(config):
            text = _METAVARIABLE.sub(lambda m, s=source, n=node: _value(s, n, m[2], bool(m[1])), template.fix)  # type: ignore[misc]
            if text != source.original(node):
                line = source.line(node.range().start.index)
                label = template.name or f"{node.text()} -> {text}"
                yield Site(source.path, line, (source.replace(node, text),), label, template.name)


def _value(source: Source, node: SgNode, name: str, several: bool) -> str:
    if several:
        matched = node.get_multiple_matches(name)
        if not matched:
            return ""
        return source.text[source.span(matched[0])[0] : source.span(matched[-1])[1]]
    single = node.get_match(name)
    return source.original(single) if single is not None else ""


def rewrites(pattern: Pattern, program: Program) -> list[tuple[str, dict[str, str]]]:
    """Alternative edits, best first: (what it does, new texts of the changed files).

    Per variant: all sites together, then per file, then one by one; sites that a sanitizer finding points at come
    first. An edit that changes nothing, overlaps, or adds syntax errors is dropped.
    """
    if pattern.rewrite is None:
        return []
    sites = sites_of(pattern, program)
    hot = {(finding.file, finding.line) for finding in program.findings}
    variants = list(dict.fromkeys(site.variant for site in sites))
    plans = [plan for variant in variants for plan in _plans([s for s in sites if s.variant == variant], hot, pattern)]
    plans.sort(key=lambda plan: plan[0])
    found: list[tuple[str, dict[str, str]]] = []
    seen: set[tuple[tuple[str, str], ...]] = set()
    for _, group in plans:
        changed = _apply(program, group)
        key = tuple(sorted(changed.items()))
        if changed and key not in seen:
            seen.add(key)
            found.append((_label(group), changed))
        if len(found) == pattern.rewrite.limit:
            break
    return found


def _plans(
    sites: Sequence[Site], hot: set[tuple[str | None, int | None]], pattern: Pattern
) -> Iterator[tuple[int, list[Site]]]:
    """(rank, group): rank 0 is tried first, so that the first plans of all variants come before second ones."""
    together = pattern.rewrite is not None and pattern.rewrite.together_first
    ordered = sorted(sites, key=lambda site: (site.path, site.line) not in hot)
    singles = [[site] for site in ordered]
    groups: list[list[Site]] = []
    if len(sites) > 1:
        groups.append(list(sites))
        by_file: dict[str, list[Site]] = {}
        for site in sites:
            by_file.setdefault(site.path, []).append(site)
        groups += [group for group in by_file.values() if 1 < len(group) < len(sites)]
    yield from enumerate(groups + singles if together else singles + groups)


def _apply(program: Program, group: Sequence[Site]) -> dict[str, str]:
    edits: list[Edit] = []
    for site in group:
        new = [edit for edit in site.edits if edit not in edits]
        if not any(_overlap(edit, taken) for edit in new for taken in edits):
            edits += new
    changed = apply(program.files, tuple(edits))
    for path, text in changed.items():
        if Source(path, text).errors > program.sources[path].errors:
            return {}
    return {path: text for path, text in changed.items() if text != program.files[path]}


def _overlap(left: Edit, right: Edit) -> bool:
    return left.path == right.path and left.start < right.end and right.start < left.end


def _label(group: Sequence[Site]) -> str:
    first = group[0]
    where = ", ".join(dict.fromkeys(f"{site.path}:{site.line}" for site in group[:4]))
    more = f" and {len(group) - 4} more" if len(group) > 4 else ""
    return f"{first.label} ({where}{more})"
