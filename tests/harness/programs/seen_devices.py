"""What a program sees of the accelerators of this build of torch, one line each."""

import json

import torch

CASES = {
    "cuda tensor": lambda: torch.zeros(1, device="cuda"),
    "cuda.is_available": torch.cuda.is_available,
    "cuda.device_count": torch.cuda.device_count,
    "cuda.is_bf16_supported": torch.cuda.is_bf16_supported,
    "cuda.set_device": lambda: torch.cuda.set_device(0),
    "cuda.Stream": lambda: torch.cuda.Stream() and None,
    "cuda.Event": lambda: torch.cuda.Event() and None,
    "cuda.FloatTensor": lambda: torch.cuda.FloatTensor(2),
    "cuda generator": lambda: torch.Generator("cuda") and None,
    "cudnn": torch.backends.cudnn.is_available,
    "nccl": torch.distributed.is_nccl_available,
    "version": lambda: torch.version.cuda,
    "mps.is_built": torch.backends.mps.is_built,
    "mps.is_available": torch.backends.mps.is_available,
    "accelerator": lambda: torch.accelerator.is_available(),
}


def outcome(action):
    try:
        return repr(action())
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:60]}"


if __name__ == "__main__":
    print("RESULTS", json.dumps({name: outcome(action) for name, action in CASES.items()}))
