"""The blobs behind an event, followed one step further than `events.types.blob_refs`: a candidate is a set of files.

A candidate's own blob is its manifest, canonical JSON `{path: digest of the file}`; each file is a blob too. `verify`
goes by this to say whether everything an event speaks of can still be produced.
"""

from __future__ import annotations

from functools import cache

import orjson
from pydantic import BaseModel

#: The names under which events of the catalogue speak of a candidate.
CANDIDATE_FIELDS = ("candidate", "base", "restored", "best")


def candidates_of(event: BaseModel) -> tuple[str, ...]:
    """Digests of the candidates that `event` names, in the order of CANDIDATE_FIELDS."""
    names = _fields(type(event))
    return tuple([d for name in names if isinstance(d := getattr(event, name), str)]) if names else ()


@cache
def _fields(kind: type[BaseModel]) -> tuple[str, ...]:
    return tuple(name for name in CANDIDATE_FIELDS if name in kind.model_fields)


def files_of(manifest: bytes) -> dict[str, str]:
    """The files of a candidate, path to digest. Raises ValueError when the bytes are not a manifest."""
    entries = orjson.loads(manifest)
    if not isinstance(entries, dict) or not all(isinstance(digest, str) for digest in entries.values()):
        raise ValueError("it is not a JSON object of path to digest")
    return entries
