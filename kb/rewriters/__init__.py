"""Rewriters: what a template cannot say. Each is a pure function from a Program to the sites where it applies.

A pattern file names its rewriter by the function's name (`function: pad_copies`); `REGISTRY` is the whole list.
"""

from __future__ import annotations

from collections.abc import Callable

from kb.cpp import Site
from kb.facts import Program
from kb.rewriters.buffers import cast_descending, disable_atomics, free_later, zero_accumulator
from kb.rewriters.copies import block_length_unit, pad_copies, stride_gap
from kb.rewriters.lengths import aligned_offset, nominal_offset, padded_pitch, unpadded_count
from kb.rewriters.masks import compare_whole_repeats, gather_byte_offsets
from kb.rewriters.neutral import neutral_padding
from kb.rewriters.numeric import epsilon_inside, max_before_exp, nan_keeping_select, scale_first
from kb.rewriters.numeric_divisor import divisor_by_one
from kb.rewriters.repeats import chunk_repeats, divide_once, split_last_repeat
from kb.rewriters.splits import guard_empty_tail, round_count_up, split_remainder
from kb.rewriters.sync import barrier_at_findings, barrier_between_pipes, missing_queue_step
from kb.rewriters.widths import widen_counters, widen_products

Rewriter = Callable[[Program], list[Site]]

REGISTRY: dict[str, Rewriter] = {
    function.__name__: function
    for function in (
        aligned_offset, barrier_at_findings, barrier_between_pipes, block_length_unit, cast_descending, chunk_repeats,
        compare_whole_repeats, disable_atomics, divide_once, divisor_by_one, epsilon_inside, free_later,
        gather_byte_offsets, guard_empty_tail, max_before_exp, missing_queue_step, nan_keeping_select,
        neutral_padding, nominal_offset, pad_copies, padded_pitch, round_count_up, scale_first, split_last_repeat,
        split_remainder, stride_gap, unpadded_count, widen_counters, widen_products, zero_accumulator,
    )
}  # fmt: skip
