"""What happens to a worker's proposal: the scope gate, then PatchProposed, or PatchRefused with the reason (law 2).

A refused proposal is kept as its unified diff over the base it names (over nothing, if it names an unknown one).
"""

from __future__ import annotations

from events.types import PatchProposed, PatchRefused
from statemachine import sources
from statemachine.candidate import Candidate
from statemachine.decide import restore_point
from statemachine.integrity.scope import gate
from statemachine.ports import BlobStore, Proposal
from statemachine.state import SessionState


def receive(state: SessionState, proposal: Proposal, blobs: BlobStore) -> PatchProposed | PatchRefused:
    """The event that `proposal` becomes. Its candidate and diff are in the blob store when this returns."""
    number = state.current.number + 1
    files = tuple(sorted(proposal.files))
    known = proposal.base in {state.standing, restore_point(state)}
    base = sources.load(blobs, proposal.base) if known else Candidate({})

    def refused(reason: str, named: tuple[str, ...] = files) -> PatchRefused:
        diff = base.with_files(proposal.files).diff_from(base)
        return PatchRefused(
            attempt=number,
            reason=reason,
            files=named,
            pattern=proposal.pattern,
            proposal=blobs.put(diff.encode("utf-8", "backslashreplace")),
        )

    if not known:
        return refused(f"its base {proposal.base[:19]} is neither the standing candidate nor the checkpoint")
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
