"""Detectors of where the wrong elements lie: tail, granules, period, rows, shifts, axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from events.types import Feature
from statemachine.forensics.arrays import agree, as_float
from statemachine.forensics.view import View, feature

#: Elements looked at for a period.
_WINDOW = 1 << 20


def all_bad(view: View) -> Feature | None:
    share = view.index.size / view.size
    return feature("all-bad", share, f"{share:.1%} of the elements are wrong", share=share) if share >= 0.98 else None


def tail_only(view: View) -> Feature | None:
    first, count = int(view.index[0]), view.index.size
    if view.rows > 1 and view.cols > 1:
        columns = view.index % view.cols
        start = int(columns.min())
        hit = int(np.count_nonzero(view.row_counts))
        width = view.cols - start
        if start > 0 and width <= view.cols // 2 and hit > view.rows // 2 and count >= hit * width * 0.3:
            last = start >= (view.cols - 1) // view.granule * view.granule
            return feature(
                "tail-only", 1.0 if last else 0.8, f"only the last {width} of {view.cols} columns, in {hit} rows",
                tail=width, start=start, per_row=1, rows=hit,
            )  # fmt: skip
    width = view.size - first
    if first > 0 and width <= view.size // 2 and count >= width * 0.3:
        last = first >= (view.size - 1) // view.granule * view.granule
        return feature(
            "tail-only", 1.0 if last else 0.8, f"only the last {width} of {view.size} elements",
            tail=width, start=first, per_row=0,
        )  # fmt: skip
    return None


def granule_edge(view: View) -> Feature | None:
    if view.rows < 2 or (view.cols % view.granule) == 0:
        return None
    base = np.arange(0, view.size, view.granule, dtype=np.int64)
    ends = np.minimum(base + view.granule - 1, view.size - 1)
    straddles = (base // view.cols) != (ends // view.cols)
    background = float(straddles.mean())
    inside = float(straddles[view.index // view.granule].mean())
    if inside < 0.95 or background > 0.6:
        return None
    return feature(
        "granule-edge", inside - background / 2, "bad elements share a 32-byte granule with the neighbouring row",
        inside=inside, background=background,
    )  # fmt: skip


def period(view: View) -> Feature | None:
    if view.index.size >= 0.98 * view.size:
        return None
    begin = int(view.index[0]) // _WINDOW * _WINDOW
    index = view.index[: np.searchsorted(view.index, begin + _WINDOW)]
    size = min(view.size, begin + _WINDOW) - begin
    best: tuple[float, int, int] | None = None
    candidates = {8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, view.cols, 2 * view.cols}
    for period in sorted(candidates):
        if period < 2 or size < 2 * period:
            continue
        hit = np.bincount(index % period, minlength=period)
        classes = int(np.count_nonzero(hit))
        covered = classes / period
        density = index.size / (classes * size / period)
        score = density * (1 - covered)
        if covered <= 0.75 and density >= 0.8 and (best is None or score > best[0] + 0.05):
            best = (score, period, classes)
    if best is None:
        return None
    score, period, classes = best
    detail = f"the bad mask repeats every {period} elements ({classes} of them bad)"
    return feature("period", 0.5 + score / 2, detail, period=period, width=classes)


def first_ok(view: View) -> Feature | None:
    first = int(view.index[0])
    if view.rows > 1:
        hit = np.flatnonzero(view.row_counts)
        row = int(hit[0])
        share = hit.size / (view.rows - row)
        several = hit.size >= 2 or view.rows == 2
        if row > 0 and share >= 0.8 and several:
            return feature(
                "first-ok", share, f"rows 0..{row - 1} are right, {hit.size} of the {view.rows - row} after them wrong",
                start=row * view.cols, row=row, rows=view.rows,
            )  # fmt: skip
    rest = view.size - first
    share = view.index.size / rest
    if first > 0 and share >= 0.5 and rest > view.granule:
        return feature(
            "first-ok", share, f"elements 0..{first - 1} are right, {share:.0%} of the rest wrong", start=first
        )
    return None


def row_local(view: View) -> Feature | None:
    if view.rows < 2 or view.cols < 2:
        return None
    hit = np.flatnonzero(view.row_counts)
    if hit.size == view.rows:
        return None
    full = int((view.row_counts[hit] >= 0.9 * view.cols).sum())
    if full < 0.9 * hit.size:
        return None
    last = float(int(hit[0]) >= view.rows - hit.size)
    return feature(
        "row-local", full / hit.size, f"{hit.size} of {view.rows} rows are wrong as a whole, the others are right",
        rows_bad=hit.size, rows=view.rows, trailing=last,
    )  # fmt: skip


def shift(view: View) -> Feature | None:
    where = view.probe
    actual, _ = view.pair(where)
    if where.size < 4 or np.unique(actual[np.isfinite(actual)]).size < 4:
        return None
    offsets = sorted({*range(-64, 65), view.cols, -view.cols, 128, -128, 256, -256}, key=lambda k: (abs(k), k))
    rows = where // view.cols
    best: tuple[float, str, int] = (0.0, "", 0)
    for kind in ("k", "drift") if view.rows > 2 else ("k",):
        for k in offsets:
            if k == 0 or (kind == "drift" and abs(k) > 64):
                continue
            source = where + (k if kind == "k" else k * rows)
            inside = (source >= 0) & (source < view.size)
            if inside.sum() < max(4, where.size // 4):
                continue
            share = float(agree(actual[inside], as_float(view.expected[source[inside]])).mean())
            if share > best[0] + 0.02:
                best = (share, kind, k)
    share, kind, k = best
    if share < 0.8:
        return None
    text = f"actual[i] equals expected[i{k:+d}]" if kind == "k" else f"row r reads {k:+d}*r elements beside its data"
    return feature("shift", share, text, **{kind: float(k), "rows_of_k": k / view.cols})


def layout(view: View) -> Feature | None:
    if len(view.shape) < 2 or min(view.shape[-2:]) < 2:
        return None
    expected = view.expected.reshape(view.shape)
    swapped = np.ascontiguousarray(np.swapaxes(expected, -1, -2)).reshape(-1)
    where = view.probe
    actual, _ = view.pair(where)
    if np.unique(actual[np.isfinite(actual)]).size < 4:
        return None
    share = float(agree(actual, as_float(swapped[where])).mean())
    return feature("layout", share, "actual is expected with its last two axes swapped") if share >= 0.95 else None


def scattered(view: View) -> Feature | None:
    share = view.index.size / view.size
    if share > 0.3 or view.size < 64 or view.index.size < 2:
        return None
    halves = view.mask[: view.size // 2].sum() / view.index.size
    return feature("scattered", 1 - share, f"{share:.2%} of the elements", share=share) if 0.2 < halves < 0.8 else None


#: In the order in which equally strong features are listed.
DETECTORS: tuple[Callable[[View], Feature | None], ...] = (
    all_bad,
    tail_only,
    granule_edge,
    period,
    first_ok,
    row_local,
    shift,
    layout,
    scattered,
)
