"""The words the C++ reader decides by: what a binding may use of ATen, and what no binding needs.

As in the Python vocabulary, ATen is default deny: a name under `at::` or `torch::` that is not listed is a finding.
"""

from __future__ import annotations

from statemachine.integrity.wordset import wordset

#: Functions and types under at::, torch:: and c10:: that describe, allocate, view, copy or cast.
ATEN_ALLOWED = wordset(
    "Tensor TensorOptions ScalarType Device DeviceType DeviceIndex IntArrayRef ArrayRef OptionalIntArrayRef "
    "SymInt Scalar Half BFloat16 MemoryFormat Layout Storage TensorList optional nullopt nullopt_t string_view "
    "complex Dict List IValue empty empty_like empty_strided zeros zeros_like ones full full_like tensor "
    "from_blob device dtype layout requires_grad options toString elementSize isFloatingType isIntegralType "
    "typeMetaToScalarType CPU kCPU kPrivateUse1 kCUDA kStrided NoGradGuard InferenceMode AutoNonVariableTypeMode "
    "AutoDispatchBelowADInplaceOrView constant_pad_nd narrow reshape clone Library OptionalDeviceGuard "
    "DeviceGuard Device maybe_get_device_guard get_device device_of python init Error str warn Type Backend "
    "DispatchKey typeMeta caffe2 TypeMeta data_ptr infer_size SmallVector Stream intrusive_ptr make_optional "
    "StringType Int Float string detail pad"
)
#: Namespaces inside at::/torch:: that are only passed through to the name behind them.
ATEN_NAMESPACES = wordset("indexing impl detail")
#: Tensor methods a binding may call.
METHODS_ALLOWED = wordset(
    "dim ndimension size sizes stride strides numel nbytes itemsize element_size scalar_type dtype device options "
    "layout is_contiguous is_cuda is_cpu is_privateuseone is_npu is_floating_point is_complex is_same is_sparse "
    "defined storage unsafeGetTensorImpl storage_offset data_ptr mutable_data_ptr const_data_ptr data get_device "
    "type suggest_memory_format has_storage use_count sym_sizes sym_numel key_set toString is_defined is_alias_of "
    "requires_grad is_same_size view reshape permute transpose t contiguous squeeze unsqueeze flatten unflatten "
    "expand expand_as view_as narrow slice select unbind split chunk detach as_strided alias reshape_as "
    "variable_data to clone copy_ toType cpu half float_ new_empty new_zeros new_full zero_ fill_ "
    "set_requires_grad resize_ toBackend record_stream is_pinned pin_memory"
)
#: Names of ATen computations, matched as methods even where the receiver's type is unknown.
COMPUTE_METHODS = wordset(
    "softmax log_softmax sum mean std var exp exp_ log log_ log1p expm1 sqrt sqrt_ rsqrt sigmoid sigmoid_ tanh "
    "tanh_ relu relu_ gelu silu add add_ sub sub_ mul mul_ div div_ matmul mm bmm addmm pow pow_ abs abs_ neg "
    "neg_ clamp clamp_ amax amin argmax argmin cumsum cumprod sort topk gather scatter scatter_ index_select "
    "index_put_ masked_fill masked_fill_ norm prod erf sin cos floor ceil round reciprocal where eq ne gt lt ge "
    "le logical_and logical_or all any repeat repeat_interleave flip roll index_add_ logsumexp maximum minimum "
    "square item copy_from leaky_relu hardtanh dot addcmul addcdiv lerp tril triu outer einsum"
)
#: Regular expressions over blanked code: kind, outcome, pattern, what it means.
PATTERNS: tuple[tuple[str, str, str, str], ...] = (
    (
        "device-internals",
        "failed",
        r"\bopmend\w*|\bOPMEND_\w*",
        "reaches into the CPU device itself, whose records are evidence; no kernel for an NPU has such a name",
    ),
    (
        "python",
        "failed",
        r"\bmodule_?\s*::\s*import\b|\bPy(?:Run|Import|Eval)_\w+|\bPyObject_Call\w*",
        "calls back into Python",
    ),
    ("python", "failed", r"\b(?:py|pybind11)\s*::\s*(?:exec|eval|eval_file|globals|locals)\b", "runs Python text"),
    ("python", "flagged", r"\.\s*attr\s*\(", "looks up Python attributes"),
    (
        "process",
        "failed",
        r"\b(?:system|popen|fork|vfork|execv\w*|execl\w*|posix_spawn\w*|kill|ptrace|pthread_create|raise|abort_|_exit)\s*\(",
        "starts, ends or controls processes",
    ),
    (
        "file",
        "failed",
        r"\b(?:fopen|freopen|fdopen|open|openat|creat|mmap|mprotect|shm_open|unlink|rename|dup2|dup|write|pwrite|remove)\s*\(",
        "touches files, descriptors or memory protection",
    ),
    ("file", "failed", r"\bstd\s*::\s*(?:basic_)?[io]?fstream\b|\bfilesystem\b|/proc/", "touches files"),
    (
        "loader",
        "failed",
        r"\b(?:dlopen|dlsym|dlmopen|dladdr|dl_iterate_phdr)\s*\(",
        "loads or searches other libraries",
    ),
    ("network", "failed", r"\b(?:socket|connect|bind_|gethostbyname|getaddrinfo)\s*\(", "opens a network connection"),
    ("environment", "flagged", r"\b(?:secure_)?(?:getenv|setenv|putenv)\s*\(", "depends on environment variables"),
    (
        "constructor",
        "failed",
        r"\b(?:constructor|ifunc|alias|weakref)\s*(?:\(|\))",
        "code that runs at load or by another name",
    ),
    ("assembly", "flagged", r"\b(?:asm|__asm__|__asm)\b", "assembly, which cannot be read here"),
    (
        "vendor-operator",
        "failed",
        r"\bEXEC_NPU_(?:NO_FORMAT_CHECK_)?CMD\w*|\baclnn\w+|\bOpCommand\b|\baclop\w+",
        "vendor operator",
    ),
    ("vendor-operator", "failed", r"\bat_npu\s*::\s*native\s*::\s*npu_\w+|\bop_api\s*::", "vendor operator"),
    (
        "side-stream",
        "flagged",
        r"\baclrtCreateStream\w*|\bgetNPUStreamFromPool\b|\bgetStreamFromPool\b",
        "a stream of its own",
    ),
    ("host-copy", "flagged", r"\bACL_MEMCPY_DEVICE_TO_HOST\b|\baclrtMemcpy\w*\s*\(", "copies device memory by hand"),
    (
        "dispatcher",
        "failed",
        r"\b(?:c10\s*::\s*)?Dispatcher\s*::|\bfindSchema\w*|\bcallBoxed\b|\b_ops\s*::",
        "calls operators by name",
    ),
    ("namespace", "flagged", r"\busing\s+namespace\s+(?:at|torch|c10)\b", "hides which names are ATen's"),
    ("namespace", "failed", r"\bnamespace\s+\w+\s*=\s*(?:::\s*)?(?:at|torch|c10)\b", "gives ATen another name"),
    ("spelling", "failed", r"\w\\\n\w|/\\\n[/*]|\\[uU][0-9a-fA-F]{4}", "spells a name so that text search misses it"),
    ("accessor", "flagged", r"\b(?:packed_)?accessor\d*\s*<", "reads tensor elements on the host"),
)
