"""Candidates in the blob store: a manifest blob (its digest is the candidate's) and one blob per file."""

from __future__ import annotations

from events.blobs import files_of
from statemachine.candidate import Candidate
from statemachine.ports import BlobStore, VerificationError


def store(blobs: BlobStore, candidate: Candidate) -> str:
    """Put a candidate's files and manifest; returns the candidate's digest. Storing twice is harmless."""
    for text in candidate.files.values():
        blobs.put(text.encode())
    return blobs.put(candidate.manifest)


def load(blobs: BlobStore, digest: str) -> Candidate:
    """The candidate `digest` names. Raises VerificationError if the manifest is not one."""
    try:
        manifest = files_of(blobs.get(digest))
    except ValueError as error:
        raise VerificationError(
            f"blob {digest} is no candidate ({error}): the log is damaged, run `opmend verify`"
        ) from error
    return Candidate({path: blobs.get(name).decode() for path, name in manifest.items()})
