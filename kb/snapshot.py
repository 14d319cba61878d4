"""The digest of a knowledge base: a session's log names the frozen set of entries and rewriters it was run with."""

from __future__ import annotations

from pathlib import Path

import orjson

from kb.model import PATTERNS
from statemachine.candidate import digest_bytes

_CODE = Path(__file__).parent


def snapshot(directory: Path = PATTERNS) -> str:
    """`sha256:...` over every pattern file and every module that can turn one into an edit (name and bytes)."""
    files = {f"patterns/{path.name}": path for path in sorted(directory.glob("*.yaml"))}
    files |= {path.relative_to(_CODE).as_posix(): path for path in sorted(_CODE.rglob("*.py"))}
    manifest = {name: digest_bytes(path.read_bytes()) for name, path in files.items()}
    return digest_bytes(orjson.dumps(manifest, option=orjson.OPT_SORT_KEYS))
