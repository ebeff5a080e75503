"""The names by which programs find and steer the device."""

import platform

import torch
from feature_table import DEVICE, feature, numbers
from torch import nn


@feature
def one_device_is_there():
    return [
        torch.cuda.is_available() == (DEVICE == "cuda"),
        torch.backends.mps.is_available() == (DEVICE == "mps"),
        torch.backends.mps.is_built() == (DEVICE == "mps"),
        torch.cuda.device_count() == (1 if DEVICE == "cuda" else 0),
        torch.mps.device_count() == (1 if DEVICE == "mps" else 0),
        torch.accelerator.is_available() == (DEVICE != "cpu"),
    ]


@feature
def default_devices():
    torch.set_default_device(DEVICE)
    try:
        kinds = [
            torch.zeros(2).device.type, nn.Linear(2, 2).weight.device.type,
            torch.tensor([1.0]).device.type, torch.get_default_device().type,
        ]  # fmt: skip
    finally:
        torch.set_default_device(None)
    with torch.device(DEVICE):
        kinds += [torch.rand(2).device.type, next(nn.LSTM(2, 2).parameters()).device.type]
    return [[kind == DEVICE for kind in kinds], torch.zeros(1).device.type]


@feature
def accelerator_functions():
    if DEVICE == "cpu":
        return True
    accelerator = torch.accelerator
    accelerator.synchronize()
    accelerator.set_device_index(0)
    accelerator.empty_cache()
    accelerator.current_stream()
    kept = torch.zeros(1000, device=DEVICE)
    held = accelerator.memory_allocated()
    return (
        accelerator.current_accelerator().type == DEVICE
        and accelerator.device_count() == 1
        and accelerator.current_device_index() == 0
        and held >= kept.nbytes
        and accelerator.max_memory_allocated() >= held
        and torch.get_device_module(DEVICE) is getattr(torch, DEVICE)
        and torch.get_device_module() is getattr(torch, DEVICE)
    )


@feature
def mps_functions():
    if DEVICE != "mps":
        return True
    mps = torch.mps
    mps.synchronize()
    mps.empty_cache()
    mps.set_per_process_memory_fraction(0.5)
    mps.manual_seed(1)
    mps.seed()
    mps.set_rng_state(mps.get_rng_state())
    kept = torch.zeros(1000, device="mps")
    start, end = mps.Event(enable_timing=True), mps.Event(enable_timing=True)
    start.record()
    end.record()
    end.synchronize()
    with mps.profiler.profile():
        pass
    return (
        mps.is_available()
        and mps.current_allocated_memory() >= kept.nbytes
        and mps.driver_allocated_memory() >= kept.nbytes
        and mps.recommended_max_memory() > 0
        and start.elapsed_time(end) >= 0
        and torch.backends.mps.is_macos_or_newer(14, 0)
        and platform.machine() == "arm64"
    )


@feature
def cuda_functions():
    if DEVICE != "cuda":
        return True
    cuda = torch.cuda
    cuda.set_device(0)
    cuda.synchronize()
    cuda.empty_cache()
    cuda.manual_seed_all(1)
    cuda.set_rng_state(cuda.get_rng_state())
    cuda.reset_peak_memory_stats()
    kept = torch.zeros(1000, device="cuda")
    stream = cuda.Stream()
    with cuda.stream(stream), cuda.device(0):
        kept.record_stream(stream)
        inside = cuda.current_stream() == stream
    cuda.current_stream().wait_stream(stream)
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    start.record()
    end.record()
    cuda.nvtx.range_push("x")
    cuda.nvtx.range_pop()
    return (
        inside
        and cuda.is_initialized()
        and cuda.current_device() == 0
        and isinstance(cuda.get_device_name(0), str)
        and len(cuda.get_device_capability()) == 2
        and cuda.get_device_properties(0).total_memory > 0
        and cuda.memory_allocated() >= kept.nbytes
        and cuda.max_memory_allocated() >= kept.nbytes
        and "allocated_bytes.all.current" in cuda.memory_stats()
        and "GPU" in cuda.memory_summary()
        and cuda.mem_get_info()[0] <= cuda.mem_get_info()[1]
        and cuda.is_bf16_supported()
        and start.elapsed_time(end) >= 0
        and torch.backends.cudnn.is_available()
        and torch.version.cuda is not None
    )


@feature
def cuda_spellings():
    if DEVICE != "cuda":
        return True
    moved = [torch.zeros(2).cuda(), torch.zeros(2).cuda(0), torch.zeros(2).cuda(non_blocking=True)]
    old = torch.cuda.FloatTensor([1.0, 2.0])
    with torch.cuda.amp.autocast():
        product = numbers(2, 2) @ numbers(2, 2)
    return (
        all(tensor.is_cuda for tensor in moved)
        and nn.Linear(1, 1).cuda().weight.is_cuda
        and isinstance(old, torch.cuda.FloatTensor)
        and torch.zeros(2).type(torch.cuda.LongTensor).dtype == torch.int64
        and torch.zeros(2).type("torch.cuda.FloatTensor").is_cuda
        and old.type() == "torch.cuda.FloatTensor"
        and product.dtype == torch.float16
    )


@feature
def pinned_memory():
    tensor = torch.arange(3.0)
    return tensor if DEVICE == "cpu" else tensor.pin_memory().to(DEVICE, non_blocking=True)
