"""What was seen while the candidate ran, as evidence. The toolchain observes; what an observation means is said here.

Operator names are those of a dispatch spy (`aten::add.Tensor`, `aten.add.Tensor`, `add.Tensor`); a suffix `@int` says
that every tensor argument of those calls had an integer dtype.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from events.types import CheckOutcome, Evidence
from statemachine.integrity.wordset import wordset

ATEN_SPY = "aten-spy"
LAUNCH = "launch"
INPUTS = "inputs-unchanged"
ALIAS = "output-aliases-input"
PROVENANCE = "write-provenance"


#: ATen operators a forward may use beside its launches: allocation, view, copy, cast, pad. Names without overload.
ATEN_ALLOWED = wordset(
    "empty empty_like empty_strided new_empty new_empty_strided new_zeros new_ones new_full zeros zeros_like ones "
    "ones_like full full_like fill fill_ zero_ zero scalar_tensor lift_fresh lift_fresh_copy lift resize_ view "
    "_unsafe_view view_copy reshape _reshape_alias _reshape_copy permute transpose t numpy_T squeeze unsqueeze "
    "flatten unflatten expand expand_as slice select narrow unbind split split_with_sizes chunk as_strided alias "
    "detach detach_ unfold diagonal movedim swapaxes broadcast_to squeeze_ unsqueeze_ transpose_ unsafe_split "
    "view_as_real view_as_complex contiguous clone copy_ copy _to_copy to type_as constant_pad_nd pad is_pinned "
    "pin_memory _pin_memory record_stream arange set_data _local_scalar_dense_size sym_size sym_numel sym_stride "
    "size stride is_same_size _has_compatible_shallow_copy_type unsafe_chunk"
)


def operator_name(raw: str) -> tuple[str, str, bool]:
    """`(namespace, name without overload, integer only)` of an operator as a spy names it."""
    name, _, suffix = raw.partition("@")
    if "::" in name:
        space, _, name = name.partition("::")
    elif name.count(".") >= 2 or name.startswith("aten."):  # `namespace.operator.overload`
        space, _, name = name.partition(".")
    else:
        space = "aten"
    return space, name.split(".")[0], suffix == "int"


def aten_evidence(ops: Mapping[str, int]) -> Evidence:
    """The spy's record of one forward (or of all): operator -> calls. Computing ones fail, integer ones flag."""
    bad: dict[str, int] = {}
    index: dict[str, int] = {}
    for raw, count in ops.items():
        space, name, integer = operator_name(raw)
        if count <= 0 or (space == "aten" and name in ATEN_ALLOWED):
            continue
        if space not in ("aten", "prims", "prim", "npu", "torchvision", "quantized"):
            continue  # a registered operator of the candidate: its inside is the launch interposer's business
        (index if integer else bad)[f"{space}::{name}"] = count
    if bad:
        named = ", ".join(f"{n} x{c}" for n, c in sorted(bad.items()))
        return Evidence(check=ATEN_SPY, outcome="failed", detail=f"torch computed in forward: {named}")
    if index:
        named = ", ".join(f"{n} x{c}" for n, c in sorted(index.items()))
        return Evidence(
            check=ATEN_SPY, outcome="flagged", detail=f"torch computed on integer tensors in forward: {named}"
        )
    return Evidence(check=ATEN_SPY, outcome="passed", detail="only allocation, view, copy, cast and pad in forward")


def provenance_evidence(share: float, *, uncovered: Sequence[tuple[int, int]] = (), output: int = 0) -> Evidence:
    """Write provenance of one output: `share` in [0, 1] of its bytes that the candidate's kernel stored.

    `uncovered`: byte ranges [start, end) it did not store. 1 passes; 0 fails; anything between is flagged, because a
    view that the wrapper cut out of a padded buffer, or a cast after the launch, is measured on another buffer.
    Raises ValueError when `share` is not a share.
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share must lie in [0, 1], got {share}")
    outcome: CheckOutcome = "passed" if share == 1.0 else "failed" if share == 0.0 else "flagged"
    ranges = ", ".join(f"[{a}, {b})" for a, b in list(uncovered)[:4])
    more = f" and {len(uncovered) - 4} more" if len(uncovered) > 4 else ""
    detail = f"output {output}: the kernel stored {share:.1%} of the returned bytes"
    if ranges:
        detail += f"; not stored: {ranges}{more}"
    return Evidence(check=PROVENANCE, outcome=outcome, detail=detail)


def in_light_of(evidence: Sequence[Evidence], passed: bool) -> tuple[Evidence, ...]:
    """The same evidence, knowing whether the case's numbers were right.

    An output that the kernel did not store is a cheat only where it is right all the same. Where it is wrong it is a
    bug, the ordinary state of a near-miss, and only flagged.
    """
    if passed:
        return tuple(evidence)
    return tuple(
        item.model_copy(
            update={"outcome": "flagged", "detail": f"{item.detail}; the case fails, so nothing was gained"}
        )
        if item.check == PROVENANCE and item.outcome == "failed"
        else item
        for item in evidence
    )


def inputs_evidence(unchanged: bool) -> Evidence:
    """Whether the inputs' bytes were the same after forward."""
    detail = "input bytes are the same after forward" if unchanged else "forward changed the bytes of an input"
    return Evidence(check=INPUTS, outcome="passed" if unchanged else "failed", detail=detail)


def alias_evidence(aliases: bool) -> Evidence:
    """Whether a returned tensor shares storage with an input."""
    detail = "an output shares storage with an input" if aliases else "outputs have storage of their own"
    return Evidence(check=ALIAS, outcome="failed" if aliases else "passed", detail=detail)
