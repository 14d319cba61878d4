"""The files of a task directory: found, missing, ambiguous; and loading a task, which runs none of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.tasks import DirectTask, load_task
from statemachine.ports import Task, UsageError
from tests.adapters.tasks.scale_task import MODEL, MakeTask, case, lines


def load(folder: Path, candidate: Path | None = None) -> DirectTask:
    return load_task(folder, candidate_dir=candidate, cache=folder.parent / "cache")


def test_a_task_is_loaded_with_its_cases_and_its_near_miss(make_task: MakeTask) -> None:
    folder = make_task()
    task: Task = load(folder)
    assert task.ref.name == "scale" and task.ref.path == str(folder) and task.ref.layout == "direct"
    assert (task.ref.compact.count, task.ref.full.count) == (2, 3)
    assert not task.ref.coverage_equivalent and task.ref.warnings == ()
    assert dict(task.candidate.files) == {"pybind11.cpp": "// binding\n", "scale.cpp": "// kernel\n"}
    assert task.reference_source == MODEL and "ModelNew" in task.wrapper_source
    assert task.descriptors("full")[2]["inputs"][0] == {
        "name": "x", "type": "tensor", "dtype": "float16", "shape": [3, 3, 3]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model.py": None}, r"model\.py: missing; .* the reference"),
        ({"model_new_ascendc.py": None}, r"model_new_ascendc\.py: missing; .* the wrapper"),
        ({"kernel/scale.cpp": None, "kernel/pybind11.cpp": None}, r"kernel: missing; .*--candidate"),
        (
            {"kernel/scale.cpp": None, "kernel/pybind11.cpp": None, "kernel/CMakeLists.txt": ""},
            r"kernel: no kernel sources",
        ),
        ({"scale.json": None}, r"scale\.json: missing; the full cases scale_all_case\.json need"),
        ({"scale.json": None, "scale_all_case.json": None, "model.py": "class Model: pass"}, r"scale: no cases: add"),
        (
            {"other.json": lines(case([1])), "other_all_case.json": lines(case([1]))},
            r"cannot tell .* other\.json",
        ),
        ({"model.py": "class Model:\n  def"}, r"model\.py:2: not Python"),
        ({"model.py": "def get_inputs(): return []"}, r"model\.py: defines no class `Model`"),
    ],
)
def test_what_is_missing_or_broken_is_named(make_task: MakeTask, changes: dict[str, str | None], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load(make_task(**changes))


def test_a_directory_that_is_not_there_is_no_task(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such task: .*nowhere does not exist"):
        load(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"no such task: .*file is a file"):
        load(tmp_path / "file")


def test_kernel_sources_must_be_text(make_task: MakeTask) -> None:
    folder = make_task()
    (folder / "kernel" / "bad.h").write_bytes(b"// \xff")
    with pytest.raises(UsageError, match=r"bad\.h: not UTF-8 at byte 3"):
        load(folder)


def test_build_products_are_no_part_of_the_candidate_and_prebuilt_files_are_warned_about(make_task: MakeTask) -> None:
    folder = make_task(**{"kernel/build/gen.cpp": "x", "kernel/op/tile.h": "// tile\n", "kernel/CMakeLists.txt": ""})
    (folder / "kernel" / "lib.so").write_bytes(b"\x7fELF")
    task = load(folder)
    assert sorted(task.candidate.files) == ["op/tile.h", "pybind11.cpp", "scale.cpp"]
    assert task.ref.warnings == (
        "prebuilt files in kernel/ are ignored, the candidate is built from its sources: lib.so",
    )


@pytest.mark.parametrize("where", ["", "kernel"])
def test_another_candidate_stands_in_for_the_kernel_folder(make_task: MakeTask, where: str) -> None:
    folder = make_task()
    other = folder.parent / "mine"
    (other / where).mkdir(parents=True)
    (other / where / "scale.cpp").write_text("// mine\n")
    task, plain = load(folder, other), load(folder)
    assert dict(task.candidate.files) == {"scale.cpp": "// mine\n"}
    assert task.ref.digest != plain.ref.digest
    assert task.reference_digest == plain.reference_digest, "expected outputs are shared between candidates"
    with pytest.raises(UsageError, match="nothere: no such candidate directory"):
        load(folder, folder.parent / "nothere")


def test_without_full_cases_the_compact_ones_decide_and_that_is_said(make_task: MakeTask) -> None:
    task = load(make_task(**{"scale_all_case.json": None}))
    assert task.ref.coverage_equivalent and task.ref.full == task.ref.compact
    assert "there is no full case file" in task.ref.warnings[0]


def test_full_cases_that_add_nothing_are_recognised(make_task: MakeTask) -> None:
    task = load(make_task(**{"scale_all_case.json": lines(case([17]), case([4, 8]), case([17]))}))
    assert task.ref.coverage_equivalent and task.ref.full.count == 3
    assert "all among the compact ones" in task.ref.warnings[0]


@pytest.mark.parametrize("name", ["model.py", "model_new_ascendc.py", "kernel/scale.cpp", "scale.json", "helper.py"])
def test_the_task_digest_covers_every_file_that_counts(make_task: MakeTask, name: str) -> None:
    folder = make_task(**{"helper.py": "A = 1\n", "notes.md": "one"})
    before = load(folder).ref.digest
    (folder / "notes.md").write_text("two")
    (folder / "model_new_tilelang.py").write_text("other backend")
    assert load(folder).ref.digest == before
    with (folder / name).open("a") as file:
        file.write("\n" if name != "scale.json" else lines(case([5])))
    assert load(folder).ref.digest != before


def test_helpers_that_the_wrapper_may_import_are_offered(make_task: MakeTask) -> None:
    task = load(
        make_task(**{"helper.py": "A = 1\n", "parts/__init__.py": "", "parts/b.py": "B = 2\n", "data.csv": "1"})
    )
    assert dict(task.helpers) == {"helper.py": "A = 1\n", "parts/__init__.py": "", "parts/b.py": "B = 2\n"}
