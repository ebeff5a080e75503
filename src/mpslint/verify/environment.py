"""The environment of a verified script: a short list of allowed variables, and switches that keep
tools quiet.

Nothing that could hold a token is passed on; what a script needs beside that comes from the
request.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

_ALLOWED = (
    "PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV",
    "CONDA_PREFIX", "SYSTEMROOT", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",
)  # fmt: skip
_ALLOWED_PREFIXES = ("LC_", "OMP_", "MKL_", "OPENBLAS_", "PYTORCH_", "NVIDIA_", "KMP_")
_SET = {
    "WANDB_MODE": "disabled",
    "WANDB_SILENT": "true",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "COMET_MODE": "disabled",
    "CLEARML_OFFLINE_MODE": "1",
    "DO_NOT_TRACK": "1",
    "MPLBACKEND": "Agg",
    "SDL_VIDEODRIVER": "dummy",
    "QT_QPA_PLATFORM": "offscreen",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONIOENCODING": "utf-8",
    # The same draws on every simulated device, so that runs can be compared.
    "MPSLINT_SHARED_GENERATOR": "1",
    # None that a script would choose: one that no longer seeds for itself gives other numbers.
    "MPSLINT_SEED": "618033988",
    "TERM": "dumb",
    "COLUMNS": "80",
}
_SECRET = ("TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "API_KEY")


def allowed(source: Mapping[str, str]) -> dict[str, str]:
    """The variables of the caller that a script may see."""
    return {
        name: value
        for name, value in source.items()
        if (name in _ALLOWED or name.startswith(_ALLOWED_PREFIXES))
        and not any(word in name for word in _SECRET)
    }


def build(
    source: Mapping[str, str],
    home: str,
    tmp: str,
    user_base: str,
    python_path: Iterable[str],
    extra: Mapping[str, str],
) -> dict[str, str]:
    """The whole environment of one run: own HOME and TMPDIR, caches below them, then the request's
    additions.
    """
    env = allowed(source)
    env.update(_SET)
    threads = str(min(os.cpu_count() or 1, 4))
    env.setdefault("OMP_NUM_THREADS", threads)
    env.update(
        HOME=home,
        TMPDIR=tmp,
        XDG_CACHE_HOME=os.path.join(home, ".cache"),
        XDG_CONFIG_HOME=os.path.join(home, ".config"),
        XDG_DATA_HOME=os.path.join(home, ".local", "share"),
        PYTHONUSERBASE=user_base,
    )
    env.update({name: value for name, value in extra.items() if name != "PYTHONPATH"})
    env["PYTHONPATH"] = os.pathsep.join(python_path)
    return env
