"""The launch rewrite: every launch form seen in the wild, and nothing else touched."""

from __future__ import annotations

import pytest

from adapters.ascendc.cpu.rewrite import rewrite_launches

HEAD = "::opmend::Launcher"


def launcher(name: str, *config: str) -> str:
    return f'{HEAD}("{name}", __FILE__, __LINE__, ' + ", ".join(f"({part})" for part in config) + ")"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("k<<<n, nullptr, s>>>(a, b);", launcher("k", "n", "nullptr", "s") + "(k, a, b);"),
        ("k<T><<<n, nullptr, s>>>(a);", launcher("k<T>", "n", "nullptr", "s") + "(k<T>, a);"),
        ("k<A<int>, 8> <<<n, l, s>>> (a);", launcher("k<A<int>,8>", "n", "l", "s") + " (k<A<int>, 8> , a);"),
        (
            "ns::k<<<f(a, b), nullptr, g{1, 2}.s>>>();",
            launcher("ns::k", "f(a, b)", "nullptr", "g{1, 2}.s") + "(ns::k);",
        ),
        ("k<<<min<int>(a, b), nullptr, s>>>(x);", launcher("k", "min<int>(a, b)", "nullptr", "s") + "(k, x);"),
        ("k<<<max<int, L<int>>(a, b), 0, s>>>(x);", launcher("k", "max<int, L<int>>(a, b)", "0", "s") + "(k, x);"),
        ("k<<<a < b ? a : b, nullptr, s>>>(x);", launcher("k", "a < b ? a : b", "nullptr", "s") + "(k, x);"),
        ("k<<<N<A<B>>, 0, V<A<B>>>>>(x);", launcher("k", "N<A<B>>", "0", "V<A<B>>") + "(k, x);"),
        ("k<<<8>>>(x);", launcher("k", "8", "nullptr", "nullptr") + "(k, x);"),
        ("k_##T<<<8, 0, s>>>(x);", launcher("k_##T", "8", "0", "s") + "(k_##T, x);"),
    ],
)
def test_launch_forms(source: str, expected: str) -> None:
    assert rewrite_launches(source) == expected


def test_two_launches_on_one_line_both_change() -> None:
    assert rewrite_launches("a<<<1,0,s>>>(x); b<<<2,0,s>>>(y);").count(HEAD) == 2


def test_line_numbers_stay_when_the_configuration_spans_lines() -> None:
    source = (
        "int a;\nk<T>\n  <<<\n  n, // blocks, all of them\n  nullptr, /* l2\n ctrl */ s\n>>>(\n  x,\n  y);\nint b;\n"
    )
    out = rewrite_launches(source)
    assert out.count("\n") == source.count("\n")
    assert out.splitlines()[-1] == "int b;"
    assert "blocks" not in out


@pytest.mark.parametrize(
    "source",
    [
        "// k<<<1,0,s>>>(x);",
        "/* k<<<1,0,s>>>(x); */",
        'auto s = "k<<<1,0,s>>>(x)";',
        'auto s = R"(k<<<1,0,s>>>(x))";',
        "x = a << b >> 3;",
    ],
)
def test_comments_and_strings_are_left_alone(source: str) -> None:
    assert rewrite_launches(source) == source


@pytest.mark.parametrize(
    "source", ["k<<<1, 0, s;", "k<<<1, 0, s>>>;", "<<<1>>>(x);", "k<<<(1>>>(x);", "<<<", "k<<<>>>"]
)
def test_what_cannot_be_read_is_left_for_the_compiler_to_report(source: str) -> None:
    assert rewrite_launches(source) == source


def test_a_launch_after_a_digit_separator_is_found() -> None:
    assert HEAD in rewrite_launches("int n = 1'000; k<<<n, 0, s>>>(x);")


def test_a_launch_inside_a_macro_keeps_its_continuations() -> None:
    out = rewrite_launches("#define GO(T) \\\n  k_##T<<<n, \\\n    0, s>>>(x)\n")
    assert out.count("\\\n") == 2
    assert HEAD in out
