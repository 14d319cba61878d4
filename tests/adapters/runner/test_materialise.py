"""What a candidate gets to see on disk: its needs, and no reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from adapters import sandbox
from adapters.ascendc.cpu.build import BuildResult
from adapters.runner.client import CaseRun, ForkServer, Runner
from adapters.runner.materialise import materialise, needed_helpers

TASK = Path(__file__).parent.parent / "ascendc" / "build" / "add_task"


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_only_helpers_that_the_wrapper_reaches_are_needed(tmp_path: Path) -> None:
    task = write(
        tmp_path,
        w="import torch\nfrom my_task.shapes import pad\nfrom .lib import inner\nimport model, a.b\n",
        shapes="import deeper\n",
        deeper="from current_task import model, extra\n",
        extra="",
        model="import golden\n",
        golden="",
        unrelated="",
        lib__inner="from . import sibling\n",
        lib__sibling="",
        lib__other="",
    )
    found = needed_helpers(task, wrapper="w.py", task_name="my_task")
    assert found == ("deeper.py", "extra.py", "lib/inner.py", "lib/sibling.py", "shapes.py")


def test_the_folder_holds_wrapper_helpers_module_and_constants_only(tmp_path: Path, built: BuildResult) -> None:
    task = write(tmp_path / "t", w="", h="", model="K = 1\nclass Model: pass\n", case="")
    assert built.so_path
    folder = materialise(tmp_path / "c", task_dir=task, wrapper="w.py", module_so=built.so_path, helpers=["h.py"])
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {"w.py", "h.py", "model.py", f"kernel/build/{built.so_path.name}", "kernel/build/libopmend_rt.so"}
    assert "class Model" not in (folder / "model.py").read_text()


@pytest.mark.parametrize("helper", ["../x.py", "/etc/passwd", "model.py"])
def test_a_helper_outside_the_task_or_the_reference_is_refused(tmp_path: Path, built: BuildResult, helper: str) -> None:
    task = write(tmp_path / "t", w="", model="")
    assert built.so_path
    with pytest.raises(ValueError, match=r"not inside|the reference"):
        materialise(tmp_path / "c", task_dir=task, wrapper="w.py", module_so=built.so_path, helpers=[helper])


def test_a_changed_folder_is_not_run(tmp_path: Path, built: BuildResult, server: ForkServer, inputs: Path) -> None:
    assert built.so_path
    folder = materialise(tmp_path / "c", task_dir=TASK, wrapper="model_new_ascendc.py", module_so=built.so_path)
    runner = Runner(folder, built.so_path, server=server)
    assert runner.run(inputs, tmp_path / "out").status == "ok"
    (folder / "sitecustomize.py").write_text("")
    assert "not as the engine made it" in runner.run(inputs, tmp_path / "out").detail


def test_a_running_case_cannot_change_its_folder(run_wrapper: Callable[..., CaseRun]) -> None:
    case = run_wrapper("        open(__file__, 'a').write('x')")
    if not sandbox.isolation()["filesystem"].startswith("landlock"):
        pytest.skip(sandbox.isolation()["filesystem"])
    assert case.status == "error" and "PermissionError" in case.detail
