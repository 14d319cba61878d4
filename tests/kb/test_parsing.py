"""AscendC becomes parseable without moving a character; facts are found across files; edits never overlap."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.cpp import Edit, Source, apply, blank, last_name
from kb.facts import Program, TensorType
from kb.forms import arithmetic
from tests.kb.snippets import kernel

LAUNCH = """extern "C" __global__ __aicore__ void k(GM_ADDR x) { if ASCEND_IS_AIV { op.Run<float>(); } }
void go(uint32_t n, void *s, uint8_t *x) { k<<<n, nullptr, s>>>(x); }  // größer
"""


def test_blanking_keeps_every_offset_and_line() -> None:
    clean = blank(LAUNCH)
    assert len(clean) == len(LAUNCH)
    assert [i for i, c in enumerate(clean) if c == "\n"] == [i for i, c in enumerate(LAUNCH) if c == "\n"]
    assert Source("k.cpp", LAUNCH).errors == 0


@given(st.text(alphabet="ab<>_ \n();=*&:é", max_size=80))
@settings(max_examples=60, deadline=None)
def test_blanking_any_text_keeps_its_length(text: str) -> None:
    assert len(blank(text)) == len(text)
    assert isinstance(Source("x.h", text).calls, tuple)


def test_hidden_prefixes_come_back_in_the_original_text() -> None:
    source = Source("k.h", "void f() { AscendC::Add(this->a, b[i], x.template ReinterpretCast<float>(), n); }")
    call = source.calls[0]
    assert source.original(call.node).startswith("AscendC::Add(")
    assert source.original(call.args[0]) == "this->a"
    assert source.original(call.args[2]) == "x.template ReinterpretCast<float>()"


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(ValueError, match=r"overlapping edits in a\.h"):
        apply({"a.h": "abcdef"}, (Edit("a.h", 0, 3, "x"), Edit("a.h", 2, 4, "y")))


def test_tensor_types_come_from_the_nearest_declaration() -> None:
    body = """        LocalTensor<half> t = inQueue.DeQue<half>();
        Exp(t, t[8], count);
        Abs(xGm, u, 1);"""
    source = Program({"k.h": kernel(body, "    LocalTensor<float> t, u;")}).sources["k.h"]
    program = Program({"k.h": source.text})
    exp = next(call for call in source.calls if call.name == "Exp")
    assert program.tensor(source, exp.args[1]) == TensorType("ub", "half")
    absolute = next(call for call in source.calls if call.name == "Abs")
    assert program.tensor(source, absolute.args[0]) == TensorType("gm", "T")
    assert program.tensor(source, absolute.args[1]) == TensorType("ub", "float")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("256 / 4", 64),
        ("-7 / 2", -3),
        ("(2 + 3) * 4", 20),
        ("1 / 0", None),
        ("a + 1", None),
        ("2 ** 9", None),
        ("", None),
        ("1.5", None),
    ],
)
def test_only_integer_arithmetic_is_evaluated(text: str, value: int | None) -> None:
    assert arithmetic(text) == value


@pytest.mark.parametrize(
    "rounded",
    [
        "AlignUp(n, 8)",
        "(n + 7) / 8 * 8",
        "((n + 7) / 8) * 8",
        "(n + 31) & ~31",
        "CeilDiv(n, 16) * 16",
        "((n * sizeof(half) + 31) / 32 * 32) / sizeof(half)",
    ],
)
def test_rounded_lengths_are_recognised(rounded: str) -> None:
    code = kernel(
        f"        uint32_t n = count;\n        uint32_t padded = {rounded};\n        ReduceSum(a, b, c, padded);"
    )
    program = Program({"k.h": code})
    source, call = next(program.calls("ReduceSum"))
    assert program.logical(source, call.args[3]) in ("n", "count")


@pytest.mark.parametrize("plain", ["count", "count * 8", "count / 8", "(count + 7) / 8"])
def test_plain_lengths_are_not_taken_for_rounded(plain: str) -> None:
    program = Program({"k.h": kernel(f"        uint32_t n = {plain};\n        ReduceSum(a, b, c, n);")})
    source, call = next(program.calls("ReduceSum"))
    assert program.logical(source, call.args[3]) is None


def test_a_name_out_of_scope_is_never_offered() -> None:
    files = {
        "bind.cpp": "void plan(Plan &p, uint32_t width) { p.pad = AlignUp(width, 8); }\n",
        "k.h": kernel("        pad_ = plan->pad;\n        ReduceSum(a, b, c, pad_);", "    uint32_t pad_;"),
    }
    program = Program(files)
    source, call = next(program.calls("ReduceSum"))
    assert program.logical(source, call.args[3]) is None


def test_names_are_read_under_casts_and_objects() -> None:
    source = Source("k.h", "void f() { g((uint32_t)p->len, static_cast<int>(this->n), a + b); }")
    call = next(call for call in source.calls if call.name == "g")
    assert [last_name(argument) for argument in call.args] == ["len", "n", None]
