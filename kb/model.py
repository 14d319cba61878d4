"""A repair pattern as a reviewable file: what it looks like, what it means, what to do, where it is known from.

Files live in kb/patterns/<ID>.yaml. Everything is validated on loading; a broken file is refused with its path and the
reason (`PatternError`), never skipped. How to write one: docs/patterns.md.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, ValidationError, field_validator, model_validator

from events.types import Frozen
from kb.rewriters import REGISTRY
from statemachine.forensics.vocabulary import known
from statemachine.ports import UsageError

PATTERNS = Path(__file__).parent / "patterns"


class PatternError(UsageError):
    """A pattern file cannot be used: which one, and why."""


class Preconditions(Frozen):
    """When a pattern fits. `required`: all must be seen. `any`, `against`: weights of features for and against it.

    `prior` in [0, 1] is how often the class occurs among near-misses: it orders patterns that nothing speaks for.
    """

    required: tuple[str, ...] = ()
    any: dict[str, float] = Field(default_factory=dict)
    against: dict[str, float] = Field(default_factory=dict)
    prior: float = Field(0.2, ge=0, le=1)

    @field_validator("required", "any", "against")
    @classmethod
    def _in_vocabulary(cls, names: Any) -> Any:
        unknown = sorted(name for name in names if not known(name))
        if unknown:
            raise ValueError(
                f"not in the forensics vocabulary: {', '.join(unknown)} (statemachine/forensics/vocabulary.py)"
            )
        return names


class Template(Frozen):
    """An ast-grep rule (`rule`, optional `constraints`) and the text that replaces the match, with `$META` variables.

    `name`: template variants of one pattern are never mixed. `when`: applies only if some file of the
    candidate contains this text.
    """

    name: str = ""
    rule: dict[str, Any]
    constraints: dict[str, Any] = Field(default_factory=dict)
    fix: str
    when: str = ""


class Rewrite(Frozen):
    """The structural edit: a rewriter of kb/rewriters by name, or templates. Sites are also offered one by one."""

    function: str | None = None
    templates: tuple[Template, ...] = ()
    limit: int = Field(8, ge=1, le=32)
    together_first: bool = True

    @model_validator(mode="after")
    def _one_of(self) -> Rewrite:
        if (self.function is None) == (not self.templates):
            raise ValueError("a rewrite has either `function` or `templates`")
        if self.function is not None and self.function not in REGISTRY:
            raise ValueError(f"no rewriter {self.function!r}; known: {', '.join(sorted(REGISTRY))}")
        return self


class Sketch(Frozen):
    """The smallest picture of the fault and its repair, in the pattern's own words."""

    before: str
    after: str


class Provenance(Frozen):
    """Where an entry comes from (what the paper's reviewers found missing): source, date, operator, exclusion rule."""

    source_kind: Literal["public-incident", "public-guide", "vendor-documentation", "classic", "repair-history"]
    collected_at: date
    operator: str | None = None
    exclusion: str = (
        "holds no name, literal or code of an example; weights and rewriters were tuned on runs of this repository's "
        "examples and of two public tasks with planted defects, so results on those are in-sample"
    )


class Pattern(Frozen):
    """One entry of the knowledge base."""

    id: str = Field(pattern=r"^[A-Z]{3}-\d{2}$")
    title: str = Field(min_length=8)
    dsl: Literal["ascendc", "all"] = "ascendc"
    features: Preconditions
    findings: tuple[str, ...] = ()
    diagnosis: str
    remedy: str
    sketch: Sketch
    rewrite: Rewrite | None = None
    references: tuple[str, ...] = Field(min_length=1)
    provenance: Provenance


def read_pattern(path: Path) -> Pattern:
    """One pattern file, validated; PatternError names the file and what is wrong with it."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise PatternError(f"{path.name}: not readable as YAML: {error}. Fix the file or take it out.") from error
    try:
        pattern = Pattern.model_validate(data)
    except ValidationError as error:
        lines = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in error.errors())
        raise PatternError(f"{path.name}: {lines}. See docs/patterns.md for the format.") from error
    if pattern.id != path.stem:
        raise PatternError(f"{path.name}: holds the id {pattern.id}; rename the file to {pattern.id}.yaml.")
    return pattern


def load_patterns(directory: Path = PATTERNS) -> tuple[Pattern, ...]:
    """All patterns of a directory in order of their ids. PatternError if there is none, or if any is broken."""
    paths = sorted(directory.glob("*.yaml"))
    if not paths:
        raise PatternError(f"no pattern files (*.yaml) in {directory}; point to a knowledge base or reinstall.")
    return tuple(read_pattern(path) for path in paths)
