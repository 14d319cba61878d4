"""Real builds of a small kernel: what is compiled again after a change, and what is said when it does not compile."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters import sandbox
from adapters.ascendc.cpu import compiler, realtorch
from adapters.ascendc.cpu.build import BuildResult, build
from adapters.ascendc.cpu.cache import BuildCache

TASK = Path(__file__).parent / "add_task"
Make = Callable[[Path], BuildResult]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def entries(cache: Path, kind: str) -> set[str]:
    return {path.name for path in (cache / kind).iterdir()}


def test_a_second_build_of_equal_sources_compiles_nothing(kernel: Path, make: Make) -> None:
    first, second = make(kernel), make(kernel)
    assert first.ok, first.log
    assert second.cached and second.seconds < 1
    assert (second.so_path, second.so_sha256) == (first.so_path, first.so_sha256)
    assert first.so_path and first.so_sha256 == hashlib.sha256(first.so_path.read_bytes()).hexdigest()
    assert first.module_name == "_add_ext" and first.runtime_so and first.runtime_so.parent == first.so_path.parent
    assert "opmend_gm_register" in first.undefined


def test_a_changed_kernel_header_leaves_the_binding_alone(kernel: Path, make: Make, build_cache: Path) -> None:
    assert make(kernel).ok
    before = entries(build_cache, "object")
    edit(kernel / "add_kernel.h", "ADD_TILE = 256", "ADD_TILE = 128")
    changed = make(kernel)
    assert changed.ok and not changed.cached
    assert len(entries(build_cache, "object") - before) == 1


def test_a_compile_error_names_the_users_file_and_line(kernel: Path, make: Make) -> None:
    edit(kernel / "add_kernel.h", "AscendC::Add(z, x, y, count);", "AscendC::Add(z, x, why, count);")
    line = (kernel / "add_kernel.h").read_text().split("why")[0].count("\n") + 1
    result = make(kernel)
    assert not result.ok and result.so_path is None and result.first_error
    assert (result.first_error.file, result.first_error.line) == ("add_kernel.h", line)
    assert "why" in result.first_error.message and "add_kernel.h" in result.log


def test_an_error_in_a_launch_spread_over_lines_keeps_its_line(kernel: Path, make: Make) -> None:
    edit(
        kernel / "add_fp32.cpp",
        "add_custom_fp32<<<blockDim, nullptr, stream>>>(x,",
        "add_custom_fp32<<<blockDim,\n nullptr,\n stream>>>(nope,",
    )
    result = make(kernel)
    assert result.first_error and "nope" in result.first_error.message
    line = (kernel / "add_fp32.cpp").read_text().split("nope")[0].count("\n") + 1
    assert (result.first_error.file, result.first_error.line) == ("add_fp32.cpp", line)


def test_what_the_binding_lacks_is_named(kernel: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(realtorch, "AVAILABLE", False)  # with torch's own headers it takes minutes to say the same
    edit(kernel / "pybind11.cpp", "at::empty_like(x)", "at::randn(x)")
    result = make(kernel)
    assert result.first_error and result.first_error.file == "pybind11.cpp"
    assert result.first_error.message == "at::randn is not supported by the CPU binding yet"


def test_kernels_whose_names_clash_are_compiled_apart(kernel: Path, make: Make) -> None:
    for name in ("add_fp32.cpp", "add_fp16.cpp"):
        edit(kernel / name, '#include "add_kernel.h"\n', '#include "add_kernel.h"\nstatic int Helper() { return 1; }\n')
    assert make(kernel).ok


def test_a_launcher_nobody_defines_is_an_error_of_the_build(kernel: Path, make: Make) -> None:
    (kernel / "add_fp16.cpp").unlink()
    result = make(kernel)
    assert not result.ok and result.first_error and "add_do_fp16" in result.first_error.message


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("build_me.so", b"\x7fELF", "prebuilt object"),
        ("x.h", b'#include "../../model.py"\n', "leaves the kernel folder"),
        ("x.h", b'\n#include "/etc/passwd"\n', "leaves the kernel folder"),
        ("x.h", b'asm(".incbin \\"golden.bin\\"");\n', "brings a file into the binary"),
        ("other.cpp", b"PYBIND11_MODULE(_other, m) {}\n", "more than one file"),
    ],
)
def test_what_is_no_honest_source_is_refused(kernel: Path, make: Make, name: str, content: bytes, said: str) -> None:
    (kernel / name).write_bytes(content)
    result = make(kernel)
    assert not result.ok and result.first_error
    assert said in result.first_error.message and name in str(result.first_error)


def test_a_macro_that_hides_an_include_cannot_reach_outside(kernel: Path, make: Make) -> None:
    secret = kernel.parent / "secret.h"
    secret.write_text("int leaked = 1;\n")
    edit(
        kernel / "add_fp32.cpp",
        '#include "add_kernel.h"\n',
        f'#include "add_kernel.h"\n#define WHERE "{secret}"\n#include WHERE\n',
    )
    if not sandbox.isolation()["filesystem"].startswith("landlock"):
        pytest.skip(sandbox.isolation()["filesystem"])
    result = make(kernel)
    assert not result.ok and "leaked" not in result.log


def test_a_prebuilt_object_in_a_build_folder_is_ignored(kernel: Path, make: Make) -> None:
    (kernel / "build").mkdir()
    (kernel / "build" / "_add_ext.so").write_bytes(b"\x7fELF")
    assert make(kernel).ok


def test_a_folder_without_a_binding_says_so(tmp_path: Path, make: Make) -> None:
    (tmp_path / "k.cpp").write_text("int x;\n")
    result = make(tmp_path)
    assert result.first_error and "there is nothing to import" in result.first_error.message


def test_a_compiler_that_never_ends_is_stopped(kernel: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    assert make(kernel).ok
    monkeypatch.setattr(compiler, "_LIMITS", sandbox.Limits(wall_seconds=1.5, output_bytes=1 << 16))
    bomb = (
        "template <long A, long B> struct F {\n"
        "    static constexpr long v = F<A - 1, 2 * B>::v + F<A - 1, 2 * B + 1>::v;\n};\n"
        "template <long B> struct F<0, B> { static constexpr long v = B; };\nstatic_assert(F<30, 1>::v > 0);\n"
    )
    edit(kernel / "add_fp32.cpp", '#include "add_kernel.h"\n', f'#include "add_kernel.h"\n{bomb}')
    result = make(kernel)
    assert not result.ok and result.seconds < 10
    assert result.first_error and "was stopped" in result.first_error.message


def test_a_killed_build_leaves_no_half_entry(tmp_path: Path) -> None:
    cache = BuildCache(tmp_path)

    def interrupted(folder: Path) -> None:
        (folder / "half").write_text("x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.get_or_make("object", "k", interrupted)
    assert cache.find("object", "k") is None
    assert not list((tmp_path / "scratch").iterdir())


def test_another_check_level_leaves_the_binding_alone(kernel: Path, make: Make, build_cache: Path) -> None:
    assert make(kernel).ok
    before = entries(build_cache, "object")
    result = build(kernel, level=0, cache=build_cache)
    assert result.ok, result.log
    assert len(entries(build_cache, "object") - before) == 1


def test_a_single_file_with_kernel_and_binding_builds(tmp_path: Path, build_cache: Path) -> None:
    names = ("pybind11.cpp", "add_fp32.cpp", "add_fp16.cpp")
    (tmp_path / "all.asc").write_text("".join((TASK / "kernel" / name).read_text() for name in names))
    (tmp_path / "add_kernel.h").write_text((TASK / "kernel" / "add_kernel.h").read_text())
    result = build(tmp_path, level=2, cache=build_cache)
    assert result.ok, result.log


@pytest.mark.parametrize(
    ("message", "helps"),
    [
        ("error: static assertion failed: at::randn is not supported by the CPU binding yet", True),
        ("error: 'class at::Tensor' has no member named 'index_put_'", True),
        ("error: ‘is_sparse_csr’ is not a member of ‘at’", True),
        ("fatal error: ATen/native/Resize.h: No such file or directory", True),
        ("error: 'why' was not declared in this scope", False),
        ("error: expected ';' before 'return'", False),
        ("error: unsupported: Conv3D (not modelled)", False),
    ],
)
def test_only_what_torch_may_have_leads_to_torchs_own_headers(message: str, helps: bool) -> None:
    assert realtorch.may_help(f"kernel/pybind11.cpp:3:1: {message}") == helps


@pytest.mark.skipif("OPMEND_SLOW_TESTS" not in os.environ, reason="takes minutes: set OPMEND_SLOW_TESTS=1")
def test_a_binding_beyond_the_stand_ins_builds_against_torchs_own_headers(kernel: Path, make: Make) -> None:
    options = "x.options().device(at::kPrivateUse1)"
    edit(kernel / "pybind11.cpp", "at::empty_like(x)", f"at::empty_strided(x.sizes(), x.strides(), {options})")
    result = make(kernel)
    assert result.ok and "compiled against torch's own" in result.log, result.log
