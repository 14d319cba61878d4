"""The candidate's process, with real wrappers: the honest one is described in full, and every way to misbehave
becomes a result.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import psutil
import pytest

from adapters import sandbox, tensorfile
from adapters.ascendc.cpu.build import BuildResult, build
from adapters.ascendc.cpu.symbolise import Symboliser
from adapters.runner import forkserver
from adapters.runner.client import CaseRun, ForkServer, Limits, Runner, RunnerError
from adapters.runner.materialise import materialise

TASK = Path(__file__).parent.parent / "ascendc" / "build" / "add_task"
RunWrapper = Callable[..., CaseRun]


def load(path: Path | None) -> list[Any]:
    assert path is not None
    return tensorfile.load(path, max_bytes=1 << 30)


def test_an_honest_candidate_returns_its_output_and_is_described(run_wrapper: RunWrapper, inputs: Path) -> None:
    case = run_wrapper()
    assert case.status == "ok", case
    x, y = load(inputs)
    (z,) = load(case.outputs)
    assert np.array_equal(z, x + y)
    assert (
        case.report
        and case.report["launches"][0]["kernel"] == "add_custom_fp32"
        and case.report["launches"][0]["block_dim"] == 4
    )
    assert case.report["findings"] == [] and case.report["error"] is None
    assert case.side["forward_ops"] == {"aten.empty_like.default": 1} and case.side["inputs_changed"] == []
    (output,) = case.side["outputs"]
    assert (output["dtype"], output["shape"], output["is_contiguous"], output["aliases_input"]) == (
        "float32",
        [5, 37],
        True,
        [],
    )
    assert output["type"] == "torch.Tensor" and case.side["module_file"].endswith(".so")
    assert any(
        write["base"] == output["base"] and write["written"] == 5 * 37 * 4
        for write in case.report["launches"][0]["writes"]
    )


def test_a_sparse_argument_arrives_as_a_sparse_tensor(run_wrapper: RunWrapper, inputs: Path) -> None:
    entries = np.array([[0, 1, 1], [2, 0, 0]])
    sparse = tensorfile.Sparse(entries, np.array([1, 2, 4], np.float32), (2, 3), False)
    tensorfile.save(inputs, [sparse, np.zeros((2, 3), np.float32)])
    case = run_wrapper("        return x.coalesce().to_dense() + y")
    assert case.status == "ok", case
    (got,) = load(case.outputs)
    np.testing.assert_array_equal(got, [[0, 0, 1], [6, 0, 0]])
    assert case.side["inputs_changed"] == []


def test_ghost_replay_leaves_the_output_poisoned(run_wrapper: RunWrapper) -> None:
    case = run_wrapper(noop=True)
    assert case.status == "ok" and len(case.report["launches"]) == 1
    assert np.isnan(load(case.outputs)[0]).all()


def test_the_order_of_cores_does_not_matter(run_wrapper: RunWrapper, inputs: Path) -> None:
    x, y = load(inputs)
    case = run_wrapper(reverse_cores=True)
    assert np.array_equal(load(case.outputs)[0], x + y)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("        raise ValueError('no such shape')", "error", "ValueError: no such shape (during forward)"),
        ("        import sys; sys.exit(0)", "error", "SystemExit"),
        ("        import os; os._exit(0)", "bad-output", "without writing its outputs"),
        ("        import os; os._exit(77)", "crash", "status 77"),
        ("        import ctypes; ctypes.string_at(8)", "crash", "segmentation fault"),
        ("        import os; os.abort()", "crash", "abort"),
        ("        return {'y': x}", "bad-output", "returned a dict"),
        ("        return x.to_sparse()", "bad-output", "layout torch.sparse_coo"),
        ("        return [object()]", "bad-output", "returned a object"),
        ("        return _ext.run_add(x, y[:1])", "error", "shapes differ: [5, 37] and [1, 37]"),
        ("        return _ext.run_add(x.double(), y.double())", "error", "unsupported dtype Double"),
        ("        return _ext.run_add(x, 3)", "error", "TypeError"),
        ("        from add_task.model import Model", "error", "the reference (model.py) is not available"),
        (
            "        import torch_npu; torch_npu.npu_rms_norm(x)",
            "error",
            "npu_rms_norm does not exist",
        ),
        ("        import adapters.sandbox", "error", "the engine is not available to the candidate"),
    ],
)
def test_misbehaviour_becomes_a_result(run_wrapper: RunWrapper, body: str, status: str, said: str) -> None:
    case = run_wrapper(body)
    assert case.status == status and said in case.detail, case
    assert case.outputs is None


def test_a_traceback_names_the_wrappers_line(run_wrapper: RunWrapper) -> None:
    case = run_wrapper("        raise ValueError('x')")
    assert "model_new_ascendc.py" in case.side["error"]["traceback"]


def test_an_endless_loop_is_a_timeout(run_wrapper: RunWrapper) -> None:
    case = run_wrapper("        while True: pass", limits=Limits(wall_seconds=1))
    assert case.status == "timeout" and case.seconds < 5


@pytest.mark.parametrize(
    "body", ["        b = [bytearray(1 << 26) for _ in range(100)]", "        torch.empty(1 << 33)"]
)
def test_too_much_memory_is_told_apart(run_wrapper: RunWrapper, body: str) -> None:
    case = run_wrapper(body, limits=Limits(wall_seconds=20, memory_bytes=256 << 20))
    assert case.status == "oom", case


def test_megabytes_of_prints_are_cut_and_harmless(run_wrapper: RunWrapper) -> None:
    body = (
        "        print('x' * 5_000_000)\n        import os; os.write(2, b'y' * 1000)\n        return _ext.run_add(x, y)"
    )
    case = run_wrapper(body, limits=Limits(wall_seconds=20, print_bytes=1000))
    assert case.status == "ok" and len(case.printed) < 1200 and "more bytes not kept" in case.printed


def test_printing_for_ever_is_a_timeout(run_wrapper: RunWrapper) -> None:
    assert run_wrapper("        while True: print('x' * 1000)", limits=Limits(wall_seconds=1)).status == "timeout"


def test_wrong_dtype_shape_and_several_outputs_arrive_as_they_are(run_wrapper: RunWrapper) -> None:
    body = "        return torch.ones(2, 3, dtype=torch.bfloat16), [torch.zeros(0, dtype=torch.int64)], 3, None"
    first, second, third, fourth = load(run_wrapper(body).outputs)
    assert first.dtype == ml_dtypes.bfloat16 and first.shape == (2, 3)
    assert second[0].dtype == np.int64 and second[0].shape == (0,)
    assert (third, fourth) == (3, None)


def test_a_changed_or_returned_input_is_noted(run_wrapper: RunWrapper) -> None:
    case = run_wrapper("        y.zero_()\n        return x.t()")
    assert case.side["inputs_changed"] == [1]
    (output,) = case.side["outputs"]
    assert output["aliases_input"] == [0] and not output["is_contiguous"]


def test_computing_with_torch_is_seen_in_wrapper_and_construction(run_wrapper: RunWrapper) -> None:
    source = (
        "import torch\nclass ModelNew(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = torch.exp(torch.ones(2))\n    def forward(self, x, y):\n        return x + y\n"
    )
    case = run_wrapper(source=source)
    assert case.status == "ok"
    assert "aten.add.Tensor" in case.side["forward_ops"] and "aten.exp.default" in case.side["setup_ops"]
    assert case.report["launches"] == []


def test_an_error_while_loading_says_so(run_wrapper: RunWrapper) -> None:
    assert "(during load)" in run_wrapper(source="import no_such_module\n").detail
    assert "defines no ModelNew" in run_wrapper(source="x = 1\n").detail


def test_files_of_the_engine_are_out_of_reach(run_wrapper: RunWrapper, tmp_path: Path) -> None:
    if not sandbox.isolation()["filesystem"].startswith("landlock"):
        pytest.skip(sandbox.isolation()["filesystem"])
    (tmp_path / "golden").write_text("42")
    for attempt in (f"open({str(tmp_path / 'golden')!r}).read()", f"open({str(tmp_path / 'new')!r}, 'w')"):
        case = run_wrapper(f"        {attempt}")
        assert case.status == "error" and "PermissionError" in case.detail


def test_a_candidate_cannot_hurt_or_outlive_its_server(run_wrapper: RunWrapper) -> None:
    body = """        import os, signal
        pid = os.fork()
        if pid == 0:
            os.setsid()
            while True: pass
        try:
            os.kill(os.getppid(), signal.SIGKILL)
        except PermissionError:
            print('denied', pid)
        return _ext.run_add(x, y)"""
    case = run_wrapper(body)
    if sandbox.isolation()["filesystem"].startswith("landlock"):
        assert case.status == "ok" and case.printed.startswith("denied")
        assert not psutil.pid_exists(int(case.printed.split()[1]))
    else:
        assert case.status == "crash"


def test_the_answer_channel_is_closed_to_the_candidate(run_wrapper: RunWrapper) -> None:
    body = """        import os
        print([os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if int(n) > 2 and
               os.path.lexists(f'/proc/self/fd/{n}')])
        return x.clone()"""
    case = run_wrapper(body)
    assert "pipe:" not in case.printed, case.printed


def test_a_dead_server_costs_one_case(built: BuildResult, tmp_path: Path, inputs: Path) -> None:
    assert built.so_path
    folder = materialise(tmp_path / "c", task_dir=TASK, wrapper="model_new_ascendc.py", module_so=built.so_path)
    with ForkServer() as server:
        server.start()
        runner = Runner(folder, built.so_path, server=server)
        assert server.pid
        os.kill(server.pid, signal.SIGKILL)
        statuses = [runner.run(inputs, tmp_path / "out").status for _ in range(2)]
    assert statuses[-1] == "ok" and statuses[0] in ("ok", "crash")


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("DataCopyPad(zGm_[start], z, bytes)", "DataCopyPad(zGm_[start + 8], z, bytes)", "gm-out-of-bounds"),
        ("DataCopyPad(x, xGm_[start], bytes, pad)", "DataCopyPad(x[1], xGm_[start], bytes, pad)", "ub-misaligned"),
    ],
)
def test_a_finding_is_placed_on_the_line_of_the_users_kernel(
    tmp_path: Path, cache: Path, inputs: Path, server: ForkServer, old: str, new: str, kind: str
) -> None:
    shutil.copytree(TASK / "kernel", tmp_path / "kernel")
    header = tmp_path / "kernel" / "add_kernel.h"
    text = header.read_text()
    assert text.count(old) == 1
    header.write_text(text.replace(old, new))
    result = build(tmp_path / "kernel", level=2, cache=cache / "builds")
    assert result.so_path, result.log
    folder = materialise(tmp_path / "c", task_dir=TASK, wrapper="model_new_ascendc.py", module_so=result.so_path)
    case = Runner(folder, result.so_path, server=server).run(inputs, tmp_path / "out")
    assert case.report, case
    stacks = [finding["frames"] for finding in case.report["findings"] if finding["kind"] == kind]
    place = Symboliser(result.so_path).locate(stacks[0])
    assert place and (place.file, place.line) == ("add_kernel.h", text[: text.index(old)].count("\n") + 1)


def test_server_and_case_end_with_the_engine(built: BuildResult, tmp_path: Path, inputs: Path) -> None:
    assert built.so_path
    task = tmp_path / "t"
    task.mkdir()
    (task / "w.py").write_text("while True: pass\n")
    materialise(tmp_path / "c", task_dir=task, wrapper="w.py", module_so=built.so_path)
    program = f"""
from pathlib import Path
from adapters.runner.client import ForkServer, Limits, Runner
server = ForkServer()
server.start()
print(server.pid, flush=True)
runner = Runner(Path({str(tmp_path / "c")!r}), Path({str(built.so_path)!r}), Limits(wall_seconds=60), wrapper="w.py",
                server=server)
runner.run(Path({str(inputs)!r}), Path({str(tmp_path / "out")!r}))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as engine:
        assert engine.stdout
        running = psutil.Process(int(engine.stdout.readline()))
        until = time.monotonic() + 30
        while not (children := running.children()) and time.monotonic() < until:
            os.sched_yield()
        engine.kill()
    assert children
    _, alive = psutil.wait_procs([running, *children], timeout=10)
    assert all(process.status() == psutil.STATUS_ZOMBIE for process in alive)


def test_a_server_without_torch_is_the_environments_fault(
    monkeypatch: pytest.MonkeyPatch, built: BuildResult, tmp_path: Path, inputs: Path
) -> None:
    (tmp_path / "broken.py").write_text("raise ImportError('no torch here')\n")
    monkeypatch.setattr(forkserver, "_SERVER", tmp_path / "broken.py")
    assert built.so_path
    with pytest.raises(RunnerError, match="no torch here"), Runner(tmp_path / "c", built.so_path) as runner:
        runner.run(inputs, tmp_path / "out")
