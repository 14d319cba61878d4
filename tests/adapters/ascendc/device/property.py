"""What the property tests share: a call as kernels/property.h reads it, the image it works on, and the walk of one
instruction over it in numpy.

A model is given the whole image as bytes and returns the image that the instruction has to leave: what it must not
touch is checked with what it must write. Models know the vendor's documentation, not the device's headers.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.adapters.ascendc.device.harness import Array, Device

#: Deterministic: the same examples in every run, no database, no clock.
PROPERTY = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)

IMAGE = 20 * 1024
BLOCK = 32
F32, F16, BF16, I16, U16, I32, U32, I8, U8, I64 = DTYPES = [
    np.dtype(t)
    for t in (
        np.float32,
        np.float16,
        ml_dtypes.bfloat16,
        np.int16,
        np.uint16,
        np.int32,
        np.uint32,
        np.int8,
        np.uint8,
        np.int64,
    )
]
COUNT, MASK_COUNT, MASK_BITS, OUTER_BITS, OUTER_COUNTER, COUNTER_BITS = FORMS = range(6)


class Call(ctypes.Structure):
    """Mirrors `property::Call`."""

    _fields_ = [
        *((name, ctypes.c_int32) for name in ("op", "dtype", "other", "form", "count", "repeat")),
        ("blk", ctypes.c_int32 * 3),
        ("rep", ctypes.c_int32 * 3),
        ("at", ctypes.c_uint32 * 4),
        ("p", ctypes.c_int32 * 8),
        ("bytes", ctypes.c_uint32),
        ("bits", ctypes.c_uint64 * 2),
        ("scalar", ctypes.c_double),
    ]

    def __repr__(self) -> str:
        def plain(value: Any) -> Any:
            return list(value) if isinstance(value, ctypes.Array) else value

        return "Call(" + ", ".join(f"{field[0]}={plain(getattr(self, field[0]))}" for field in self._fields_) + ")"


class Example(NamedTuple):
    """One call and the image it gets."""

    call: Call
    image: Array

    def __repr__(self) -> str:
        return repr(self.call)


def code(dtype: np.dtype) -> int:
    return DTYPES.index(dtype)


def is_float(dtype: np.dtype) -> bool:
    return dtype in (F32, F16, BF16)


# ------------------------------------------------------------------------------------------------ values


def fill(seed: int, profile: str, dtype: np.dtype) -> Array:
    """An image of values of `dtype`: any bits, small numbers with ties between them, or numbers of every size."""
    rng = np.random.default_rng(seed)
    count = IMAGE // dtype.itemsize
    if profile == "bits":
        return rng.integers(0, 256, IMAGE, dtype=np.uint8)
    if profile == "small":
        values = rng.integers(-12, 13, count) / (2.0 if is_float(dtype) else 1.0)
    elif is_float(dtype):
        values = rng.standard_normal(count) * 10.0 ** rng.integers(-6, 4, count)
    else:
        limits = np.iinfo(dtype)
        edges = np.array([0, 1, limits.max, limits.max - 1, limits.min, limits.min + 1], dtype=dtype)
        values = np.where(rng.random(count) < 0.4, rng.choice(edges, count), rng.integers(0, 100, count).astype(dtype))
    if not is_float(dtype):
        values = values.astype(np.int64)
        values = np.abs(values) if dtype.kind == "u" else values
    with np.errstate(all="ignore"):
        return values.astype(dtype).view(np.uint8)[:IMAGE].copy()


def get(image: Array, at: Array, dtype: np.dtype) -> Array:
    """The elements that start at the byte addresses `at`."""
    return np.ascontiguousarray(image[at[:, None] + np.arange(dtype.itemsize)]).view(dtype)[:, 0]


def put(image: Array, at: Array, values: Array) -> None:
    image[at[:, None] + np.arange(values.itemsize)] = values.view(np.uint8).reshape(len(at), values.itemsize)


# ------------------------------------------------------------------------------------------------ the walk

Operation = Callable[..., Array]


def lanes_of(*dtypes: np.dtype) -> int:
    return 256 // max(t.itemsize for t in dtypes)


def addresses(start: int, dtype: np.dtype, lanes: int, block: int, first: int) -> Array:
    """Where the lanes of one repeat lie; `block` is the block stride, `first` the repeat's first block."""
    lane, width = np.arange(lanes), BLOCK // dtype.itemsize
    found: Array = start + (first + lane // width * block) * BLOCK + lane % width * dtype.itemsize
    return found


def active_lanes(call: Call, repeat: int, lanes: int) -> Array:
    """Which lanes of a repeat take part, by the form of the call."""
    lane = np.arange(lanes)
    if call.form in (MASK_BITS, OUTER_BITS):
        bits = call.bits[0] | call.bits[1] << 64
        return np.array([bits >> int(i) & 1 for i in lane], bool)
    first = 0 if call.form == MASK_COUNT else repeat * lanes
    return np.asarray(first + lane < call.count)


def repeats_of(call: Call, lanes: int) -> int:
    counted = call.form in (COUNT, OUTER_COUNTER, COUNTER_BITS)
    return int(-(-call.count // lanes) if counted else call.repeat)


def walk(
    call: Call,
    image: Array,
    dst: np.dtype,
    sources: Sequence[np.dtype],
    operation: Operation,
    reads_dst: bool = False,
) -> Array:
    """The image after dst = operation(sources...), one repeat after another, each reading all before it writes;
    `reads_dst`: the old destination is the operation's last argument.
    """
    after = image.copy()
    operands = [dst, *sources]
    lanes = lanes_of(*operands)
    contiguous = call.form == COUNT
    for repeat in range(repeats_of(call, lanes)):
        active = active_lanes(call, repeat, lanes)
        places = []
        for index, dtype in enumerate(operands):
            step = lanes * dtype.itemsize // BLOCK if contiguous else call.rep[index]
            block = 1 if contiguous else call.blk[index]
            places.append(addresses(call.at[index], dtype, lanes, block, repeat * step)[active])
        values = [get(after, at, dtype) for at, dtype in zip(places[1:], sources, strict=True)]
        values += [get(after, places[0], dst)] if reads_dst else []
        with np.errstate(all="ignore"):
            result = operation(*values)
        put(after, places[0], np.ascontiguousarray(result).astype(dst, copy=False))
    return after


# ------------------------------------------------------------------------------------------------ strategies

PROFILES = ("bits", "small", "wide")
seeds = st.integers(0, 2**32 - 1)


def place(draw: Any, call: Call, sizes: Sequence[int], fixed: dict[int, int] | None = None) -> None:
    """Puts operands of so many bytes each into the image, apart, in any order; `fixed` maps one onto another."""
    order = draw(st.permutations([i for i in range(len(sizes)) if i not in (fixed or {})]))
    room = IMAGE - sum(-(-sizes[i] // BLOCK) * BLOCK for i in order)
    assert room >= 0, "the operands do not fit the image"
    at = 0
    for index in order:
        gap = draw(st.integers(0, min(3, room // BLOCK)))
        room -= gap * BLOCK
        at += gap * BLOCK
        call.at[index] = at
        at += -(-sizes[index] // BLOCK) * BLOCK
    for index, other in (fixed or {}).items():
        call.at[index] = call.at[other]


def draw_mask(draw: Any, call: Call, forms: Sequence[int], lanes: int) -> None:
    """Form, count or mask, and repeats."""
    call.form = draw(st.sampled_from(list(forms)))
    call.repeat = draw(st.integers(0 if call.form != COUNT else 1, 5))
    if call.form in (COUNT, OUTER_COUNTER, COUNTER_BITS):
        call.count = draw(st.integers(1, 5 * lanes))
        call.bits[0], call.bits[1] = call.count, 0
    elif call.form == MASK_COUNT:
        call.count = draw(st.integers(1, lanes))
    else:
        words = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from([1, 2**63, 2**64 - 1]))
        call.bits[0], call.bits[1] = draw(words), draw(words) if lanes > 64 else 0


def strided_call(draw: Any, op: int, dst: np.dtype, sources: Sequence[np.dtype], forms: Sequence[int] = FORMS) -> Call:
    """A call with any mask, strides (0 included where that makes sense) and places."""
    call = Call(op=op, dtype=code(dst), other=code(sources[0]) if sources else 0, bytes=IMAGE)
    operands = [dst, *sources]
    lanes = lanes_of(*operands)
    draw_mask(draw, call, forms, lanes)
    repeats = max(repeats_of(call, lanes), 1)
    sizes = []
    for index, dtype in enumerate(operands):
        blocks = lanes * dtype.itemsize // BLOCK
        if call.form == COUNT:
            sizes.append(repeats * blocks * BLOCK)
            continue
        call.blk[index] = draw(st.sampled_from([1, 1, 2, 3] if index == 0 else [1, 1, 2, 3, 0]))
        call.rep[index] = draw(st.sampled_from([blocks, 0, 1, blocks + 1, 2 * blocks, 17]))
        sizes.append(((repeats - 1) * call.rep[index] + (blocks - 1) * call.blk[index] + 1) * BLOCK)
    same = [i for i, t in enumerate(sources, 1) if t == dst]
    fixed: dict[int, int] = {}
    if same and draw(st.booleans()):
        onto = draw(st.sampled_from(same))
        fixed, sizes[onto] = {0: onto}, max(sizes[0], sizes[onto])
    place(draw, call, sizes, fixed)
    return call


# ------------------------------------------------------------------------------------------------ running


def run(device: Device, library: str, family: str, example: Example, clean: bool = True) -> Array:
    """The image that the device leaves. `clean` asserts that it has nothing to say about the call."""
    device.reset()
    after = example.image.copy()
    address = device.register(after)
    function = getattr(device.kernels(library), family)
    failed = function(address, ctypes.byref(example.call))
    report = device.report()
    assert failed == 0, report.error
    assert not clean or report.findings == [], [(f.kind, f.api, f.message) for f in report.findings]
    return after


def same_bytes(got: Array, want: Array, dtype: np.dtype | None = None, *, signed_zero: bool = True) -> None:
    """Equal byte for byte; elements of a floating `dtype` may differ in which NaN they are (and in the sign of 0)."""
    if dtype is not None and is_float(dtype):
        got, want = (_canonical(image, dtype, signed_zero) for image in (got, want))
    if not np.array_equal(got, want):
        where = np.flatnonzero(got != want)
        first = int(where[0]) // BLOCK * BLOCK
        raise AssertionError(
            f"{len(where)} bytes differ, the first at {int(where[0])}; that block: "
            f"got {got[first : first + BLOCK].tobytes().hex()}, want {want[first : first + BLOCK].tobytes().hex()}"
        )


def _canonical(image: Array, dtype: np.dtype, signed_zero: bool) -> Array:
    values = image.view(dtype).copy()
    values[np.isnan(values)] = np.nan
    if not signed_zero:
        values[values == 0] = 0
    return values.view(np.uint8)


def close_values(got: Array, want: Array, dtype: np.dtype, rtol: float) -> Array:
    """`want` with the elements of `got` that are close to it: for instructions documented as approximate."""
    a, b = got.view(dtype).astype(np.float64), want.view(dtype).astype(np.float64)
    with np.errstate(all="ignore"):
        near = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= rtol * np.abs(b) + np.finfo(np.float32).tiny)
    return np.where(near, got.view(dtype), want.view(dtype)).view(np.uint8)
