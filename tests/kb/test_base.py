"""The base as a whole: files load or say what is wrong, retrieval is explained and deterministic, nothing leaks."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from events.types import Feature, SanitizerFinding
from kb.facts import Program
from kb.knowledge import PatternBase, score
from kb.model import PATTERNS, PatternError, load_patterns, read_pattern
from kb.rewriters import REGISTRY
from kb.rewriting import rewrites
from kb.snapshot import snapshot
from statemachine.ports import Brief
from tests.kb.snippets import kernel

ROOT = Path(__file__).parents[2]
COPY = kernel("        LocalTensor<T> t = outQueue.DeQue<T>();\n        DataCopy(yGm[step], t, count);")


def brief(files: Mapping[str, str], *features: Feature, findings: tuple[SanitizerFinding, ...] = ()) -> Brief:
    return Brief(
        attempt=1, task="t", reference="", wrapper="", base="sha256:" + "0" * 64, sources=files,
        best="sha256:" + "0" * 64, best_sources=files, compact=(), failing=({"dtype": "float32", "shape": [9]},),
        features=features, mechanisms=(), findings=findings, tried=(), budget_left={}, text="",
    )  # fmt: skip


def feature(name: str, strength: float = 1.0) -> Feature:
    return Feature(name=name, strength=strength)


def test_every_pattern_file_loads_and_enough_of_them_can_edit() -> None:
    patterns = load_patterns()
    assert len(patterns) >= 30
    assert sum(pattern.rewrite is not None for pattern in patterns) >= 25
    used = {pattern.rewrite.function for pattern in patterns if pattern.rewrite is not None}
    assert set(REGISTRY) <= used


def broken(tmp_path: Path, **changes: object) -> Path:
    data = yaml.safe_load((PATTERNS / "ALN-01.yaml").read_text())
    data.update(changes)
    path = tmp_path / "ALN-01.yaml"
    path.write_text(yaml.safe_dump(data))
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"features": {"any": {"smells-bad": 1.0}}}, "smells-bad"),
        ({"rewrite": {"function": "no_such"}}, "no rewriter 'no_such'"),
        ({"rewrite": {}}, "either `function` or `templates`"),
        ({"references": []}, "references"),
        ({"surprise": 1}, "surprise"),
        ({"id": "ALN-77"}, "rename the file"),
    ],
)
def test_a_broken_pattern_is_refused_by_name_and_reason(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(PatternError, match=re.escape(message)) as caught:
        read_pattern(broken(tmp_path, **changes))
    assert "ALN-01.yaml" in str(caught.value)
    assert caught.value.exit_code == 2


def test_unreadable_yaml_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PatternError, match="no pattern files"):
        load_patterns(tmp_path)
    (tmp_path / "ALN-01.yaml").write_text("a: [1, 2")
    with pytest.raises(PatternError, match=r"ALN-01\.yaml: not readable"):
        load_patterns(tmp_path)


def test_the_snapshot_changes_with_any_byte_of_a_pattern(tmp_path: Path) -> None:
    copy = tmp_path / "patterns"
    shutil.copytree(PATTERNS, copy)
    before = snapshot(copy)
    assert before == snapshot(PATTERNS)
    path = copy / "VEC-01.yaml"
    path.write_bytes(path.read_bytes() + b"\n")
    assert snapshot(copy) != before


def test_retrieval_ranks_by_what_is_observed_and_says_why() -> None:
    found = PatternBase().retrieve(brief({"kernel.h": COPY}, feature("fails-unaligned"), feature("tail-only", 0.5)))
    assert found[0].id == "ALN-01"
    assert "fails-unaligned (+1.00)" in found[0].why
    assert "DataCopyPad" in found[0].rewrites[0]["kernel.h"]
    scores = [entry.score for entry in found if entry.rewrites]
    assert scores == sorted(scores, reverse=True)


def test_entries_without_an_edit_are_advice_and_come_last() -> None:
    found = PatternBase().retrieve(brief({"kernel.h": COPY}, feature("layout"), feature("tail-only")))
    kinds = [bool(entry.rewrites) for entry in found]
    assert kinds == sorted(kinds, reverse=True)
    advice = next(entry for entry in found if entry.id == "IDX-05")
    assert advice.rewrites == ()
    assert advice.remedy


def test_a_finding_counts_even_when_no_feature_names_it() -> None:
    code = kernel("        Exp(a, b, count);\n        DataCopyPad(yGm, a, how);", "    LocalTensor<float> a, b;")
    line = next(i for i, text in enumerate(code.splitlines(), 1) if "DataCopyPad" in text)
    hazard = SanitizerFinding(kind="pipe-hazard", file="kernel.h", line=line, message="not ordered")
    assert PatternBase().retrieve(brief({"kernel.h": code}, findings=(hazard,)))[0].id == "SYN-01"


def test_evidence_against_lowers_and_a_missing_requirement_excludes() -> None:
    pattern = read_pattern(PATTERNS / "ALN-01.yaml")
    plain = score(pattern, {"tail-only": feature("tail-only")})
    doubted = score(pattern, {"tail-only": feature("tail-only"), "fails-aligned": feature("fails-aligned")})
    assert plain is not None
    assert doubted is not None
    assert doubted[0] < plain[0]
    assert score(read_pattern(PATTERNS / "NUM-09.yaml"), {"all-bad": feature("all-bad")}) is None
    assert score(pattern, {"layout": feature("layout")}) is None


def test_retrieval_is_deterministic() -> None:
    given = brief({"kernel.h": COPY}, feature("fails-unaligned"), feature("first-ok"), feature("size-threshold"))
    assert PatternBase().retrieve(given) == PatternBase().retrieve(given)


@pytest.mark.parametrize("cut", [10, 200, 333, 420, 500])
def test_unfinished_sources_raise_nothing(cut: int) -> None:
    everything = tuple(
        feature(name) for name in ("fails-unaligned", "size-threshold", "overflow", "special-map", "all-bad")
    )
    PatternBase().retrieve(brief({"kernel.h": COPY[:cut], "empty.h": "", "odd.cpp": "}}}((<<<>>>{{"}, *everything))


def test_an_edit_that_would_not_parse_is_dropped() -> None:
    pattern = read_pattern(PATTERNS / "CST-01.yaml")
    assert pattern.rewrite is not None
    template = pattern.rewrite.templates[0].model_copy(update={"fix": "RoundMode::CAST_RINT)("})
    rewrite = pattern.rewrite.model_copy(update={"templates": (template,)})
    code = kernel("        Cast(a, b, RoundMode::CAST_ROUND, count);")
    assert rewrites(pattern, Program({"kernel.h": code}))
    assert rewrites(pattern.model_copy(update={"rewrite": rewrite}), Program({"kernel.h": code})) == []


def test_no_pattern_or_rewriter_knows_a_name_of_an_example() -> None:
    """Whatever an author of the examples named: identifiers and folders, less the words of the device's own headers."""
    folders = {path.name for path in (ROOT / "examples").iterdir() if path.is_dir() and path.name[0].isalpha()}
    invented = set(folders)
    for path in sorted((ROOT / "examples").glob("*/kernel/*")):
        if path.suffix in (".h", ".cpp", ".hpp", ".asc"):
            invented |= _words(path.read_text())
    for path in (ROOT / "adapters" / "ascendc" / "cpu").rglob("*.h"):
        invented -= _words(path.read_text())
    assert len(invented) > 50
    names = {word for word in invented if not word.islower() or "_" in word} | folders
    leaks: dict[str, list[str]] = {}
    for path in PATTERNS.glob("*.yaml"):
        data = yaml.safe_load(path.read_text())
        prose = " ".join(data.pop(field) for field in ("title", "diagnosis", "remedy"))
        leaks[path.name] = sorted((_words(str(data)) & invented) | (_words(prose) & names))
    for path in (ROOT / "kb" / "rewriters").glob("*.py"):
        leaks[path.name] = sorted(_words("\n".join(_literals(path.read_text()))) & invented)
    assert {name: words for name, words in leaks.items() if words} == {}


def _words(text: str) -> set[str]:
    return set(re.findall(r"\b[A-Za-z_]\w{5,}\b", text))


def _literals(python: str) -> list[str]:
    nodes = ast.walk(ast.parse(python))
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
