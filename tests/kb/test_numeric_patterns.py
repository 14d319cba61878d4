"""Patterns of numeric order, rounding, special values and synchronisation: where they apply and where not."""

from __future__ import annotations

from events.types import Feature, SanitizerFinding
from tests.kb.snippets import alternatives, contains, kernel

TENSORS = (
    "    LocalTensor<float> a, b, c, work;\n    LocalTensor<uint8_t> mask;\n    float eps_, scale_;\n    uint32_t n_;"
)


def test_the_scale_goes_before_the_product() -> None:
    body = "        Mul(c, a, b, count);\n        PipeBarrier<PIPE_V>();\n        Muls(c, c, scale_, count);"
    found = alternatives("RED-08", kernel(body, TENSORS))[0]
    assert contains(found, "Muls(c, a, scale_, count); PipeBarrier<PIPE_V>(); Mul(c, c, b, count);")
    own = "        AscendC::Mul(b, a, b, this->n_);\n        AscendC::Muls(b, b, 1.0f / count, this->n_);"
    assert contains(
        alternatives("RED-08", kernel(own, TENSORS))[0],
        "AscendC::Muls(b, b, 1.0f / count, this->n_);",
        "AscendC::Mul(b, b, a, this->n_)",
    )


def test_the_scale_goes_before_the_sum() -> None:
    vector = "        ReduceSum(a, b, work, count);\n        Muls(a, a, scale_, 1);"
    assert contains(
        alternatives("RED-08", kernel(vector, TENSORS))[0],
        "Muls(b, b, scale_, count); PipeBarrier<PIPE_V>(); ReduceSum(a, b, work, count);",
    )
    scalar = "        ReduceSum(a, b, work, count);\n        float mean = a.GetValue(0) / count;"
    assert contains(
        alternatives("RED-08", kernel(scalar, TENSORS))[0],
        "Muls(b, b, 1.0f / (count), count);",
        "float mean = a.GetValue(0);",
    )


def test_scaling_first_or_something_else_stays() -> None:
    body = "        Muls(c, a, scale_, count);\n        Mul(c, c, b, count);\n        Muls(a, b, scale_, count);"
    assert alternatives("RED-08", kernel(body, TENSORS)) == []


def test_epsilon_goes_under_the_root() -> None:
    vector = "        Sqrt(a, b, count);\n        PipeBarrier<PIPE_V>();\n        Adds(a, a, eps_, count);"
    assert contains(
        alternatives("NUM-04", kernel(vector, TENSORS))[0],
        "Adds(a, b, eps_, count); PipeBarrier<PIPE_V>(); Sqrt(a, a, count);",
    )
    inverse = "        AscendC::Rsqrt(a, a, 1);\n        AscendC::Adds(a, a, this->eps_, 1);"
    assert contains(
        alternatives("NUM-04", kernel(inverse, TENSORS))[0],
        "AscendC::Adds(a, a, this->eps_, 1);",
        "AscendC::Rsqrt(a, a, 1);",
    )
    scalar = "        float r = 1.0f / (sqrt(var) + eps_);\n        float s = 1.0f / sqrt(var) + eps_;"
    assert contains(
        alternatives("NUM-04", kernel(scalar, TENSORS))[0], "1.0f / (sqrt(var + eps_))", "s = 1.0f / sqrt(var + eps_);"
    )


def test_epsilon_goes_after_the_mean() -> None:
    body = "        Adds(a, a, eps_, 1);\n        Muls(a, a, scale_, 1);\n        Sqrt(a, a, 1);"
    scalar = "        float r = sqrt((total + eps_) * scale_);\n        uint32_t up = (count + 7) / 8;"
    found = alternatives("NUM-04", kernel(scalar, TENSORS))
    assert len(found) == 1
    assert contains(found[0], "sqrt((total * scale_ + eps_))")
    assert contains(
        alternatives("NUM-04", kernel(body, TENSORS))[0], "Muls(a, a, scale_, 1); Adds(a, a, eps_, 1); Sqrt("
    )


def test_epsilon_under_the_root_stays() -> None:
    body = """        Muls(a, a, scale_, 1);
        Adds(a, a, eps_, 1);
        Sqrt(a, a, 1);
        Adds(b, c, 1.0f, 1);
        float r = sqrt(var + eps_);"""
    assert alternatives("NUM-04", kernel(body, TENSORS)) == []


def test_rounding_goes_to_even() -> None:
    plain = "        Cast(h, a, RoundMode::CAST_ROUND, count);"
    assert contains(alternatives("CST-01", kernel(plain, TENSORS))[0], "Cast(h, a, RoundMode::CAST_RINT, count);")
    chosen = "        auto mode = narrow ? AscendC::RoundMode::CAST_ROUND : AscendC::RoundMode::CAST_NONE;"
    assert contains(
        alternatives("CST-01", kernel(chosen, TENSORS))[0], "RoundMode::CAST_RINT : AscendC::RoundMode::CAST_NONE"
    )
    assert alternatives("CST-01", kernel("        Cast(h, a, RoundMode::CAST_RINT, count);", TENSORS)) == []


def test_truncation_becomes_rounding() -> None:
    found = alternatives("CST-02", kernel("        Cast(q, a, RoundMode::CAST_TRUNC, count);", TENSORS))
    assert contains(found[0], "RoundMode::CAST_RINT")
    found = alternatives(
        "CST-02", kernel("        AscendC::Cast(q, a, AscendC::RoundMode::CAST_FLOOR, count);", TENSORS)
    )
    assert contains(found[0], "RoundMode::CAST_RINT")
    assert alternatives("CST-02", kernel("        Cast(f, h, RoundMode::CAST_NONE, count);", TENSORS)) == []


def test_the_maximum_is_subtracted_before_exp() -> None:
    body = "        Exp(a, b, count);\n        ReduceSum(c, a, work, count);"
    found = alternatives("NUM-01", kernel(body, TENSORS))[0]
    assert contains(
        found,
        "ReduceMax(c, b, work, count);",
        "Adds(a, b, static_cast<float>(-static_cast<float>(c.GetValue(0))), count);",
        "Exp(a, a, count);",
    )
    named = """        AscendC::Exp(a, a, this->n_);
        AscendC::PipeBarrier<PIPE_V>();
        AscendC::ReduceSum<float>(c, a, work, this->n_);"""
    assert contains(alternatives("NUM-01", kernel(named, TENSORS))[0], "AscendC::ReduceMax(c, a, work, this->n_);")
    assert alternatives("NUM-01", kernel("        ReduceMax(c, b, work, count);\n" + body, TENSORS)) == []
    assert (
        alternatives(
            "NUM-01",
            kernel(
                """        Exp(a, b, count);
        Adds(a, a, 1.0f, count);""",
                TENSORS,
            ),
        )
        == []
    )


def test_comparisons_are_turned_so_that_nan_takes_the_other_branch() -> None:
    tensors = """        Compare(mask, a, b, CMPMODE::GT, count);
        Select(c, mask, a, b, SELMODE::VSEL_CMPMASK_SPR, count);"""
    assert contains(
        alternatives("NUM-09", kernel(tensors, TENSORS))[0], "CMPMODE::LE, count); Select(c, mask, b, a, SELMODE"
    )
    scalar = """        CompareScalar(mask, a, scale_, AscendC::CMPMODE::LT, count);
        Select(c, mask, a, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);"""
    found = alternatives("NUM-09", kernel(scalar, TENSORS))[0]
    assert contains(found, "AscendC::CMPMODE::GE", "Not(mask.template ReinterpretCast<uint16_t>()")
    assert alternatives("NUM-09", kernel("        Compare(mask, a, b, CMPMODE::EQ, count);", TENSORS)) == []


def test_divisors_move_by_one_in_the_direction_the_ratio_speaks_for() -> None:
    body = "        float inv = 1.0f / static_cast<float>(n_);"
    low = Feature(name="scale-factor", strength=1.0, facts={"ratio": 0.9})
    assert contains(alternatives("NUM-13", kernel(body, TENSORS), features=(low,))[0], "static_cast<float>((n_ - 1))")
    less = {"bind.cpp": "void plan(Plan &p, int64_t n) { p.inv = 1.0f / static_cast<float>(n - 1); }\n"}
    assert contains(alternatives("NUM-13", less)[0], "1.0f / static_cast<float>(n)")
    assert alternatives("NUM-13", kernel("        uint32_t loops = count / n_;", TENSORS)) == []


def finding(line: int, kind: str = "pipe-hazard") -> SanitizerFinding:
    return SanitizerFinding(kind=kind, file="kernel.h", line=line, message="read while it is being written")


def test_a_barrier_goes_where_the_finding_points() -> None:
    code = kernel("        DataCopy(a, xGm, 64);\n        Exp(b,\n            a, count);", TENSORS)
    line = code.splitlines().index("        Exp(b,") + 1
    found = alternatives("SYN-01", code, findings=(finding(line + 1),))
    assert contains(found[0], "DataCopy(a, xGm, 64); PipeBarrier<PIPE_ALL>(); Exp(b, a, count);")
    assert contains(found[1], "Exp(b, a, count); PipeBarrier<PIPE_ALL>();")
    qualified = kernel("        auto t = AscendC::Foo(a);\n        AscendC::DataCopyPad(yGm, t, how);", TENSORS)
    line = next(i for i, text in enumerate(qualified.splitlines(), 1) if "DataCopyPad" in text)
    assert contains(
        alternatives("SYN-01", qualified, findings=(finding(line),))[0],
        "AscendC::PipeBarrier<PIPE_ALL>(); AscendC::DataCopyPad(",
    )


def test_without_a_hazard_no_barrier_is_put_at_a_line() -> None:
    code = kernel("        DataCopy(a, xGm, 64);", TENSORS)
    assert alternatives("SYN-01", code) == []
    assert alternatives("SYN-01", code, findings=(finding(8, "gm-out-of-bounds"), finding(4000))) == []


def test_unordered_copies_and_computations_are_separated() -> None:
    inward = "        DataCopyPad(a, xGm, how, pad);\n        Exp(b, a, count);"
    assert contains(alternatives("SYN-02", kernel(inward, TENSORS))[0], "PipeBarrier<PIPE_ALL>(); Exp(b, a, count);")
    outward = (
        "        Abs(a, a, count);\n        for (uint32_t i = 0; i < 2; ++i) { DataCopyPad(yGm[i], a[i * 8], how); }"
    )
    assert contains(
        alternatives("SYN-02", kernel(outward, TENSORS))[0],
        "PipeBarrier<PIPE_ALL>(); DataCopyPad(yGm[i], a[i * 8], how);",
    )


def test_queues_events_and_barriers_order_what_they_order() -> None:
    body = """        LocalTensor<float> x = inQueue.AllocTensor<float>();
        DataCopy(x, xGm, 64);
        inQueue.EnQue(x);
        x = inQueue.DeQue<float>();
        Exp(a, x, count);
        SetFlag<HardEvent::V_MTE3>(EVENT_ID0);
        WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
        DataCopy(yGm, a, 64);"""
    assert alternatives("SYN-02", kernel(body, TENSORS)) == []


def test_missing_queue_steps_are_added() -> None:
    alloc = """        LocalTensor<float> y = outQueue.AllocTensor<float>();
        Exp(y, a, count);
    }
    __aicore__ inline void Out() {
        LocalTensor<float> y = outQueue.DeQue<float>();
        DataCopy(yGm, y, 64);
        outQueue.FreeTensor(y);"""
    assert contains(alternatives("SYN-09", kernel(alloc, TENSORS))[0], "Exp(y, a, count); outQueue.EnQue(y);")
    free = """        inQueue.AllocTensor<T>(a);
        inQueue.EnQue(a);
        inQueue.DeQue<T>(a);
        Exp(b, a, count);"""
    assert contains(alternatives("SYN-09", kernel(free, TENSORS))[0], "Exp(b, a, count); inQueue.FreeTensor(a);")
    assert alternatives("SYN-09", kernel(free + "\n        inQueue.FreeTensor(a);", TENSORS)) == []
