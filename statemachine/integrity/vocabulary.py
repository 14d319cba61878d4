"""The words the Python reader decides by: which names may touch tensor values, and which may not appear at all.

Everything that is not listed as allowed is refused (default deny), so a forgotten name costs a false alarm and never a
missed cheat. Tensor method and function names follow the public torch API reference.
"""

from __future__ import annotations

from statemachine.integrity.wordset import wordset

#: Tensor attributes that are metadata: the result carries no element value.
METADATA_ATTRIBUTES = wordset(
    "shape dtype device ndim layout is_cuda is_npu is_cpu is_sparse is_quantized requires_grad is_leaf itemsize "
    "nbytes names grad grad_fn output_nr"
)
#: Metadata that measures a tensor: zero means that it is empty.
EXTENTS = wordset("shape size numel nelement nbytes")
#: Tensor attributes that are views of the same storage.
VIEW_ATTRIBUTES = wordset("T mT data real imag")
#: Tensor methods that return metadata.
METADATA_METHODS = wordset(
    "size stride dim ndimension numel nelement is_contiguous element_size data_ptr storage_offset get_device "
    "is_floating_point is_complex is_signed untyped_storage storage is_pinned is_same_size record_stream "
    "is_set_to is_shared is_contiguous"
)
#: Tensor methods (and torch functions of the same name) that give a view, a copy or a cast.
VIEW_METHODS = wordset(
    "view reshape permute transpose t contiguous squeeze unsqueeze flatten unflatten expand expand_as view_as "
    "reshape_as narrow unbind split split_with_sizes chunk tensor_split detach detach_ alias swapaxes swapdims "
    "movedim moveaxis as_strided unfold diagonal select broadcast_to requires_grad_ squeeze_ unsqueeze_ "
    "transpose_ ravel view_as_real view_as_complex atleast_1d atleast_2d atleast_3d"
)
COPY_METHODS = wordset("clone to type type_as half float double bfloat16 npu cuda pin_memory")
INTEGER_CASTS = wordset("int long short char byte bool")
NEW_METHODS = wordset("new_empty new_zeros new_ones new_full new_empty_strided new_tensor")
#: In-place writes; what they write is followed.
WRITE_METHODS = wordset("copy_ fill_ zero_")
#: Reading tensor elements into Python or host libraries.
HOST_READS = wordset("item tolist numpy __array__ __dlpack__ __float__ __int__ __bool__ __index__")
#: Methods of plain Python containers and strings that an untyped value may be asked for.
PLAIN_METHODS = wordset(
    "append extend insert items keys values get setdefault update pop copy lower upper startswith endswith strip "
    "split join format replace is_integer index add union difference intersection as_posix"
)

#: torch functions that allocate; their content is constant or undefined.
ALLOCATIONS = wordset(
    "empty zeros ones full empty_like zeros_like ones_like full_like empty_strided arange tensor as_tensor "
    "scalar_tensor eye"
)
RANDOM_ALLOCATIONS = wordset("rand randn randint randperm rand_like randn_like normal")
#: torch functions and types that give or need no tensor value.
TORCH_PLAIN = wordset(
    "is_tensor numel Size Tensor device dtype finfo iinfo no_grad inference_mode enable_grad set_grad_enabled "
    "get_default_dtype is_floating_point broadcast_shapes result_type promote_types can_cast is_complex Generator "
    "manual_seed"
)
#: torch namespaces that only manage devices.
TORCH_DEVICE_NAMESPACES = ("torch.npu.", "torch_npu.npu.", "torch.cuda.", "torch.version.", "torch.backends.")
PAD_FUNCTIONS = frozenset({"torch.nn.functional.pad", "torch.constant_pad_nd", "torch.nn.functional.constant_pad_nd"})
#: Functions that shape index tensors; flagged, not failed, when no floating input is involved.
INDEX_FUNCTIONS = wordset("where clamp minimum maximum remainder floor_divide")
NN_CONTAINERS = wordset("Module ModuleList ModuleDict Sequential ParameterList ParameterDict Identity")
NN_PARAMETERS = wordset("Parameter Buffer UninitializedParameter")
#: Registries under torch.ops that are not the candidate's.
FOREIGN_OP_NAMESPACES = wordset(
    "aten prims prim prims quantized mkldnn mkldnn_prepacked npu torch_npu torchvision inductor higher_order "
    "profiler _caffe2 _C _quantized onednn sparse xnnpack rngprims static_runtime debugprims c10d"
)

#: Dotted names that no wrapper needs, and why they are refused wherever they appear.
REFUSED = {
    "builtins.exec": "runs text as code",
    "builtins.eval": "runs text as code",
    "builtins.compile": "runs text as code",
    "builtins.__import__": "imports by a computed name",
    "builtins.globals": "reaches names indirectly",
    "builtins.vars": "reaches names indirectly",
    "builtins.open": "reads or writes files",
    "builtins.input": "reads the process's input",
    "builtins.breakpoint": "starts a debugger",
    "builtins.delattr": "removes attributes of other objects",
    "sys.modules": "finds other modules of the process",
    "sys.meta_path": "changes how imports work",
    "sys.path_hooks": "changes how imports work",
    "sys._getframe": "reads the caller's variables",
    "sys._current_frames": "reads other frames",
    "sys.settrace": "observes other code",
    "sys.setprofile": "observes other code",
    "sys.exit": "ends the process",
    "os.system": "starts a program",
    "os.popen": "starts a program",
    "os._exit": "ends the process unseen",
    "os.fork": "starts a process",
    "os.kill": "signals a process",
    "os.dup2": "touches the result channel",
    "os.write": "touches the result channel",
    "os.open": "reads or writes files",
    "os.fdopen": "touches the result channel",
    "os.remove": "changes files",
    "os.rename": "changes files",
    "os.replace": "changes files",
    "os.unlink": "changes files",
    "operator.attrgetter": "looks attributes up by text",
    "operator.methodcaller": "calls methods by text",
    "torch.load": "reads stored tensors",
    "torch.save": "writes tensors to files",
    "torch.from_file": "reads stored tensors",
    "torch.compile": "compiles computation",
    "torch.jit": "compiles computation",
    "torch.fx": "compiles computation",
    "torch.library": "registers computation",
    "torch.hub": "loads foreign code",
    "torch.utils.cpp_extension": "builds code outside the engine's build",
    "torch.utils.dlpack": "hands tensor memory to other libraries",
    "torch.overrides": "intercepts torch",
    "torch.utils._python_dispatch": "intercepts torch",
    "torch.multiprocessing": "starts processes",
    "torch.storage": "edits storages",
    "torch._C": "reaches torch's internals",
    "torch._dynamo": "compiles computation",
    "torch._inductor": "compiles computation",
    "torch._ops": "reaches torch's internals",
    "importlib.reload": "re-runs a module",
    "importlib.machinery.SourceFileLoader": "loads Python source as the extension",
    "pathlib.Path().read_text": "reads files",
}
#: Whole modules that no wrapper needs.
REFUSED_MODULES = wordset(
    "inspect gc subprocess pickle marshal shelve dill cloudpickle joblib multiprocessing threading concurrent "
    "asyncio socket http urllib requests ssl code codeop runpy pty pdb traceback tracemalloc weakref builtins "
    "__main__ base64 zlib bz2 lzma codecs binascii mmap resource signal faulthandler atexit imp pkgutil zipimport "
    "tempfile shutil glob sqlite3 cffi numba cupy jax tensorflow scipy triton tilelang sympy einops pandas "
    "safetensors h5py ast dis types unittest _thread select fcntl posix pytest csv json array struct statistics"
)
#: Standard modules a wrapper may import freely; calls into them with a tensor are still refused.
PLAIN_MODULES = wordset(
    "__future__ sys os pathlib math typing typing_extensions functools itertools dataclasses collections enum "
    "warnings logging importlib contextlib abc operator copy numbers fractions time platform string re torch "
    "torch_npu ctypes numpy"
)
#: File methods of path objects.
FILE_METHODS = wordset("read_text read_bytes write_text write_bytes unlink touch rmdir")
#: Method names that hook into module calls or into tensor dispatch.
HOOK_METHODS = wordset(
    "register_forward_hook register_forward_pre_hook register_module_forward_hook register_backward_hook "
    "register_full_backward_hook register_module_forward_pre_hook register_load_state_dict_post_hook set_ "
    "__setstate__ __reduce__ set_data __torch_function__"
)
SPECIAL_METHODS = wordset(
    "__call__ __getattr__ __getattribute__ __setattr__ __torch_function__ __torch_dispatch__ __init_subclass__ "
    "__new__ __exit__ __class_getitem__ __instancecheck__ _call_impl __del__ __reduce__ __prepare__ __set_name__ "
    "__getitem__"
)
#: Dunder attributes that carry no power.
PLAIN_DUNDERS = wordset("__name__ __file__ __init__ __class__ __doc__ __version__ __qualname__ __len__")
PLAIN_DECORATORS = wordset(
    "builtins.staticmethod builtins.classmethod builtins.property torch.no_grad torch.inference_mode "
    "dataclasses.dataclass functools.lru_cache functools.cache functools.wraps abc.abstractmethod typing.final "
    "typing.overload functools.cached_property contextlib.contextmanager"
)
TASK_FUNCTIONS = frozenset({"get_inputs", "get_input_groups"})
