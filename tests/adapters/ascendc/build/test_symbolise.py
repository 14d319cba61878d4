"""Addresses become lines of the user's file, also through inlined calls; nonsense becomes None."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from adapters.ascendc.cpu.build import BuildResult
from adapters.ascendc.cpu.symbolise import Symboliser


def test_an_address_inside_a_launcher_names_its_line(kernel: Path, make: Callable[[Path], BuildResult]) -> None:
    result = make(kernel)
    assert result.so_path
    names = subprocess.run(["nm", str(result.so_path)], capture_output=True, text=True, check=True).stdout
    match = re.search(r"^([0-9a-f]+) T add_do_fp32$", names, re.MULTILINE)
    assert match
    stack = [["/usr/lib/libc.so.6", "0x10"], [f"/elsewhere/{result.so_path.name}", hex(int(match[1], 16) + 4)]]
    symboliser = Symboliser(result.so_path)
    place = symboliser.locate(stack)
    assert place and place.file == "add_fp32.cpp" and 11 <= place.line <= 13
    assert symboliser.locate_all([[], stack[:1], [["x"]], [[result.so_path.name, "zz"]], stack])[:4] == [None] * 4
