"""One case in the candidate's process: load the wrapper, build ``ModelNew``, call ``forward``, write what came back.

Runs in a process forked for this case, already under limits. What it writes about itself (the side file) helps
diagnosis and is cross-checked by the engine; it is no proof, because the candidate shares this process. Exit codes
are the coarse outcome: see ``EXIT_*``.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import json
import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

EXIT_OK, EXIT_ERROR, EXIT_OOM, EXIT_BAD_OUTPUT = 0, 10, 11, 12
_MEMORY_WORDS = (
    "can't allocate memory",
    "not enough memory",
    "std::bad_alloc",
    "Cannot allocate memory",
    "out of memory",
)
_TRACEBACK_LIMIT = 8000


_TORCH_NAMESPACES = frozenset({"aten", "prims", "prim", "quantized", "mkldnn", "_quantized", "profiler", "debugprims"})
_READS_NOTHING = ("empty", "new_", "zero", "ones", "full", "fill_")
_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


class BadOutputError(Exception):
    """``forward`` returned something that is no tensor, plain value, or list or tuple of them."""


class Spy(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the operators that run, also those called from C++ and inside operators of the candidate's own.

    With ``register`` every tensor that an operator makes is made known to the device: not every binding does so when
    a pointer leaves.
    """

    def __init__(self, register: Callable[[torch.Tensor], None] | None = None) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter()
        self.read: dict[int, int] = {}  # storages that operators read: address -> bytes
        self._register = register

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.counts[str(func)] += 1
        if func.namespace in _TORCH_NAMESPACES:
            result = func(*args, **(kwargs or {}))
            self._note_read(func, args)
        else:
            with self:  # straight to the registered function, and what it calls comes by here again
                result = func.redispatch(_CPU, *args, **(kwargs or {}))
        if self._register is not None:
            for tensor in _tensors(result):
                self._register(tensor)
        return result

    def _note_read(self, func: Any, args: Any) -> None:
        """Remember whose values an operator read; views, allocations and fillings read none."""
        name = str(func._schema.name).removeprefix("aten::")
        if name.startswith(_READS_NOTHING) or any(
            a.alias_info is not None and not a.alias_info.is_write for a in func._schema.arguments
        ):
            return
        for tensor in _tensors([*(args[1:] if name == "copy_" else args)]):
            try:
                storage = tensor.untyped_storage()
                self.read[storage.data_ptr()] = storage.nbytes()
            except (NotImplementedError, RuntimeError):
                continue


def _registrar(runtime: ctypes.CDLL) -> Callable[[torch.Tensor], None]:
    """What tells the device the exact extent of a tensor's storage."""
    tell = runtime.opmend_gm_register
    tell.argtypes, tell.restype = [ctypes.c_void_p, ctypes.c_uint64], None

    def register(tensor: torch.Tensor) -> None:
        try:
            storage = tensor.untyped_storage()
            if storage.nbytes():
                tell(storage.data_ptr(), storage.nbytes())
        except (NotImplementedError, RuntimeError):  # no storage of its own (sparse, or not materialised)
            return

    return register


def _register_with_pointers(register: Callable[[torch.Tensor], None]) -> None:
    """Whenever Python asks a tensor for its address (a ctypes launcher), the device learns the tensor's extent."""
    plain = torch.Tensor.data_ptr

    def data_ptr(self: torch.Tensor) -> int:
        register(self)
        return plain(self)

    torch.Tensor.data_ptr = data_ptr  # type: ignore[method-assign, assignment]


def warm_up() -> None:
    """In the server, before any fork: set torch up and touch what is imported lazily, so that no case pays for it.

    One thread, and fresh memory filled with NaN (the largest value for integers): on zeroed memory a kernel that
    leaves part of its output unset could pass.
    """
    torch.set_num_threads(1)
    # torch.use_deterministic_algorithms does this after importing the compiler stack, which takes seconds
    torch._C._set_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = True  # type: ignore[attr-defined]
    with torch.no_grad(), Spy():
        torch.nn.Module()
        torch.empty(2, 2).reshape(4).contiguous().to(torch.float16).numpy()
    torch.manual_seed(0)


def run_case(job: dict[str, Any], tensorfile: ModuleType, guard: ModuleType) -> int:
    """Run the case that ``job`` describes; writes ``side.json`` and, when all went well, ``outputs.tensors`` to its
    folder.
    """
    out = Path(job["out_dir"])
    side: dict[str, Any] = {"stage": "load"}
    code = EXIT_OK
    try:
        _run(job, tensorfile, guard, out, side)
    except BadOutputError as error:
        code = EXIT_BAD_OUTPUT
        side["error"] = {"type": "BadOutput", "message": str(error), "traceback": ""}
    except BaseException as error:  # the candidate may raise anything, SystemExit included
        text = _message(error)
        code = EXIT_OOM if isinstance(error, MemoryError) or any(word in text for word in _MEMORY_WORDS) else EXIT_ERROR
        trace = "".join(traceback.format_exception(error, limit=20))
        side["error"] = {"type": type(error).__name__, "message": text, "traceback": trace[-_TRACEBACK_LIMIT:]}
    if "report" not in side and "runtime" in job:
        side["report"] = _report(job["runtime"])
    (out / "side.json").write_text(json.dumps(side))
    return code


def _run(job: dict[str, Any], tensorfile: ModuleType, guard: ModuleType, out: Path, side: dict[str, Any]) -> None:
    folder = Path(job["folder"])
    runtime = ctypes.CDLL(job["runtime"], mode=os.RTLD_GLOBAL | os.RTLD_NOW)
    runtime.opmend_set_noop(int(job["noop"]))
    runtime.opmend_set_core_order(int(job["reverse_cores"]))
    _set_recorder(runtime, job["recorder"])
    initial = [_to_torch(value, tensorfile) for value in _load(job["init_inputs"], job, tensorfile)]
    inputs = [_to_torch(value, tensorfile) for value in _load(job["inputs"], job, tensorfile)]
    register = _registrar(runtime)
    _register_with_pointers(register)
    tensors = _tensors(inputs)
    before = [_digest(tensor) for tensor in tensors]
    guard.redirect_libraries(folder / "kernel" / "build" / job["module_file"])
    guard.install(folder, job["task_name"])
    if job.get("import_from"):
        sys.path.insert(1, job["import_from"])
    setup_spy, forward_spy = Spy(), Spy(register)
    with torch.no_grad(), setup_spy:
        module = _load_wrapper(folder / job["wrapper"])
        side["stage"] = "construct"
        torch.manual_seed(job["seed"])
        model = module.ModelNew(*initial)
    side["setup_ops"] = dict(setup_spy.counts)
    side["setup_report"] = _report(job["runtime"])
    runtime.opmend_reset()
    held = [*model.parameters(), *model.buffers()] if isinstance(model, torch.nn.Module) else []
    for tensor in (*tensors, *held):
        register(tensor)
    side["stage"] = "forward"
    try:
        with torch.no_grad(), forward_spy:
            result = model(*inputs)
    finally:
        side["forward_ops"] = dict(forward_spy.counts)
        side["torch_read"] = [{"base": hex(base), "nbytes": size} for base, size in forward_spy.read.items()]
        side["report"] = _report(job["runtime"])
        if job["recorder"]:
            side["recording"] = _report(job["runtime"], "opmend_records_json")
    side["stage"] = "outputs"
    side["inputs"] = [_describe(tensor, []) for tensor in tensors]
    side["inputs_changed"] = [index for index, tensor in enumerate(tensors) if _digest(tensor) != before[index]]
    side["outputs"] = [_describe(tensor, tensors) for tensor in _tensors([result])]
    side["module_file"] = str(getattr(sys.modules.get(job["module_name"]), "__file__", None))
    values = [_from_torch(item, tensorfile) for item in (result if isinstance(result, list | tuple) else [result])]
    tensorfile.save(out / "outputs.tensors", values)
    side["returned"] = type(result).__name__
    side["stage"] = "done"


def _load(path: str | None, job: dict[str, Any], tensorfile: ModuleType) -> list[Any]:
    return list(tensorfile.load(Path(path), max_bytes=job["max_input_bytes"])) if path else []


def _load_wrapper(path: Path) -> ModuleType:
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} cannot be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    if not hasattr(module, "ModelNew"):
        raise ImportError(f"{path.name} defines no ModelNew")
    return module


def _to_torch(value: Any, tensorfile: ModuleType) -> Any:
    if isinstance(value, np.ndarray):
        raw = value.view(np.uint16) if value.dtype == ml_dtypes.bfloat16 else value
        tensor = torch.empty(
            raw.shape, dtype=torch.from_numpy(raw).dtype
        )  # torch's own, aligned memory of the exact size
        tensor.copy_(torch.from_numpy(raw))
        return tensor.view(torch.bfloat16) if value.dtype == ml_dtypes.bfloat16 else tensor
    if isinstance(value, tensorfile.DType):
        return getattr(torch, value.name)
    if isinstance(value, list | tuple):
        return type(value)(_to_torch(item, tensorfile) for item in value)
    if isinstance(value, dict):
        return {key: _to_torch(item, tensorfile) for key, item in value.items()}
    return value


def _from_torch(value: Any, tensorfile: ModuleType, depth: int = 0) -> Any:
    if isinstance(value, torch.Tensor):
        if value.layout != torch.strided or value.is_quantized or value.device.type != "cpu":
            raise BadOutputError(
                f"forward returned a tensor of layout {value.layout} on {value.device}: a dense CPU tensor is needed"
            )
        plain = value.detach().contiguous()
        if plain.dtype == torch.bfloat16:
            return plain.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
        try:
            return plain.resolve_conj().resolve_neg().numpy()
        except TypeError as error:
            raise BadOutputError(f"forward returned a tensor of dtype {value.dtype}: {error}") from None
    if isinstance(value, torch.dtype):
        return tensorfile.DType(str(value).removeprefix("torch."))
    if isinstance(value, list | tuple) and depth < 8:
        items = [_from_torch(item, tensorfile, depth + 1) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if value is None or type(value) in (bool, int, float, complex, str):
        return value
    raise BadOutputError(
        f"forward returned a {type(value).__name__}, not a tensor, a plain value, or a list or tuple of them"
    )


def _tensors(values: Any) -> list[torch.Tensor]:
    if isinstance(values, torch.Tensor):
        return [values]
    if isinstance(values, list | tuple):
        return [tensor for value in values for tensor in _tensors(value)]
    return [tensor for value in values.values() for tensor in _tensors(value)] if isinstance(values, dict) else []


def _digest(tensor: torch.Tensor) -> str:
    flat = tensor.detach().contiguous().reshape(-1)
    return hashlib.blake2b(flat.view(torch.uint8).numpy().tobytes(), digest_size=16).hexdigest()


def _describe(tensor: torch.Tensor, inputs: list[torch.Tensor]) -> dict[str, Any]:
    """A tensor's metadata; ``base`` and ``nbytes`` are its storage's, as the device's report names them."""
    described = {
        "type": f"{type(tensor).__module__}.{type(tensor).__qualname__}",
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
        "device": str(tensor.device),
        "is_contiguous": tensor.is_contiguous(),
    }
    try:
        storage = tensor.untyped_storage()
        described["base"], described["nbytes"] = hex(storage.data_ptr()), storage.nbytes()
        described["offset"] = tensor.storage_offset() * tensor.element_size()
        described["aliases_input"] = [
            i
            for i, other in enumerate(inputs)
            if storage.nbytes() and other.untyped_storage().data_ptr() == storage.data_ptr()
        ]
    except (NotImplementedError, RuntimeError):
        described["base"] = None
    return described


def _set_recorder(runtime: ctypes.CDLL, bounds: list[int] | None) -> None:
    """The flight recorder: so many instructions of a place on a core, and so many in all; or off."""
    per_place, total = bounds or (0, 0)
    runtime.opmend_set_recorder.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    runtime.opmend_set_recorder(per_place, total)


def _report(runtime_path: str, what: str = "opmend_report_json") -> dict[str, Any] | None:
    try:
        ask = getattr(ctypes.CDLL(runtime_path), what)
        ask.restype = ctypes.c_char_p
        found = json.loads(ask().decode("utf-8", "replace"))
        return found if isinstance(found, dict) else None
    except (OSError, AttributeError, ValueError):
        return None


def _message(error: BaseException) -> str:
    try:
        return str(error)[:2000]
    except BaseException:  # a hostile __str__
        return f"<{type(error).__name__} without a message>"
