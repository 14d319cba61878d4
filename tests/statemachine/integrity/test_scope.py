"""The scope gate: only plain C++ sources under kernel/ pass, every trick is refused with a reason."""

from __future__ import annotations

import pytest

from statemachine.integrity.scope import gate

BASE = {
    "op.cpp": '#include "kernel_operator.h"\n__aicore__ void f() {}\n',
    "pybind11.cpp": "#include <torch/extension.h>\nPYBIND11_MODULE(_x, m) {}\n",
    "tiling.h": "struct T { int n; };\n",
}
NEW = "int x;\n"


@pytest.mark.parametrize(
    "path", ["op.cpp", "tiling.h", "new_kernel.h", "sub/part.hpp", "a.asc", "a.cc", "a.inc", "pybind11.cpp"]
)
def test_a_cpp_source_is_accepted(path: str) -> None:
    assert gate(BASE, {path: NEW}, scope="kernel") is None


@pytest.mark.parametrize(
    "path",
    [
        "", "/op.cpp", "../op.cpp", "a/../op.cpp", "./op.cpp", "a//op.cpp", "op.cpp/", "a\\op.cpp", "C:/op.cpp",
        "op\x00.cpp", "op\n.cpp", ".op.cpp", ".git/op.cpp", "build/op.cpp", "Build/x.h", "OP.cpp",
        "kernel/op.cpp", "ор.cpp",
        "op.cpp\u202e",
        "model.py", "CMakeLists.txt", "a.so", "a.o", "a.json", "a.cpp.py", "a", "cpp", ".cpp", "op .cpp", "op.cpp ",
        "op.CPP",
        "kernel_operator.h", "torch/extension.h", "acl/acl.h", "acl.h", "vector.h", "stdint.h", "cmath.hpp", "string.h",
        "pybind11/pybind11.h", "aclrtlaunch_op.h", "a/b/c/d/e.cpp", "x" * 200 + ".cpp", "op.cpp.", "$(id).cpp",
        "-I.cpp",
    ],
)  # fmt: skip
def test_a_path_trick_is_refused(path: str) -> None:
    refusal = gate(BASE, {path: NEW}, scope="kernel")
    assert refusal is not None
    assert refusal.reason.isprintable() and refusal.reason.isascii()


@pytest.mark.parametrize(
    "text",
    [
        "\ud800", "a\x00b", "\ufeffint x;", "int a; // \u202e", "x" * 600_000, '#include "../model.py"\n',
        '#include "/etc/passwd"\n', "#  include </proc/self/maps>\n", '#include "a/../../x.h"\n',
    ],
)  # fmt: skip
def test_a_text_trick_is_refused(text: str) -> None:
    assert gate(BASE, {"op.cpp": text}, scope="kernel") is not None


def test_an_include_in_a_comment_is_no_trick() -> None:
    assert gate(BASE, {"op.cpp": '// #include "../x.h"\nint x;\n'}, scope="kernel") is None


def test_empty_unchanged_and_too_many_are_refused() -> None:
    assert gate(BASE, {}, scope="kernel") is not None
    assert gate(BASE, {"op.cpp": BASE["op.cpp"]}, scope="kernel") is not None
    assert gate(BASE, {f"f{i}.h": NEW for i in range(100)}, scope="kernel") is not None
    assert gate(BASE, {f"f{i}.h": "x" * 500_000 for i in range(6)}, scope="kernel") is not None


def test_a_file_cannot_also_be_a_folder() -> None:
    assert gate(BASE, {"op.cpp/x.h": NEW}, scope="kernel") is not None


def test_device_scope_admits_device_code_only() -> None:
    device = '#include "kernel_operator.h"\nint y;\n'
    assert gate(BASE, {"op.cpp": device}, scope="device") is None
    assert gate(BASE, {"pybind11.cpp": device}, scope="device") is not None
    assert gate(BASE, {"tiling.h": device}, scope="device") is not None
    assert gate(BASE, {"op.cpp": device + "PYBIND11_MODULE(_x, m) {}"}, scope="device") is not None
    assert gate(BASE, {"op.cpp": "// __aicore__\nint y;\n"}, scope="device") is not None
