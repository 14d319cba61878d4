"""What happens to a worker's proposal: the scope gate, then PatchProposed, or PatchRefused with the reason (law 2)."""

from __future__ import annotations

import orjson

from events.types import PatchProposed, PatchRefused
from statemachine import sources
from statemachine.decide import restore_point
from statemachine.integrity.scope import gate
from statemachine.ports import BlobStore, Proposal
from statemachine.state import SessionState


def receive(state: SessionState, proposal: Proposal, blobs: BlobStore) -> PatchProposed | PatchRefused:
    """The event that `proposal` becomes. Its candidate and diff are in the blob store when this returns."""
    number = state.current.number + 1
    files = tuple(sorted(proposal.files))

    def refused(reason: str, named: tuple[str, ...] = files) -> PatchRefused:
        text = orjson.dumps({k: v.encode("utf-8", "backslashreplace").decode() for k, v in proposal.files.items()})
        return PatchRefused(
            attempt=number, reason=reason, files=named, pattern=proposal.pattern, proposal=blobs.put(text)
        )

    if proposal.base not in {state.standing, restore_point(state)}:
        return refused(f"its base {proposal.base[:19]} is neither the standing candidate nor the checkpoint")
    base = sources.load(blobs, proposal.base)
    if denied := gate(base.files, proposal.files, scope=state.opened.configuration.scope):
        return refused(denied.reason, denied.files or files)
    candidate = base.with_files(proposal.files)
    twin = next((a.number for a in state.attempts if a.candidate == candidate.digest), None)
    if twin is not None:
        return refused(f"it gives the same sources as attempt {twin}, which is already judged")
    return PatchProposed(
        attempt=number,
        base=proposal.base,
        candidate=sources.store(blobs, candidate),
        diff=blobs.put(candidate.diff_from(base).encode()),
        files=candidate.changed_from(base),
        pattern=proposal.pattern,
        rationale=proposal.rationale,
    )
