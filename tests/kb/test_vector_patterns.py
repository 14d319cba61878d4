"""Patterns of vector repeats, reductions, tails and buffers: where they apply and where they stay silent."""

from __future__ import annotations

from tests.kb.snippets import alternatives, contains, kernel

TENSORS = "    LocalTensor<float> a, b, c, work;\n    uint32_t rows_, cols_, colsPad_, loops_, tail_, tile_;"


def test_many_repeats_become_a_count_or_a_loop() -> None:
    body = """        uint8_t times = static_cast<uint8_t>((count + 63) / 64);
        Add(a, b, c, 64, times, {1, 1, 1, 8, 8, 8});"""
    found = alternatives("VEC-01", kernel(body, TENSORS))
    assert contains(found[0], "uint32_t times = static_cast<uint32_t>((count + 63) / 64);")
    assert any(contains(text, "Add(a, b, c, static_cast<int32_t>((64) * (times)));") for text in found)
    assert any(
        contains(text, "repeatBase += 255", "Add(a[repeatBase * (8) * 8], b[repeatBase * (8) * 8]") for text in found
    )


def test_broadcast_operands_and_named_parameters_keep_their_strides_in_the_loop() -> None:
    body = """        BinaryRepeatParams how(1, 1, 1, 8, 8, 0);
        AscendC::Mul(a, b, c, 64, rows_, how);
        WholeReduceSum(work, a, 64, rows_, 1, 1, 8);"""
    found = alternatives("VEC-01", kernel(body, TENSORS))
    assert contains(
        found[0], "AscendC::Mul(a[repeatBase * (how.dstRepStride) * 8]", "c[repeatBase * (how.src1RepStride) * 8]"
    )
    assert contains(
        found[0], "WholeReduceSum(work[repeatBase * (1)], a[repeatBase * (8) * 8], 64, static_cast<uint8_t>(repeatStep)"
    )


def test_few_repeats_and_count_forms_stay() -> None:
    body = """        Add(a, b, c, 64, 16, {1, 1, 1, 8, 8, 8});
        Add(a, b, c, count);
        Exp(a, b, count);"""
    assert alternatives("VEC-01", kernel(body, TENSORS)) == []


def test_a_truncating_stride_is_divided_once() -> None:
    literal = "        WholeReduceMax(a, b, 64, rows_, 1, 1, cols_ / 64 * 8);"
    assert contains(alternatives("VEC-03", kernel(literal, TENSORS))[0], "1, 1, cols_ / 8)")
    named = """        constexpr uint32_t LANES = 256 / sizeof(half);
        constexpr uint32_t BLOCKS = 8;
        uint8_t stride = (this->cols_ / LANES) * BLOCKS;"""
    assert contains(alternatives("VEC-03", kernel(named, TENSORS))[0], "uint8_t stride = this->cols_ / 16;")


def test_rounding_to_a_multiple_is_no_stride() -> None:
    body = """        uint32_t down = count / 64 * 64;
        uint32_t up = (count + 63) / 64 * 8;
        uint32_t n = count / ALIGN * ALIGN;"""
    assert alternatives("VEC-03", kernel(body, TENSORS)) == []


def test_the_last_repeat_of_a_reduction_gets_its_own_mask() -> None:
    direct = "        WholeReduceSum<float>(a, b, 64, (count + 63) / 64, 1, 1, 8);"
    found = alternatives("VEC-04", kernel(direct, TENSORS))[0]
    assert contains(
        found, "WholeReduceSum<float>(a, b, 64, ((count) / (64)), 1, 1, 8);", "((count) % (64)), 1, 1, 1, 8)"
    )
    named = "        uint32_t times = CeilDiv(count, 64);\n        AscendC::WholeReduceMax(a, b, 64, times, 1, 1, 8);"
    assert contains(alternatives("VEC-04", kernel(named, TENSORS))[0], "if (((count) % (64)) > 0)")
    assert alternatives("VEC-04", kernel("        WholeReduceSum(a, b, 64, count / 64, 1, 1, 8);", TENSORS)) == []


def test_reductions_count_logical_elements() -> None:
    body = """        uint32_t padded = AlignUp(count, 8);
        ReduceSum(a, b, work, padded);
        float mean = a.GetValue(0) / static_cast<float>(padded);"""
    found = alternatives("RED-01", kernel(body, TENSORS))
    assert contains(found[0], "ReduceSum(a, b, work, count);")
    assert any(contains(text, "/ static_cast<float>(count)", "work, count)") for text in found)
    split = {
        "tiling.h": "struct Plan { uint32_t cols, colsPad; };\n",
        "bind.cpp": "void plan(Plan &p, int64_t cols) { p.cols = cols; p.colsPad = ((cols * 2 + 31) & ~31) / 2; }\n",
        "kernel.h": kernel(
            """        cols_ = plan->cols; colsPad_ = plan->colsPad;
        ReduceMax<float>(a, b, work, this->colsPad_);""",
            TENSORS,
        ),
    }
    assert alternatives(
        "RED-01", {**split, "bind.cpp": split["bind.cpp"].replace("((cols * 2 + 31) & ~31) / 2", "RoundUp(cols, 16)")}
    )
    assert alternatives("RED-01", kernel("        ReduceSum(a, b, work, count);", TENSORS)) == []


def test_padding_for_a_maximum_is_the_lowest_value() -> None:
    inline = """        DataCopyPad(a, xGm, how, {true, 0, 3, 0});
        ReduceMax(b, a, work, count);"""
    typed = inline.replace("{true, 0, 3, 0}", "DataCopyPadExtParams<half>{true, 0, 3, static_cast<half>(0)}")
    assert contains(alternatives("RED-02", kernel(typed, TENSORS))[0], "{true, 0, 3, static_cast<half>(-65504.0f)}")
    declared = "        DataCopyPadExtParams<float> pad{true, 0, 3, 0.0f};\n        ReduceMin(b, a, work, count);"
    assert contains(alternatives("RED-02", kernel(declared, TENSORS))[0], "pad{true, 0, 3, 3.402823466e+38f}")


def test_fills_and_running_values_of_a_maximum_start_lowest() -> None:
    fill = "        Duplicate(a, 0.0f, count);\n        Max(a, a, b, count);"
    assert contains(alternatives("RED-02", kernel(fill, TENSORS))[0], "Duplicate(a, -3.402823466e+38f, count)")
    scalar = """        float best = 0.0f;
        for (uint32_t i = 0; i < count; ++i) {
            float v = a.GetValue(i);
            if (v > best) { best = v; }
        }"""
    assert contains(alternatives("RED-02", kernel(scalar, TENSORS))[0], "float best = -3.402823466e+38f;")


def test_zero_stays_where_nothing_takes_a_maximum() -> None:
    body = """        DataCopyPadExtParams<float> pad{true, 0, 3, 0};
        Duplicate(a, 0.0f, count);
        ReduceSum(b, a, work, count);"""
    assert alternatives("RED-02", kernel(body, TENSORS)) == []


def test_an_empty_tail_is_guarded() -> None:
    init = "        tail_ = count % tile_;\n"
    choice = init + "        uint32_t len = (step == loops_ - 1) ? tail_ : tile_;"
    assert contains(
        alternatives("RED-09", kernel(choice, TENSORS))[0], "((step == loops_ - 1) && tail_ > 0) ? tail_ : tile_"
    )
    branch = init + "        if (step + 1 == loops_) { Finish(tail_); } else { Finish(tile_); }"
    found = alternatives("RED-09", kernel(branch, TENSORS))
    assert any(contains(text, "(step + 1 == loops_) && tail_ > 0") for text in found)
    assert any(contains(text, "tail_ = ((count % tile_) == 0 ? (tile_) : (count % tile_));") for text in found)


def test_a_guarded_tail_stays() -> None:
    body = """        uint32_t left = count;
        if (left > 0) { Finish(left); }
        if (step == loops_ - 1) { Finish(tile_); }"""
    assert alternatives("RED-09", kernel(body, TENSORS)) == []


def test_widening_casts_on_one_buffer_run_from_the_end() -> None:
    view = """        LocalTensor<half> h = inQueue.DeQue<half>();
        Cast(h.ReinterpretCast<float>(), h, RoundMode::CAST_NONE, count);"""
    found = alternatives("BUF-03", kernel(view))[0]
    assert contains(
        found,
        "castBase -= 64",
        "Cast(h.ReinterpretCast<float>()[castBase], h[castBase], RoundMode::CAST_NONE, castLanes)",
    )
    shared = """        LocalTensor<half> h = scratch.Get<half>();
        LocalTensor<float> f = scratch.Get<float>();
        AscendC::Cast(f, h, AscendC::RoundMode::CAST_NONE, count);"""
    assert contains(alternatives("BUF-03", kernel(shared))[0], "AscendC::Cast(f[castBase], h[castBase]")


def test_casts_between_buffers_and_narrowing_casts_stay() -> None:
    body = """        LocalTensor<half> h = inQueue.DeQue<half>();
        LocalTensor<float> f = scratch.Get<float>();
        Cast(f, h, RoundMode::CAST_NONE, count);
        Cast(f.ReinterpretCast<half>(), f, RoundMode::CAST_RINT, count);"""
    assert alternatives("BUF-03", kernel(body)) == []


def test_tensors_are_freed_after_their_last_use() -> None:
    body = """        LocalTensor<float> x = inQueue.DeQue<float>();
        inQueue.FreeTensor(x);
        Exp(a, x, count);
        Adds(b, a, 1.0f, count);"""
    assert contains(alternatives("BUF-05", kernel(body, TENSORS))[0], "Exp(a, x, count); inQueue.FreeTensor(x); Adds(")
    again = """        inQueue.DeQue<float>(x);
        this->inQueue.FreeTensor(x);
        Mul(a, x, x, count);
        Exp(b, x, count);"""
    assert contains(alternatives("BUF-05", kernel(again, TENSORS))[0], "Exp(b, x, count); this->inQueue.FreeTensor(x);")
    right = """        inQueue.DeQue<float>(x);
        Exp(a, x, count);
        inQueue.FreeTensor(x);
        inQueue.DeQue<float>(x);
        Exp(a, x, count);"""
    assert alternatives("BUF-05", kernel(right, TENSORS)) == []


def test_comparisons_cover_whole_repeats() -> None:
    members = TENSORS + "\n    LocalTensor<uint8_t> bits;\n    LocalTensor<T> wide;"
    plain = "        Compare(bits, a, b, CMPMODE::GT, count);"
    assert contains(alternatives("VEC-05", kernel(plain, members))[0], "CMPMODE::GT, ((count) + 64 - 1) / 64 * 64);")
    scalar = "        AscendC::CompareScalar(bits, wide, static_cast<T>(0), AscendC::CMPMODE::LT, this->cols_);"
    found = alternatives("VEC-05", kernel(scalar, members))[0]
    assert contains(found, "((this->cols_) + (static_cast<uint32_t>(256 / sizeof(T))) - 1)")
    whole = (
        "        Compare(bits, a, b, CMPMODE::GT, 128);\n        Compare(bits, a, b, CMPMODE::GT, AlignUp(count, 64));"
    )
    assert alternatives("VEC-05", kernel(whole, members)) == []


def test_gathered_offsets_are_bytes() -> None:
    members = TENSORS + "\n    LocalTensor<uint32_t> at;"
    plain = "        Gather(a, b, at, 0, count);"
    assert contains(alternatives("VEC-07", kernel(plain, members))[0], "static_cast<int32_t>(sizeof(float)), count);")
    typed = "        at = scratch.Get<uint32_t>();\n        AscendC::Gather(c, work, at, 0u, this->cols_);"
    assert contains(alternatives("VEC-07", kernel(typed, members))[0], "AscendC::Muls(at.template", "AscendC::Gather(")
    scaled = "        ShiftLeft(at, at, 2u, count);\n        Gather(a, b, at, 0, count);"
    assert alternatives("VEC-07", kernel(scaled, members)) == []


def test_accumulators_start_at_zero() -> None:
    view = """        acc = scratch.Get<float>();
        for (uint32_t i = 0; i < step; ++i) {
            for (uint32_t j = 0; j < 2; ++j) { Add(acc, acc, a, count); }
        }"""
    found = alternatives("BUF-02", kernel(view, TENSORS + "\n    LocalTensor<float> acc;"))[0]
    assert contains(found, "Duplicate(acc, static_cast<float>(0), count); PipeBarrier<PIPE_V>(); for (uint32_t i = 0;")
    fresh = "        LocalTensor<T> sum = outQueue.AllocTensor<T>();\n        AscendC::Axpy(sum, a, 2.0f, count);"
    assert contains(alternatives("BUF-02", kernel(fresh))[0], "AscendC::Duplicate(sum, static_cast<T>(0), count);")
    assert (
        alternatives("BUF-02", kernel(view.replace("for (uint32_t i", "Duplicate(acc, 0.0f, count); for (uint32_t i")))
        == []
    )
    assert alternatives("BUF-02", kernel("        acc = scratch.Get<float>();\n        Add(acc, a, b, count);")) == []


def test_counts_of_tiles_are_rounded_up() -> None:
    named = "        loops_ = count / tile_;\n        for (uint32_t i = 0; i < loops_; ++i) { Tile(i); }"
    assert contains(alternatives("IDX-11", kernel(named, TENSORS))[0], "loops_ = (count + tile_ - 1) / tile_;")
    returned = """        if (step < Tiles()) { Tile(step); }
    }
    __aicore__ inline uint32_t Tiles() const {
        return this->cols_ / 64;"""
    assert contains(alternatives("IDX-11", kernel(returned, TENSORS))[0], "return (this->cols_ + 64 - 1) / 64;")
    grid = {
        "a.cpp": 'extern "C" void go(uint32_t grid, void *s, uint8_t *x) { k<<<grid, nullptr, s>>>(x); }\n',
        "bind.cpp": "void run(uint32_t n, uint32_t part) { const uint32_t grid = n / part; go(grid, s, x); }\n",
    }
    assert contains(alternatives("IDX-11", grid)[0], "grid = (n + part - 1) / part;")
    handled = named + "\n        tail_ = count % tile_;"
    assert alternatives("IDX-11", kernel(handled, TENSORS)) == []
    assert alternatives("IDX-11", kernel("        uint32_t half = count / 2;\n        Use(half);", TENSORS)) == []


def test_atomics_are_switched_off_after_the_store() -> None:
    body = "        SetAtomicAdd<float>();\n        DataCopy(yGm[step], a, count);\n        Exp(a, b, count);"
    assert contains(
        alternatives("BUF-07", kernel(body, TENSORS))[0], "DataCopy(yGm[step], a, count); SetAtomicNone(); Exp("
    )
    loop = """        AscendC::SetAtomicMax<half>();
        for (uint32_t i = 0; i < 4; ++i) { DataCopyPad(yGm[i], a, how); }"""
    assert contains(alternatives("BUF-07", kernel(loop, TENSORS))[0], "how); } AscendC::SetAtomicNone();")
    assert alternatives("BUF-07", kernel(body + "\n        SetAtomicNone();", TENSORS)) == []


def test_outputs_can_be_zeroed_on_the_host() -> None:
    adds = {"k.h": kernel("        SetAtomicAdd<float>();")}
    host = "at::Tensor run(const at::Tensor &x) {\n    at::Tensor y = at::empty_like(x);\n    return y;\n}\n"
    assert contains(alternatives("BUF-08", {"bind.cpp": host, **adds})[0], "at::zeros_like(x)")
    sized = """at::Tensor run(const at::Tensor &x) {
    auto y = torch::empty({x.size(0), 4}, x.options());
    return y;
}
"""
    assert contains(alternatives("BUF-08", {"bind.cpp": sized, **adds})[0], "at::zeros({x.size(0), 4}, x.options())")
    assert alternatives("BUF-08", {"bind.cpp": host.replace("empty", "zeros"), **adds}) == []
    assert alternatives("BUF-08", {"bind.cpp": host}) == []
