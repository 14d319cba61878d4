"""Which findings of the device fail a candidate: a named policy, recorded in the session's first event.

`kinds/1` is how sessions were judged before policies had names: a kind blocks, whatever its data came to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from events.types import Configuration, SanitizerFinding

#: On hardware these are luck, whatever the numbers say.
_BLOCKING = ("deadlock", "gm-out-of-bounds", "gm-race", "pipe-hazard", "ub-out-of-bounds", "ub-uninitialised")
#: Kinds that the device can follow: they do no harm where their data stay in scratch memory.
_FOLLOWED = ("gm-out-of-bounds", "ub-uninitialised")
_OTHERS = (
    "api-misuse", "cross-granule", "gm-padding", "queue-leak", "queue-misuse", "ub-capacity", "ub-filler",
    "ub-misaligned",
)  # fmt: skip


@dataclass(frozen=True)
class FindingsPolicy:
    """`blocking`: kinds that fail a candidate. `reaching`: those of them that do so only where their data reach an
    output, or may."""

    name: str
    blocking: tuple[str, ...]
    reaching: tuple[str, ...] = ()

    def blocks(self, finding: SanitizerFinding) -> bool:
        harmless = finding.kind in self.reaching and finding.reaches_output == "no"
        return finding.kind in self.blocking and not harmless

    def blocking_kinds(self, findings: Iterable[SanitizerFinding]) -> tuple[str, ...]:
        """Kinds of the findings that block, sorted."""
        return tuple(sorted({f.kind for f in findings if self.blocks(f)}))


POLICIES = {
    "default": FindingsPolicy("default/1", _BLOCKING, _FOLLOWED),
    "strict": FindingsPolicy("strict/1", tuple(sorted((*_BLOCKING, *_OTHERS)))),
    "none": FindingsPolicy("none/1", ()),
}


def findings_policy(configuration: Configuration) -> FindingsPolicy:
    """The policy that a session recorded: its content decides, not what its name means today."""
    return FindingsPolicy(configuration.findings, configuration.blocking_findings, configuration.blocking_when_reaching)
