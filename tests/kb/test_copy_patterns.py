"""Patterns of copies, pitches and widths: each on differently written sources, and where it must stay silent."""

from __future__ import annotations

import pytest

from tests.kb.snippets import alternatives, contains, kernel

COPY_IN = """        LocalTensor<T> local = inQueue.AllocTensor<T>();
        DataCopy(local, xGm[step * 64], count);
        inQueue.EnQue(local);"""
COPY_OUT = """        AscendC::LocalTensor<float> res = outQueue.DeQue<float>();
        AscendC::DataCopy(this->yGm[step], res, this->length_);
        outQueue.FreeTensor(res);"""


@pytest.mark.parametrize("name", ["ALN-01", "ALN-02"])
def test_plain_copies_become_padded_with_exact_bytes(name: str) -> None:
    first = alternatives(name, kernel(COPY_IN))[0]
    assert contains(
        first,
        "DataCopyPad(local, xGm[step * 64], DataCopyExtParams{1, static_cast<uint32_t>(count * sizeof(T)), 0, 0, 0}",
    )
    assert contains(first, "DataCopyPadExtParams<T>{false, 0, 0, static_cast<T>(0)});")
    second = alternatives(name, kernel(COPY_OUT, "    uint32_t length_;"))[0]
    assert contains(second, "AscendC::DataCopyPad(this->yGm[step], res, AscendC::DataCopyExtParams{")
    assert contains(second, "this->length_ * sizeof(float)")


def test_a_rounded_length_is_taken_back_before_padding() -> None:
    body = "        uint32_t whole = (count + 7) / 8 * 8;\n        LocalTensor<float> t = outQueue.DeQue<float>();\n"
    first = alternatives("ALN-02", kernel(body + "        DataCopy(yGm[step], t, whole);"))[0]
    assert contains(first, "static_cast<uint32_t>(count * sizeof(float))")


def test_all_sites_come_first_then_each_alone() -> None:
    found = alternatives("ALN-01", kernel(COPY_IN + "\n" + COPY_OUT, "    uint32_t length_;"))
    assert [text.count("DataCopyPad(") for text in found] == [2, 1, 1]


def test_whole_blocks_and_copies_inside_the_buffer_stay() -> None:
    inside = "        LocalTensor<float> a = scratch.Get<float>(); LocalTensor<float> b = inQueue.DeQue<float>();\n"
    assert (
        alternatives(
            "ALN-01", kernel(inside + "        DataCopy(a, b, count);\n        DataCopy(yGm, a, 64);", "", False)
        )
        == []
    )


def test_a_length_in_blocks_given_to_the_byte_api_loses_its_division() -> None:
    inline = """        LocalTensor<half> t = inQueue.AllocTensor<half>();
        DataCopyPad(t, xGm[step], {1, static_cast<uint16_t>(count * sizeof(half) / 32), 0, 0}, {false, 0, 0, 0});"""
    assert contains(alternatives("ALN-03", kernel(inline))[0], "{1, static_cast<uint16_t>(count * sizeof(half)), 0, 0}")
    built = """        constexpr uint32_t BLOCK = 32;
        LocalTensor<half> t = outQueue.DeQue<half>();
        DataCopyExtParams how;
        how.blockCount = 1;
        how.blockLen = count * sizeof(half) / BLOCK;
        DataCopyPad(yGm[step], t, how);"""
    assert contains(alternatives("ALN-03", kernel(built))[0], "how.blockLen = count * sizeof(half);")


def test_a_length_in_bytes_given_to_the_block_api_is_divided() -> None:
    body = """        LocalTensor<float> t = inQueue.AllocTensor<float>();
        DataCopyParams how{4, static_cast<uint16_t>(count * sizeof(float)), 0, 0};
        DataCopy(t, xGm[step], how);"""
    assert contains(alternatives("ALN-03", kernel(body))[0], "static_cast<uint16_t>(count * sizeof(float))) / 32")


def test_right_units_stay() -> None:
    body = """        LocalTensor<float> t = outQueue.DeQue<float>();
        DataCopyExtParams how{1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0};
        DataCopyPad(yGm[step], t, how);"""
    assert alternatives("ALN-03", kernel(body)) == []
    assert alternatives("ALN-04", kernel(body)) == []


def test_a_pitch_given_as_stride_becomes_a_gap() -> None:
    body = """        LocalTensor<float> t = inQueue.AllocTensor<float>();
        DataCopyExtParams how{8, count * 4, width_ * 4, 0, 0};
        DataCopyPad(t, xGm[step], how, {false, 0, 0, 0});"""
    assert contains(alternatives("ALN-04", kernel(body, "    uint32_t width_;"))[0], "(width_ * 4) - (count * 4)")
    fields = """        LocalTensor<float> t = outQueue.DeQue<float>();
        DataCopyExtParams how;
        how.blockLen = count * sizeof(float);
        how.srcStride = width_ * sizeof(float);
        DataCopyPad(yGm[step], t, how);"""
    found = alternatives("ALN-04", kernel(fields, "    uint32_t width_;"))[0]
    assert contains(found, "how.srcStride = ((width_ * sizeof(float)) - (count * sizeof(float))) / 32;")


PITCH = {
    "tiling.h": "struct Shape { uint32_t w; uint32_t wPad; };\n",
    "bind.cpp": "void plan(Shape &s, uint32_t w) { s.w = w; s.wPad = (w + 7) / 8 * 8; }\n",
}


def test_row_offsets_in_the_buffer_take_the_padded_width() -> None:
    members = "    uint32_t w_, wPad_;\n    LocalTensor<float> rows;"
    init = "        w_ = shape->w; wPad_ = shape->wPad;\n"
    body = init + "        for (uint32_t r = 0; r < count; ++r) { ReduceMax(rows, rows[r * w_], rows, w_); }"
    found = alternatives("ALN-05", {**PITCH, "kernel.h": kernel(body, members)})
    assert contains(found[0], "rows[r * wPad_], rows, w_")
    local = """        uint32_t padded = AlignUp(count, 8);
        LocalTensor<float> t = scratch.Get<float>();
        DataCopyPad(yGm[step * padded], t, {4, count * 4, 0, 0, 0});
        Adds(t[step * count], t[step * count], 1.0f, count);"""
    assert contains(alternatives("ALN-05", kernel(local))[0], "Adds(t[step * padded], t[step * padded], 1.0f, count)")
    assert contains(alternatives("ALN-09", kernel(local))[0], "yGm[step * count]")


def test_row_offsets_held_in_a_variable_are_followed() -> None:
    body = """        uint32_t padded = AlignUp(count, 8);
        LocalTensor<float> t = scratch.Get<float>();
        const uint32_t at = step * count;
        ReduceMax(t, t[at], t, count);"""
    assert contains(alternatives("ALN-05", kernel(body))[0], "const uint32_t at = step * padded;")


def test_padded_offsets_in_the_buffer_and_logical_ones_in_global_memory_stay() -> None:
    body = """        uint32_t padded = AlignUp(count, 8);
        LocalTensor<float> t = scratch.Get<float>();
        DataCopyPad(yGm[step * count], t[step * padded], {4, count * 4, 0, 0, 0});"""
    assert alternatives("ALN-05", kernel(body)) == []
    assert alternatives("ALN-09", kernel(body)) == []


def test_sixteen_bit_names_are_widened_with_everything_that_feeds_them() -> None:
    files = {
        "tiling.h": "struct Plan { uint16_t rows; uint32_t cols; };\n",
        "kernel.h": kernel("        rows_ = static_cast<uint16_t>(plan->rows * 2);", "    uint16_t rows_;"),
    }
    first = alternatives("ALN-06", files)[0]
    assert contains(first, "uint32_t rows_;", "static_cast<uint32_t>(plan->rows * 2)", "struct Plan { uint32_t rows;")
    local = alternatives("ALN-06", kernel("        uint16_t at = step * count;\n        Adds(t, t[at], 1.0f, 8);"))[0]
    assert contains(local, "uint32_t at = step * count;")


def test_element_types_and_narrow_api_fields_stay() -> None:
    body = """        LocalTensor<uint16_t> mask = scratch.Get<uint16_t>();
        __gm__ uint16_t *p = nullptr;
        DataCopyParams how{static_cast<uint16_t>(step), static_cast<uint16_t>(count), 0, 0};"""
    assert alternatives("ALN-06", kernel(body)) == []


def test_products_in_global_offsets_are_made_in_64_bits() -> None:
    found = alternatives("IDX-01", kernel("        DataCopy(t, xGm[step * count + 3], 64);"))
    assert contains(found[0], "xGm[static_cast<uint64_t>(step) * count + 3]")
    found = alternatives("IDX-01", kernel("        DataCopy(t, this->xGm[(step + 1) * count], 64);"))
    assert contains(found[0], "static_cast<uint64_t>((step + 1)) * count")
    assert alternatives("IDX-01", kernel("        DataCopy(t, xGm[static_cast<uint64_t>(step) * count], 64);")) == []


def test_tail_tiles_are_addressed_by_the_nominal_tile() -> None:
    choice = """        uint32_t len = (step == loops_ - 1) ? tail_ : tile_;
        DataCopyPad(yGm[step * len], local, how);"""
    members = "    uint32_t loops_, tail_, tile_;\n    LocalTensor<float> local;"
    init = "        tail_ = total % tile_;\n"
    assert contains(alternatives("IDX-04", kernel(init + choice, members))[0], "yGm[step * tile_]")
    calls = """        for (uint32_t i = 0; i < loops_; ++i) { Store(i, tile_); }
        Store(loops_, tail_);
    }
    __aicore__ inline void Store(uint32_t i, uint32_t n)
    {
        DataCopyPad(yGm[i * n], local, how);"""
    assert contains(alternatives("IDX-04", kernel(init + calls, members))[0], "yGm[i * tile_]")
    given = """        uint32_t len = tile_;
        if (step == loops_ - 1) { len = total - step * tile_; }
        Put(step, len);
    }
    __aicore__ inline void Put(uint32_t i, uint32_t len)
    {
        DataCopyPad(yGm[i * len], local, how);"""
    assert contains(alternatives("IDX-04", kernel(given, members))[0], "yGm[i * tile_]")
    right = choice.replace("step * len", "step * tile_")
    assert alternatives("IDX-04", kernel(init + right, members)) == []


def test_the_remainder_of_a_split_is_given_to_someone() -> None:
    grid = {
        "tiling.h": "struct Plan { uint32_t rows, share; };\n",
        "bind.cpp": "void plan(Plan &p, int rows, int coreNum) { p.rows = rows; p.share = rows / coreNum; }\n",
        "kernel.h": kernel(
            "        share_ = plan->share; rows_ = plan->rows;\n"
            "        for (uint32_t i = 0; i < share_; ++i) { One(GetBlockIdx() * share_ + i); }",
            "    uint32_t share_, rows_;",
        ),
    }
    found = alternatives("IDX-03", grid)
    assert contains(found[0], "p.share = ((rows) + (coreNum) - 1) / (coreNum)", "GetBlockIdx() * (share_) + i < rows_")
    inside = """        uint32_t part = total_ / GetBlockNum();
        uint32_t from = GetBlockIdx() * part;
        Work(from, part);"""
    found = alternatives("IDX-03", kernel(inside, "    uint32_t total_;"))
    assert any(
        contains(text, "GetBlockIdx() + 1 == GetBlockNum()", "part = total_ - GetBlockIdx() * part;") for text in found
    )


def test_divisions_by_other_things_are_no_split() -> None:
    assert (
        alternatives("IDX-03", kernel("        uint32_t loops = total_ / tile_;", "    uint32_t total_, tile_;")) == []
    )


def test_what_feeds_a_narrow_field_of_an_api_struct_stays_narrow() -> None:
    """A wider value in a braced list is ill-formed: the cast stays, and a widened counter is cast back there."""
    body = """        uint16_t rows = static_cast<uint16_t>(count);
        uint16_t at = rows * count;
        AscendC::DataCopyPadExtParams<float> pad{true, 0, static_cast<uint8_t>(count - rows), 0.0f};
        DataCopyExtParams copy{rows, static_cast<uint32_t>(count * 4), 0, 0, 0};
        DataCopyPad(t, g[at], copy, pad);"""
    every = alternatives("ALN-06", kernel(body))[0]
    assert contains(every, "uint32_t rows = static_cast<uint32_t>(count);", "uint32_t at = rows * count;")
    assert contains(every, "DataCopyExtParams copy{static_cast<uint16_t>(rows), static_cast<uint32_t>(count * 4)")
    assert contains(every, "pad{true, 0, static_cast<uint8_t>(count - rows), 0.0f}")
