"""What torch's API does on each machine: tables, no logic.

What `torch.cuda.*` does without CUDA is in `names.json`, read by `mpslint.facts.runtime`. A new
fact about torch is one row here. Answers are for one GPU of NVIDIA's, several, a Mac, the same Mac
once the program is ported, a machine with neither, and one with neither whose torch is built for
more than it has. Sources: the documentation and source of
torch 2.0 to 2.13, `torch/cuda/__init__.py`, `torch/mps/__init__.py`, `torch/accelerator`.
"""

from __future__ import annotations

from typing import Any

from mpslint.basics.words import words

Answer = tuple[Any, Any, Any, Any, Any, Any]
ANY = None
"""In an answer: not known."""
SEVERAL = "2+"
"""In an answer: a number of at least two."""
ABSENT = "none"
"""In an answer: None."""


DEVICE_MAKERS = frozenset({"device", "cuda"})
"""What gives a device, and what is called for one by mistake: `torch.cuda("cpu")` is a module, and
raises TypeError where somebody comes to it, which nobody meant."""
_ON_CUDA: Answer = (True, True, False, True, False, False)
MAYBE_ON_CUDA: Answer = (ANY, ANY, False, False, False, False)
ON_CUDA_AT_MOST: Answer = (ANY, ANY, False, ANY, False, False)
"""Where CUDA is, and something else is so as well: `not args.no_cuda and
torch.cuda.is_available()`."""
_ON_MPS: Answer = (False, False, True, True, False, False)
_BUILT_FOR_CUDA: Answer = (True, True, False, True, False, True)
_BUILT_FOR_MPS: Answer = (False, False, True, True, False, True)
_NEVER: Answer = (False, False, False, False, False, False)
KNOWN_OF_MPS: Answer = (True, True, True, True, False, True)
"""`hasattr(torch, "mps")`: so it is wherever torch is not too old to have heard of MPS."""


def knows_mps(name: str) -> bool:
    """Whether a name below torch is there since torch knows MPS, on every machine."""
    return name.startswith(("torch.mps", "torch.backends.mps"))


# Source: torch/utils/_triton.py: `has_triton` asks for a GPU that Triton compiles for,
# `has_triton_package` for the package, of which there is none for macOS.
_NVIDIA_ALONE = (True, True, False, False, False, False)
ANSWERS: dict[str, Answer] = {
    "torch.cuda.is_available": _ON_CUDA,
    "torch.cuda.device_count": (1, SEVERAL, 0, 1, 0, 0),
    "torch.cuda.is_initialized": MAYBE_ON_CUDA,
    "torch.cuda.is_bf16_supported": MAYBE_ON_CUDA,
    "torch.cuda._is_compiled": _BUILT_FOR_CUDA,
    "torch.backends.cuda.is_built": _BUILT_FOR_CUDA,
    "torch.backends.cudnn.is_available": MAYBE_ON_CUDA,
    "torch.backends.mps.is_available": _ON_MPS,
    "torch.backends.mps.is_built": _BUILT_FOR_MPS,
    "torch.backends.mps.is_macos_or_newer": _ON_MPS,
    "torch.mps.is_available": _ON_MPS,
    "torch.mps.device_count": (0, 0, 1, 1, 0, 0),
    "torch.accelerator.is_available": (True, True, True, True, False, False),
    "torch.accelerator.device_count": (1, SEVERAL, 1, 1, 0, 0),
    "torch.xpu.is_available": _NEVER,
    "torch.npu.is_available": _NEVER,
    "torch.mlu.is_available": _NEVER,
    "torch.musa.is_available": _NEVER,
    "torch.distributed.is_nccl_available": _NVIDIA_ALONE,
    "torch.cuda.nccl.is_available": _NVIDIA_ALONE,
    # Source: torch/distributed/distributed_c10d.py: of the backends that come with torch for macOS
    # Gloo is the one there is.
    "torch.distributed.get_backend": (ANY, ANY, "gloo", "gloo", ANY, ANY),
    "torch.utils._triton.has_triton": _NVIDIA_ALONE,
    "torch.utils._triton.has_triton_package": (True, True, False, False, ANY, ANY),
    "torch._inductor.utils.has_triton": _NVIDIA_ALONE,
}
"""Functions that ask the machine."""

ATTRIBUTES: dict[str, Answer] = {
    "torch.version.cuda": ("12", "12", ABSENT, "12", ABSENT, ABSENT),
    # Source: pytorch.org, "Start Locally": ROCm is for Linux, and there are no wheels for macOS.
    "torch.version.hip": (ANY, ANY, ABSENT, ABSENT, ANY, ANY),
    # Source: torch/utils/cpp_extension.py, `_find_cuda_home`: a folder with nvcc, or None. NVIDIA's
    # last toolkit for macOS (10.2) is for processors of Intel's.
    "torch.utils.cpp_extension.CUDA_HOME": (ANY, ANY, ABSENT, ABSENT, ANY, ANY),
    "torch.has_mps": _BUILT_FOR_MPS,
    "torch.has_cuda": _BUILT_FOR_CUDA,
    "torch.testing._internal.common_utils.TEST_CUDA": _ON_CUDA,
    "torch.testing._internal.common_cuda.TEST_CUDA": _ON_CUDA,
    # One for each GPU, made when CUDA starts; its length stands for it.
    "torch.cuda.default_generators": (1, SEVERAL, 0, 1, 0, 0),
}
"""Attributes that ask it."""

PLATFORM = frozenset(
    {"sys.platform", "os.name", "platform.system", "platform.machine", "platform.processor"}
)
MAC_SYSTEMS = frozenset({"darwin", "macos", "mac", "posix", "arm64", "arm"})

DRIVER_TOOLS = frozenset({"nvidia-smi", "nvcc"})
"""Programs of NVIDIA's driver and its toolkit; there is neither for today's Macs."""
STARTING = frozenset(
    f"subprocess.{name}" for name in ("Popen", "run", "call", "check_call", "check_output")
)
"""What starts another program. Source: CPython, subprocess.py: of one that is not there it raises
`FileNotFoundError`; a shell gets 127 from it."""
CHECKING = frozenset({"subprocess.check_call", "subprocess.check_output"})
"""Which of them take what a shell gets for an error."""
DRIVER_LISTS = frozenset({"GPUtil.getAvailable", "GPUtil.getGPUs"})
"""What lists the GPUs of which NVIDIA's program knows. Source: GPUtil 1.4, GPUtil.py: where the
program is not there, these are none."""
ON_THE_PATH: Answer = (ANY, ANY, ABSENT, ABSENT, ABSENT, ABSENT)
"""`shutil.which` of one of them, and such a list."""

EFFECTS: dict[str, str] = {
    "torch.cuda.synchronize": "wait",
    "torch.mps.synchronize": "wait",
    "torch.accelerator.synchronize": "wait",
    "torch.cuda.empty_cache": "release",
    "torch.mps.empty_cache": "release",
    "torch.accelerator.empty_cache": "release",
    "torch.accelerator.memory.empty_cache": "release",
    "torch.cuda.manual_seed": "seed",
    "torch.cuda.manual_seed_all": "seed",
    "torch.cuda.seed": "seed",
    "torch.cuda.seed_all": "seed",
    "torch.mps.manual_seed": "seed",
    "torch.mps.seed": "seed",
    "torch.manual_seed": "seed",
    "torch.seed": "seed",
    "torch.random.manual_seed": "seed",
    "torch.random.seed": "seed",
    "lightning.seed_everything": "seed",
    "lightning.pytorch.seed_everything": "seed",
    "lightning.fabric.seed_everything": "seed",
    "pytorch_lightning.seed_everything": "seed",
    "accelerate.utils.set_seed": "seed",
    "transformers.set_seed": "seed",
    "transformers.trainer_utils.set_seed": "seed",
    "torch.cuda.set_rng_state": "state",
    "torch.cuda.set_rng_state_all": "state",
    "torch.mps.set_rng_state": "state",
    "torch.cuda.get_rng_state": "kept state",
    "torch.cuda.get_rng_state_all": "kept state",
    "torch.mps.get_rng_state": "kept state",
    "torch.random.fork_rng": "state",
    "torch.cuda.set_per_process_memory_fraction": "fraction",
    "torch.mps.set_per_process_memory_fraction": "fraction",
}
"""What a call does to the device, so that CUDA's way and MPS's can be compared."""

OWN = words(
    """
    CUDAGraph graph make_graphed_callables graph_pool_handle cudart _sleep MemPool use_mem_pool
    is_current_stream_capturing can_device_access_peer caching_allocator_alloc
    caching_allocator_delete comm nccl nccl.version jiterator sparse
    """
)
"""Below `torch.cuda`: what no port has, so that what needs it is CUDA's own."""

TYPES: dict[str, str] = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}
"""Legacy tensor types by their last name, with their dtype."""

AUTOCAST = frozenset(
    {"torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"}
    | {"torch.amp.custom_fwd", "torch.amp.custom_bwd"}
    | {"torch.is_autocast_enabled", "torch.get_autocast_dtype"}
)
CUDA_AUTOCAST = frozenset(
    {"torch.cuda.amp.autocast", "torch.cuda.amp.autocast_mode.autocast"}
    | {"torch.cuda.amp.custom_fwd", "torch.cuda.amp.custom_bwd"}
)
SCALER = frozenset({"torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler", "torch.GradScaler"})
ENABLED_AT = {
    "torch.cuda.amp.autocast": 0,
    "torch.autocast": 2,
    "torch.amp.autocast": 2,
    "torch.cuda.amp.GradScaler": 4,
    "torch.amp.GradScaler": 5,
    "torch.GradScaler": 5,
}
"""Which argument switches mixed precision off."""
CUDA_SCALER = frozenset({"torch.cuda.amp.GradScaler", "torch.cuda.amp.grad_scaler.GradScaler"})

FACTORIES = words(
    """
    zeros ones empty full rand randn randint randperm arange linspace eye tensor as_tensor
    zeros_like ones_like empty_like full_like rand_like randn_like randint_like logspace
    scalar_tensor tril_indices triu_indices hann_window hamming_window blackman_window
    kaiser_window bartlett_window asarray empty_strided complex from_numpy frombuffer range
    sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor
    """
)
"""Functions of torch that make a tensor, on the default device unless they are told."""
FLOAT_FACTORIES = words(
    """
    zeros ones empty rand randn linspace logspace eye hann_window hamming_window blackman_window
    kaiser_window bartlett_window
    """
)
"""Those whose tensor has the default dtype."""
INFERRING = words("as_tensor asarray sparse_coo_tensor sparse_csr_tensor sparse_csc_tensor complex")
"""Those that stay on the device of a tensor they are given."""
LIKE = words("zeros_like ones_like empty_like full_like rand_like randn_like randint_like clone")
LEGACY_FACTORIES = frozenset(TYPES) | {"Tensor"}
"""`torch.FloatTensor(...)`: always on the CPU."""
NEW = words("new_zeros new_ones new_empty new_full new_tensor new")
HOST_METHODS = words(
    """
    item tolist size dim numel nelement element_size stride is_contiguous data_ptr __len__
    ndimension get_device storage untyped_storage is_floating_point is_complex is_pinned
    """
)
"""Methods of a tensor that answer with something on the host."""
REDUCING = words(
    """
    sum mean max min amax amin prod norm std var median mode logsumexp argmax argmin all any dot
    item count_nonzero nansum nanmean dist vdot
    """
)
"""Operators whose result may be without dimensions."""
OF_OTHER_DTYPE: dict[str, str] = {
    **dict.fromkeys(words(
        """
        gt lt ge le eq ne greater less greater_equal less_equal not_equal isnan isinf isfinite
        isclose isneginf isposinf isreal isin logical_and logical_or logical_not logical_xor any all
        signbit
        """
    ), "bool"),
    **dict.fromkeys(words(
        """
        argsort argmax argmin argwhere nonzero count_nonzero searchsorted bucketize multinomial
        """
    ), "int64"),
}  # fmt: skip
"""Functions and methods of tensors whose result is of this dtype, whatever they are given."""
MIXING_LOSSES = words("CTCLoss ctc_loss")
"""Losses whose targets and lengths may stay on the CPU."""
MIXING_METHODS = words(
    """
    copy_ to type type_as set_ data_ptr is_shared share_memory_ new_tensor register_hook equal
    __getitem__ backward index_put_ masked_fill masked_fill_ fill_ clamp clamp_
    expand_as view_as reshape_as is_same_size
    """
)
"""Methods that a tensor of another device may be given to."""
MODULE_METHODS = words(
    """
    eval train requires_grad_ half float bfloat16 share_memory apply to_empty compile
    """
)
"""Methods of a module that give back the module."""
MODULE_READS = words(
    """
    state_dict parameters named_parameters buffers named_buffers children modules named_modules
    register_buffer register_hook register_forward_hook zero_grad load_state_dict
    register_parameter extra_repr get_submodule
    """
)
BARE_MODULES = words(
    """
    L1Loss NLLLoss PoissonNLLLoss GaussianNLLLoss KLDivLoss MSELoss BCELoss BCEWithLogitsLoss
    HingeEmbeddingLoss MultiLabelMarginLoss SmoothL1Loss HuberLoss SoftMarginLoss
    CrossEntropyLoss MultiLabelSoftMarginLoss CosineEmbeddingLoss MarginRankingLoss
    MultiMarginLoss TripletMarginLoss TripletMarginWithDistanceLoss CTCLoss
    ReLU ReLU6 LeakyReLU ELU SELU CELU GELU SiLU Mish Sigmoid Tanh Softmax LogSoftmax Softplus
    Hardtanh Hardswish Hardsigmoid Dropout Dropout1d Dropout2d Dropout3d AlphaDropout Identity
    Flatten Unflatten MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d AvgPool3d
    AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d
    Upsample PixelShuffle PixelUnshuffle ZeroPad2d ReflectionPad2d CosineSimilarity
    PairwiseDistance GLU Threshold Softmin Softmax2d Tanhshrink Softsign LogSigmoid Hardshrink
    Softshrink RReLU FeatureAlphaDropout LPPool1d LPPool2d AdaptiveMaxPool3d UpsamplingNearest2d
    UpsamplingBilinear2d ChannelShuffle Fold Unfold LocalResponseNorm ZeroPad1d ZeroPad3d
    ReflectionPad1d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d ConstantPad1d
    ConstantPad2d ConstantPad3d CircularPad1d MaxUnpool1d MaxUnpool2d MaxUnpool3d
    """
)
"""Modules of torch.nn without parameters or buffers, if no `weight` is given to them: a move of one
moves nothing (`torch/nn/modules/module.py`, `_apply`)."""
WEIGHTS = frozenset({"weight", "pos_weight"})
SOLVERS = (
    "scipy.integrate.solve_ivp",
    "scipy.integrate.odeint",
    "scipy.optimize.minimize",
    "scipy.optimize.least_squares",
    "scipy.optimize.root",
    "scipy.optimize.fsolve",
)
"""What calls a function of the program with arrays of float64, whatever it started from
(`scipy/integrate/_ivp/common.py` and `scipy/optimize/_optimize.py` make them so)."""
FLOAT_CASTS = {
    "float": "float32",
    "half": "float16",
    "bfloat16": "bfloat16",
    "double": "float64",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "bool": "bool",
    "byte": "uint8",
    "char": "int8",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
DTYPES: dict[str, str] = {
    "float": "float64",  # Python's own
    **{f"torch.{name}": name for name in (
        "float64", "float32", "float16", "bfloat16", "complex128", "complex64", "int64", "int32",
        "int16", "int8", "uint8", "bool",
    )},
    "torch.double": "float64",
    "torch.float": "float32",
    "torch.half": "float16",
    "torch.cdouble": "complex128",
    "torch.cfloat": "complex64",
    "torch.long": "int64",
    "torch.int": "int32",
    "torch.DoubleTensor": "float64",
    "torch.FloatTensor": "float32",
    "torch.LongTensor": "int64",
    **{f"numpy.{name}": name for name in (
        "float64", "float32", "float16", "complex128", "complex64", "int64", "int32", "uint8",
    )},
    "numpy.double": "float64",
    "numpy.float_": "float64",
    "numpy.single": "float32",
    "numpy.bool_": "bool",
}  # fmt: skip
HALVES: dict[str, str] = {
    **dict.fromkeys(("float16", "half", "fp16", "f16", "16", "16-mixed"), "float16"),
    **dict.fromkeys(("bfloat16", "bf16", "bf16-mixed"), "bfloat16"),
    **dict.fromkeys(("torch.float16", "torch.half"), "float16"),
    "torch.bfloat16": "bfloat16",
}
"""Names of the dtypes of 16 bits."""
SAID_WITHOUT_CUDA = (
    "Torch not compiled with CUDA enabled",
    "Distributed package doesn't have NCCL built in",
    "Tried to instantiate dummy base class Event",
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False.",
)
"""What torch says in its errors on a Mac where CUDA or NCCL is asked for."""
NOT_ON_MPS = frozenset({"float64", "complex128"})
"""Dtypes that MPS does not have: `TypeError: Cannot convert a MPS Tensor to float64`."""
_POINTS = words(
    "make_blobs make_circles make_classification make_friedman1 make_friedman2 make_friedman3"
    " make_gaussian_quantiles make_moons make_regression make_s_curve make_swiss_roll"
)
_TABLES = words(
    "load_breast_cancer load_diabetes load_digits load_iris load_wine fetch_california_housing"
)
_OF_FLOATS = words(
    "make_friedman1 make_friedman2 make_friedman3 make_regression make_s_curve make_swiss_roll"
    " load_diabetes fetch_california_housing"
)


def sklearn_arrays(name: str, *, as_pair: bool) -> tuple[str | None, str | None] | None:
    """The dtypes of the pair of arrays that a function of `sklearn.datasets` gives; None: it gives
    none. `as_pair`: the call says `return_X_y=True`.

    Source: scikit-learn 1.5, `datasets/_samples_generator.py`, `datasets/_base.py`: points are
    float64, and so are targets that are no classes.
    """
    module, _, last = name.rpartition(".")
    if module != "sklearn.datasets" or not (last in _POINTS or (as_pair and last in _TABLES)):
        return None
    return "float64", "float64" if last in _OF_FLOATS else None


EXITS = frozenset(
    {"sys.exit", "exit", "quit", "os._exit", "pytest.skip", "pytest.fail", "pytest.exit"}
    | {"unittest.SkipTest", "pytest.xfail"}
)
SKIPS = frozenset(
    {"pytest.skip", "pytest.skip.Exception", "unittest.SkipTest", "unittest.case.SkipTest"}
)
"""Calls, and exceptions, by which a test, or a file of them, says that it is not for a machine."""
SKIPPING_METHODS = frozenset({"skipTest", "fail"})
LOOKERS = words(
    """
    print str repr format len isinstance issubclass hasattr getattr type int bool id hash any all
    min max sorted setattr range enumerate zip set list tuple dict float abs sum round map filter
    callable next iter vars dir divmod pow frozenset reversed super open
    """
)
"""Builtins that only look at their arguments: a device given to them is not used."""
PASSING_ON = frozenset({"tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "rich.progress.track"})
"""Functions that give what they are given, a turn at a time."""
REARRANGING = frozenset({"einops.rearrange", "einops.repeat", "einops.reduce"})
"""Functions of other packages that give a tensor where the one is that they are given first."""
LIGHTNING = ("lightning.", "pytorch_lightning.")
_PIPELINE = "transformers.pipeline"


def gpu_argument(name: str) -> str:
    """The argument by which a call is told to take whatever GPU there is, a Mac's as well, or none:
    `pipeline(task, device=0)` (or -1), `Trainer(accelerator="gpu")` (or "cpu"). Empty: none.

    Source: transformers, `pipelines/base.py`: a number is one of CUDA's GPUs, or else of MPS;
    Lightning, `accelerator_connector.py`: "gpu" is MPS where that is there.
    """
    if name == _PIPELINE:
        return "device"
    return "accelerator" if name.startswith(LIGHTNING) and name.endswith(".Trainer") else ""


LOOKING_MODULES = ("logging.", "warnings.", "os.path.", "typing.", "re.", "json.", "loguru.")
LOOKING_METHODS = words(
    """
    info debug warning warn error exception critical log format startswith endswith append get
    write join split replace index find add count lower upper strip print rule assertEqual
    assertIn assertTrue assertFalse assertNotEqual assertIsNone set_description skipTest pop
    setdefault update remove rpartition partition items keys values extend encode rfind
    removeprefix getLogger assertRaises set_postfix title echo success assert_called_with
    assert_called_once_with assert_any_call assert_has_calls
    getint getfloat getboolean has_option has_section remove_option
    """
)
"""Methods that only look at what they are given, or keep it as it is; the last line's are those of
`configparser`, which take the names of sections and options."""
ERRORS = words(
    """
    ValueError RuntimeError AssertionError NotImplementedError TypeError Exception ImportError
    EnvironmentError KeyError OSError SystemExit UserWarning Warning DeprecationWarning
    """
)
HARMLESS_KEYWORDS = words(
    """
    pin_memory non_blocking help reason default choices metavar dest type desc name title label
    prefix suffix message msg use_amp amp fp16 bf16 half use_fp16 mixed_precision tf32 use_half
    enable_amp compile device_types
    """
)
"""Arguments that a false answer leaves as it is on a Mac, and texts; for what devices
`torch.library.custom_op` registers a kernel, which asks for none."""
OPTIONS = frozenset({"absl.flags.FLAGS", "tensorflow.app.flags.FLAGS"})
"""Objects whose attributes are the options of a program, as the user gives them."""

# Fact: Ray Serve, `serve.deployment`: what `ray.remote` is told of each replica.
TABLES_OF_OPTIONS = frozenset({"ray_actor_options"})
"""Keywords of decorators that are given more of their options."""

DECLARING = words("field Field ib attrib Option Argument option argument add_option")
"""Last names of functions by which a field or an option is declared, with its `default`."""
CALLBACKS = words(
    """
    pytorch_lightning.Callback pytorch_lightning.callbacks.Callback
    pytorch_lightning.callbacks.base.Callback lightning.Callback lightning.pytorch.Callback
    lightning.pytorch.callbacks.Callback lightning.pytorch.callbacks.callback.Callback
    transformers.TrainerCallback transformers.trainer_callback.TrainerCallback
    """
)
"""Classes whose hooks a trainer calls wherever it trains."""
# Source: torch/distributed/device_mesh.py; a mesh starts the process group of its devices' backend.
MESHES = {
    "torch.distributed.init_device_mesh": 0,
    "torch.distributed.device_mesh.init_device_mesh": 0,
    "torch.distributed.DeviceMesh": 0,
    "torch.distributed.device_mesh.DeviceMesh": 0,
    "torch.distributed.DeviceMesh.from_group": 1,
    "torch.distributed.device_mesh.DeviceMesh.from_group": 1,
}
"""What arranges processes by their devices, with the place of the type among the arguments."""
# Source: lightning/pytorch/strategies/deepspeed.py, `setup_environment`: RuntimeError without a
# CUDAAccelerator, "The DeepSpeed strategy is only supported on CUDA GPUs".
CUDA_STRATEGY = "deepspeed"
"""What the name of a strategy begins with that trains on CUDA alone: `deepspeed_stage_2`."""
# Source: torch/distributed/distributed_c10d.py, `_get_default_group`: "Default process group has
# not been initialized, please make sure to call init_process_group."
OF_A_GROUP = frozenset({"torch.distributed.get_rank", "torch.distributed.get_world_size"})
"""What a process asks its group, and raises where it is in none. (torch answers -1 to one that is
given a group to which it does not belong.)"""
CUDA_ERRORS = frozenset({"Exception", "BaseException", "AssertionError", "RuntimeError"})
"""What a handler names that catches the failure of a CUDA call without CUDA."""

CUDA_MESSAGES = ("CUDA out of memory", "CUDA error", "cuDNN error", "CUBLAS_STATUS", "CUDNN_STATUS")
"""What torch's errors of CUDA begin with, and no error of MPS's: c10/cuda/CUDACachingAllocator.cpp,
c10/cuda/CUDAException.h, ATen/cuda/Exceptions.h; "MPS backend out of memory" is the other's."""
SAID_BY_MPS = "MPS backend out of memory"  # aten/src/ATen/mps/MPSAllocator.mm
SHORT_OF_MEMORY = ("memory", "alloc", "buffer size")
"""Words of which torch's errors have one where memory is short, in lower case: "MPS backend out of
memory", "can't allocate memory", CUBLAS_STATUS_ALLOC_FAILED, "Invalid buffer size" (of Metal)."""
